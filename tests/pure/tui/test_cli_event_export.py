"""Events given out by the commands: to files, to standard output, never over what is there, never half."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import pyarrow.parquet
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

from events.export.catalogue import EVENT_FORMATS, format_named
from events.export.filtered import ExportFilter
from events.export.source import ExportSource
from events.recording.reader import Recording, RecordingWriter
from events.text import parse_line
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import shipped_recording
from kernel.connection.planner import Planner
from kernel.watch.watch import Watch
from probes.probe import Probe, ProbePlace
from tests.pure.export_events import record_of
from tests.pure.full_disk import FullExportFile
from tests.pure.kernel.test_watch import Anything, Target, probe
from tui.__main__ import main
from tui.cli.exports.export_options import BadExportOption, ExportRequest, export_request_of
from tui.cli.exports.open_export import Export, opened_watch_export
from tui.cli.follow.follow import arm, follow
from tui.cli.follow.signals import stoppable
from tui.output.event_source import source_of
from tui.output.export_file import ExportFile, ExportRefused

HERE = str(shipped_recording())
READS = "f vfs_read%return file->f_pos count $retval"


@pytest.fixture(autouse=True)
def signals():
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def events_of_the_recording() -> int:
    watch = Watch(planner())
    watch.begin()
    while not watch.ended:
        watch.tick()
    assert watch.store is not None
    return len(watch.store)


def planner():
    from tui.cli.console.output import connect

    return Planner(connect(HERE))


def test_all_formats_of_a_recording(tmp_path, capsys):
    number = events_of_the_recording()
    for form in EVENT_FORMATS:
        path = tmp_path / f"all.{form}"
        assert main([HERE, "--export", f"{form}:{path}"]) == (1 if form == "folded" else 0)
        told = capsys.readouterr()
        assert told.out == ""
        if form == "folded":  # of calls with both ends
            left, whole = re.findall(r"([0-9,]+) events", told.err)
            assert int(left) + int(whole) == number and int(left) > 0 < int(whole)
        else:
            assert told.err.startswith(f"{path}: {number:,} events")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"all.{form}" for form in EVENT_FORMATS)
    objects = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    with (tmp_path / "all.csv").open(newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    table = pyarrow.parquet.read_table(tmp_path / "all.parquet").to_pylist()
    lines = [parse_line(line) for line in (tmp_path / "all.text").read_text().splitlines()]
    assert len(objects) == len(rows) == len(table) == len(lines) == number
    for one, row, cells, line in zip(objects, rows, table, lines, strict=True):
        assert line is not None
        assert one["ts"] == int(row["ts"]) == cells["ts"]
        assert one["pid"] == int(row["pid"]) == cells["pid"] == line.pid
        assert one["event"] == row["event"] == cells["event"]
        assert one["event"] == line.event, "without the group of the session, which the kernel does not print"
        for name, value in one["values"].items():
            if name in cells:
                assert cells[name] == value
                assert f"{name}={value}" in line.text or f'{name}="{value}"' in line.text
                assert str(value) == row[name].removeprefix("'")
            if f"{name}.name" in cells:
                text = one["text"][name]
                assert cells[f"{name}.name"] == (None if text == str(value) else text)
                assert row[f"{name}.name"].removeprefix("'") == (cells[f"{name}.name"] or "")
    assert {"dfd.name", "flags.name", "ret.name"} == {name for name in rows[0] if name.endswith(".name")}
    assert {row["flags.name"] for row in rows} > {"", "O_RDONLY|O_LARGEFILE"}
    trace = perfetto_trace_pb2.Trace.FromString((tmp_path / "all.perfetto").read_bytes())
    kinds = [packet.track_event.type for packet in trace.packet if packet.HasField("track_event")]
    assert len(kinds) == number
    begins, ends = kinds.count(1), kinds.count(2)
    assert begins == ends > 50
    folded = (tmp_path / "all.folded").read_text().splitlines()
    assert any(line.startswith("cat;do_sys_openat2 ") for line in folded)


def test_json_of_run_is_what_the_export_writes(tmp_path, capsys):
    assert main(["run", READS, "--target", HERE, "--json"]) == 0
    printed = capsys.readouterr().out
    assert main(["run", READS, "--target", HERE, "--export", "jsonl"]) == 0
    assert capsys.readouterr().out == printed
    path = tmp_path / "x.jsonl"
    assert main(["run", READS, "--target", HERE, "-o", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert path.read_text() == printed
    assert told == {
        "file": str(path),
        "format": "jsonl",
        "events": printed.count("\n"),
        "bytes": path.stat().st_size,
    }
    assert main(["run", READS, "--target", HERE, "--export", "csv:-", "--count", "3"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out, newline="")))
    assert len(rows) == 3
    assert {"f_pos", "count", "ret"} < set(rows[0])


def test_what_is_there_stays_unless_it_was_asked_for(tmp_path, capsys):
    path = tmp_path / "x.csv"
    path.write_text("mine")
    assert main([HERE, "-o", str(path)]) == 2
    assert capsys.readouterr().err.endswith(f"{path} is there already; --overwrite puts the new one there\n")
    assert path.read_text() == "mine"
    assert main([HERE, "-o", str(path), "--overwrite"]) == 0
    assert path.read_text().startswith('"ts",')
    assert [one.name for one in tmp_path.iterdir()] == ["x.csv"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--export", "xml"], "xml: no format of exports; they are jsonl, csv"),
        (["--export", "svg:x.svg"], "a picture is taken in the application"),
        (["-o", "x.doc"], "x.doc: its name says no format"),
        (["--export", "csv:a.csv", "-o", "b.csv"], "two files are asked for: a.csv and b.csv"),
        (["--export", "csv:/no/such/x.csv"], "/no/such is no folder"),
        (["--export", "csv:/usr"], "/usr is a folder"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([HERE, *arguments]) == 2
    assert said in capsys.readouterr().err
    assert main(["run", READS, "--target", HERE, *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_target_without_events_says_so(tmp_path, capsys):
    (tmp_path / "available_filter_functions").write_text("vfs_read\n")
    assert main([str(tmp_path), "--export", "csv"]) == 3
    assert "holds no events; `probewright run SPEC --export`" in capsys.readouterr().err


def test_a_binary_format_is_nothing_for_a_terminal(monkeypatch):
    arguments = argparse.Namespace(export="parquet", output=None, overwrite=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with pytest.raises(BadExportOption, match=r"--export parquet:FILE\.parquet"):
        export_request_of(arguments)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    assert export_request_of(arguments) is not None


def test_without_pyarrow_nothing_is_left_and_the_way_out_is_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main([HERE, "--export", f"parquet:{tmp_path / 'x.parquet'}"]) == 3
    assert "pip install 'pyarrow>=22'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("tui.cli.exports.open_export.ExportFile", FullExportFile)
    assert main([HERE, "--export", f"csv:{tmp_path / 'x.csv'}"]) == 1
    assert "x.csv: No space left on device" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_on_a_terminal_no_string_moves_the_cursor(monkeypatch, capsys):
    from tui.cli.console.output import PlainTerminal

    out = PlainTerminal()
    assert out.write(b'"a\x1b[2J"\r\n"b"\r\n') == 14
    out.flush()
    assert capsys.readouterr().out == '"a\\x1b[2J"\n"b"\n'


def test_what_came_before_an_error_is_written(tmp_path, capsys):
    """The pages of a recording are damaged behind its first batch."""
    whole = Recording.open(HERE)
    path = tmp_path / "x.pwr"
    with path.open("wb") as file:
        writer = RecordingWriter(file)
        writer.meta(dict(whole.meta))
        for kind, name, *_ in whole._named.values():
            writer.blob(kind, name, whole.blob(kind, name) or b"")
        batches = list(whole.batches())
        for batch in batches[: len(batches) // 2]:
            writer.pages(batch)
        writer.flush()
        good = file.tell()
        for batch in batches[len(batches) // 2 :]:
            writer.pages(batch)
        writer.close()
    data = bytearray(path.read_bytes())
    data[good + 100] ^= 0xFF
    path.write_bytes(data)
    assert main([str(path), "-o", str(tmp_path / "x.jsonl")]) == 3
    told = capsys.readouterr().err
    assert "wrong checksum" in told
    number = (tmp_path / "x.jsonl").read_text().count("\n")
    assert 0 < number < events_of_the_recording()
    assert f"x.jsonl: {number:,} events" in told


def test_a_cancelled_export_leaves_nothing(tmp_path):
    """Ctrl+C in the middle of a recording; the reader of a pipe makes sure that it is the middle."""
    path = tmp_path / "x.pipe.csv"
    code = (
        "import sys, os, signal\n"
        "from events.export.formats import csv_table\n"
        "take = csv_table.CsvTable.take\n"
        "def told(self, record):\n"
        "    take(self, record)\n"
        "    if record.seq == 300: os.kill(os.getpid(), signal.SIGINT)\n"
        "csv_table.CsvTable.take = told\n"
        "from tui.__main__ import main\n"
        f"sys.exit(main([{HERE!r}, '--export', 'csv:{path}']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 130, done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", ["parquet", "perfetto", "jsonl"])
def test_a_signal_ends_a_run_and_the_file_is_whole(tmp_path, form):
    """It comes in the middle of writing a record: that one is written to its end, and what was in the buffers too."""
    target = Target()
    watch = Watch(Anything(KernelInfo(target)))
    path = tmp_path / "x"
    found = format_named(form)
    assert found is not None
    taken = []
    with stoppable():
        events = arm(watch, [probe("vfs_read")])
        number = next(iter(watch.armed.probes[0].formats))
        with opened_watch_export(watch, ExportRequest(found, str(path), False), events) as export:
            inner = export._writer.take

            def take(record):
                taken.append(record.seq)
                if len(taken) == 3:
                    os.kill(os.getpid(), signal.SIGTERM)
                    time.sleep(0.01)  # the handler has run by now
                inner(record)

            export._writer.take = take
            for ts in range(1000, 1000 + 40):
                target.event(ts, number)
            follow(
                watch, argparse.Namespace(seconds=20, count=None), events, export.take, passing=export.export_filter
            )
    assert export.export_filter.number == len(taken) == 40
    assert [one.name for one in tmp_path.iterdir()] == ["x"]
    if form == "parquet":
        assert pyarrow.parquet.read_metadata(path).num_rows == 40
    elif form == "jsonl":
        assert [json.loads(line)["ts"] for line in path.read_text().splitlines()] == [*range(1000, 1040)]
    else:
        trace = perfetto_trace_pb2.Trace.FromString(path.read_bytes())
        assert sum(packet.HasField("track_event") for packet in trace.packet) == 40
    watch.close()


def test_a_signal_while_names_are_looked_up_discards_nothing(tmp_path, monkeypatch):
    """All events were taken by then."""
    target = Target()
    watch = Watch(Anything(KernelInfo(target)))
    names = watch.names
    asked: list[signal.Signals] = []

    def slow(**how: bool) -> object:
        if export.export_filter.number:
            asked.append(signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
        return names(**how)

    monkeypatch.setattr(watch, "names", slow)
    form = format_named("jsonl")
    assert form is not None
    with stoppable():
        events = arm(watch, [probe("vfs_read")])
        with opened_watch_export(watch, ExportRequest(form, str(tmp_path / "x"), False), events) as export:
            target.event(1000, next(iter(watch.armed.probes[0].formats)))
            follow(watch, argparse.Namespace(seconds=20, count=1), events, export.take, passing=export.export_filter)
    assert asked == [signal.SIGTERM]
    assert [json.loads(line)["ts"] for line in (tmp_path / "x").read_text().splitlines()] == [1000]
    watch.close()


def test_calls_of_probes_that_are_armed_later_have_their_ends(tmp_path):
    """As after a connection was lost, in another group."""
    watch = Watch(Anything(KernelInfo(Target())))
    arm(watch, [probe("vfs_read")])
    source = source_of(watch)
    assert dict(source.ends) == {}
    watch.armed.arm(Probe(ProbePlace("vfs_write"), filter="count > 1"))
    (event,) = watch.armed.probes[1].plan.events
    assert [*source.ends] == [event.path] and len(source.ends) == 1
    watch.close()


def test_a_file_comes_under_its_name_when_it_is_whole(tmp_path):
    path = tmp_path / "x"
    with ExportFile(path) as file:
        file.out.write(b"half")
        assert not path.exists()
        with pytest.raises(ExportRefused, match="another export writes it"):
            ExportFile(path)
    assert path.read_bytes() == b"half"
    with pytest.raises(ExportRefused) as error:
        ExportFile(path)
    assert error.value.file_exists
    with pytest.raises(ZeroDivisionError), ExportFile(path, overwrite=True) as file:
        file.out.write(b"other")
        _ = 1 / 0
    assert path.read_bytes() == b"half"
    late = ExportFile(tmp_path / "y")
    (tmp_path / "y").write_bytes(b"came meanwhile")
    with pytest.raises(ExportRefused, match="come meanwhile"), late:
        late.out.write(b"ours")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["x", "y"]
    assert (tmp_path / "y").read_bytes() == b"came meanwhile"


def test_notes_of_a_format_are_told(capsys):
    class Writer:
        notes = ("something is left out",)
        omitted = 0

        def take(self, record):
            pass

        def finish(self):
            pass

    wanted = export_request_of(argparse.Namespace(export="csv", output="-", overwrite=False))
    assert wanted is not None
    export = Export(wanted, Writer(), ExportFilter())
    record = record_of({"n": 1})
    assert export.export_filter.gives(record)
    export.take(record)
    assert export.tell() == 1
    assert (export.written, capsys.readouterr().err) == (1, "probewright: something is left out\n")
    assert ExportSource().fields(record_of({"n": 1}).format) == ("n",)
