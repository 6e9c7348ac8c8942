"""`--by`, `--sum` and others of the commands: tables as text, JSON, CSV and Parquet, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet
import pytest

from events.aggregates.request import AggregateFunction, AggregateRequest, Statistic
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import open_target, shipped_recording
from kernel.connection.planner import Planner
from probes.command import parse_armable
from tests.pure.commands import called
from tui.cli.args.parser import parse
from tui.cli.follow.filter import OptionRefused
from tui.cli.status import DONE, UNUSABLE, USAGE
from tui.cli.tables.aggregate_printer import request_of
from tui.cli.tables.aggregate_probes import kernel_triggers
from tui.output.aggregate_table import group_cells, group_columns
from tui.views.aggregate.missing_values import with_requested

HERE = str(shipped_recording())
LOG2 = AggregateFunction.LOG2
READS = "f vfs_read%return file->f_pos count $retval"


def reads(records):
    return [record for record in records if record.event.endswith("vfs_read__exit")]


def each_call_once(records):
    """The events without the exits of calls whose entries are among them, too."""
    entries = {record.event.removesuffix("__entry") for record in records if record.event.endswith("__entry")}
    return [record for record in records if record.event.removesuffix("__exit") not in entries]


def test_a_recording_is_printed_as_a_table(capsys, records):
    status, out, _ = called(capsys, HERE, "--by", "comm,event", "--top", "3")
    true = Counter((record.comm, record.event.rpartition("/")[2]) for record in records)
    head, titles, *rows = out.splitlines()
    assert status == DONE and head == f"{len(records)} events: count by comm, event"
    assert titles.split() == ["comm", "event", "count"]
    found = [tuple(row.split()[:3]) for row in rows]
    assert [int(hits) for _, _, hits in found[:3]] == sorted(true.values(), reverse=True)[:3]
    assert all(true[comm, event] == int(hits) for comm, event, hits in found[:3])
    assert found[3][:2] == ("others", str(len(records) - sum(int(hits) for _, _, hits in found[:3])))


def test_run_aggregates_the_events_of_its_probes(capsys, records):
    words = ("run", READS, "--target", HERE, "--by", "comm", "--sum", "$retval", "--max", "count", "--json")
    status, out, _ = called(capsys, *words)
    head, *rows = map(json.loads, out.splitlines())
    values = defaultdict(list)
    for record in reads(records):
        values[record.comm].append((record.values["ret"], record.values["count"]))
    assert status == DONE and len(values) == head["rows"]
    assert head["counted"] == head["of"] == len(reads(records)) and head["keys"] == ["comm"]
    assert {row["by"]["comm"]: row["values"] for row in rows} == {
        comm: {
            "$retval": {"number": len(both), "sum": sum(ret for ret, _ in both)},
            "count": {"number": len(both), "max": max(count for _, count in both)},
        }
        for comm, both in values.items()
    }


def test_the_names_of_numbers_have_their_numbers_beside(capsys, records):
    _, out, _ = called(capsys, "run", READS, "--target", HERE, "--by", "errno", "--json", "--top", "0")
    _, *rows = map(json.loads, out.splitlines())
    true = Counter(min(record.values["ret"], 0) for record in reads(records))
    assert {row["numbers"]["errno"]: row["count"] for row in rows} == true


def test_powers_of_two_are_those_of_the_values(capsys, records):
    _, out, _ = called(capsys, "run", READS, "--target", HERE, "--log2", "count")
    true = Counter((record.values["count"] - 1).bit_length() for record in reads(records))
    found = re.findall(r"^ *≤ ([\d,]+) \|#* *\| (\d+)$", out, re.MULTILINE)
    assert {bound: hits for bound, hits in found if hits != "0"} == {f"{1 << n:,}": str(k) for n, k in true.items()}


def test_a_filter_holds_and_is_told(capsys, records):
    _, out, _ = called(capsys, HERE, "--by", "comm", "--filter", "comm == cat")
    once = each_call_once(records)
    hits = sum(record.comm == "cat" for record in once)
    assert hits < sum(record.comm == "cat" for record in records)
    assert out.splitlines()[0] == f"{hits} of {len(once)} events, each call once: count by comm"
    assert out.splitlines()[2].split()[:2] == ["cat", str(hits)]


def test_a_number_of_events_ends_it(capsys):
    _, out, _ = called(capsys, "run", READS, "--target", HERE, "--by", "comm", "--count", "17")
    assert out.startswith("17 events: count by comm")


@pytest.mark.parametrize("words", [("--by", "event", "--sum", "count"), ("--by", "f_pos", "--filter", "cpu == 0")])
@pytest.mark.parametrize("to_file", [True, False])
def test_events_that_no_row_is_of_are_told_of_what_is_exported_too(capsys, tmp_path: Path, words, to_file, records):
    where = f":{tmp_path / 'table.jsonl'}" if to_file else ""
    _, printed, _ = called(capsys, HERE, *words)
    status, _, err = called(capsys, HERE, *words, "--export", f"jsonl{where}")
    told = re.findall(r"([\d,]+) without", printed)
    assert (status, re.findall(r"([\d,]+) without", err)) == (DONE, told)
    if "--sum" in words:
        assert told == [f"{sum('count' not in record.values for record in records):,}"]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_all_rows_are_exported(capsys, tmp_path: Path, form, records):
    path = tmp_path / f"table.{form}"
    words = (
        "run",
        READS,
        "--target",
        HERE,
        "--by",
        "file->f_pos,cpu",
        "--sum",
        "count",
        "--avg",
        "count",
        "--top",
        "1",
    )
    status, out, err = called(capsys, *words, "--export", f"{form}:{path}")
    true = defaultdict(list)
    for record in reads(records):
        true[record.values["f_pos"], record.cpu].append(record.values["count"])
    assert (status, out) == (DONE, "") and f"{len(true)} rows of {len(reads(records))} events" in err
    if form == "jsonl":
        found = [json.loads(line) for line in path.read_text().splitlines()]
        rows = [(*row["by"].values(), row["count"], *row["values"]["count"].values()) for row in found]
        rows = [(pos, cpu, count, total, mean) for pos, cpu, count, _, total, mean in rows]
    elif form == "csv":
        cells = list(csv.DictReader(io.StringIO(path.read_text())))
        rows = [
            (
                int(one["file->f_pos"]),
                int(one["cpu"]),
                int(one["count"]),
                int(one["sum(count)"]),
                float(one["avg(count)"]),
            )
            for one in cells
        ]
    else:
        table = pyarrow.parquet.read_table(path)
        assert str(table.schema.field("sum(count)").type) == "int64"
        rows = [
            (one["file->f_pos"], one["cpu"], one["count"], one["sum(count)"], one["avg(count)"])
            for one in table.to_pylist()
        ]
    assert len(true) > 3 and {(pos, cpu): rest for pos, cpu, *rest in rows} == {
        key: [len(counts), sum(counts), sum(counts) / len(counts)] for key, counts in true.items()
    }


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_key_with_the_name_of_a_column_has_a_column_of_its_own(capsys, tmp_path: Path, form, records):
    path = tmp_path / f"table.{form}"
    words = ("run", READS, "--target", HERE, "--by", "count,comm", "--sum", "count", "--export", f"{form}:{path}")
    status, _, _ = called(capsys, *words)
    if form == "csv":
        names, *cells = csv.reader(io.StringIO(path.read_text()))
    else:
        table = pyarrow.parquet.read_table(path)
        names, cells = table.column_names, [list(row.values()) for row in table.to_pylist()]
    true = Counter((record.values["count"], record.comm) for record in reads(records))
    assert (status, names) == (DONE, ["summary", "count_", "comm", "count", "sum(count)"])
    assert {(int(count), comm): int(hits) for _, count, comm, hits, _ in cells} == true


@pytest.mark.parametrize("name", ["count", "summary", "sum(x)", "log2", "value", "left_out", "x.number"])
@pytest.mark.parametrize("statistics", [(), (Statistic(AggregateFunction.SUM, "x"), Statistic(LOG2, "x"))])
def test_no_two_columns_of_a_table_have_one_name(name, statistics):
    request = AggregateRequest(("x", name, "y"), statistics)
    row = {
        "by": {"x": "text", name: "key", "y": "other"},
        "numbers": {"x": 1, name: 2},
        "summary": "group",
        "count": 3,
        "values": {"x": {"sum": 4, "log2": [[5, 6]]}} if statistics else {},
    }
    columns = group_columns(SimpleNamespace(request=request), [row])
    first, *powers = ([cells[one] for one in columns if one in cells] for cells in group_cells(request, row))
    assert (
        len(set(columns)) == len(columns)
        and columns[1] == "x"
        and "y" in columns
        and len(powers) == len(statistics) // 2
    )
    assert first == ["group", "text", "key", "other", 1, 2, 3, *([4] if statistics else [])]
    assert all(one == ["log2", "text", "key", "other", 1, 2, 6, "x", 32] for one in powers)


def test_powers_of_two_are_rows_of_a_file(capsys, records):
    _, out, _ = called(capsys, "run", READS, "--target", HERE, "--by", "comm", "--log2", "count", "--export", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    true = Counter((record.comm, 1 << (record.values["count"] - 1).bit_length()) for record in reads(records))
    found = {(row["comm"], int(row["log2"])): int(row["count"]) for row in rows if row["summary"] == "log2"}
    assert {key: hits for key, hits in found.items() if hits} == true


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("--by", "comm, comn"),
            ["--by at 7: no event has comn: did you mean comm", "    comm, comn", "          ^"],
        ),
        (("--by", "comm,"), ["--by at 6: a key is missing here", "    comm,", "         ^"]),
        (("--by", "comm", "--sum", "filename"), ["--sum at 1: filename is a text", "    filename", "    ^"]),
        (("--by", "filename", "--sum", "f_pos"), ["--by: no event has all of filename, f_pos"]),
        (("--by", "kstack"), ["no event has a stack: the trigger stacktrace records them"]),
        (("--by", "comm", "--export", "perfetto:x"), ["--by: perfetto holds events"]),
        (("--by", "comm", "--view", "summary", "--export", "csv:x"), ["--view names another table"]),
    ],
)
def test_what_cannot_be_is_refused_at_its_place(capsys, tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    status, out, err = called(capsys, HERE, *words)
    assert (status, out) == (USAGE, "")
    lines = err.splitlines()
    assert all(any(text in line for line in lines) for text in told) and lines[0].startswith("probewright: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("--summary", "--summary prints another table"),
        ("--count-only", "with --count-only the kernel records no event"),
    ],
)
def test_one_table_at_a_time(capsys, option, why):
    status, _, err = called(capsys, "run", READS, "--target", HERE, "--by", "comm", option)
    assert status == USAGE and why in err


class Running:
    """What a planner of a kernel that runs says of a probe."""

    def __init__(self, planner: Planner) -> None:
        self.lower = planner.lower
        self.info = SimpleNamespace(holds_events=False)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--by", "comm", "--max", "count"), "--max at 1: the kernel keeps sums, no maximum"),
        (("--by", "comm, errno"), "--by at 7: errno is no key in the kernel"),
        (("--by", "comm", "--sum", "latency"), "--sum at 1: the kernel has no latency by key"),
        (("--by", "comm,pid,cpu", "--log2", "count"), "--log2: the kernel has at most 3 keys"),
        (("--by", "comn"), "--by at 1: no event has comn: did you mean comm"),
        (("--by", "task"), "--by at 1: no event has task: did you mean comm"),
        (("--by", "comm", "--sum", "cuont"), "--sum at 1: no event has cuont: did you mean count"),
    ],
)
def test_what_the_kernel_does_not_count_is_refused(words, told):
    arguments = parse(["run", READS, "--hist", *words])
    planner = Planner(KernelInfo(open_target(HERE)))
    with pytest.raises(OptionRefused) as refused:
        kernel_triggers(Running(planner), [parse_armable(READS)], request_of(arguments), arguments)
    assert told in refused.value.lines[0]
    planner.info.close()


@pytest.mark.parametrize(
    ("words", "key", "values"),
    [
        (("--by", "comm,count", "--sum", "$retval"), "keys=common_pid.execname,count", ":vals=ret"),
        (("--by", "func", "--avg", "ret", "--sum", "ret"), "keys=common_cpu", ":vals=ret"),
        (("--by", "kstack,cpu"), "keys=stacktrace,common_cpu", ""),
        (("--by", "pid", "--log2", "count"), "keys=common_pid,count.log2", ""),
        (("--sum", "file->f_pos"), "keys=common_cpu", ":vals=f_pos"),
    ],
)
def test_what_the_kernel_counts_is_one_trigger(words, key, values):
    arguments = parse(["run", READS, "--hist", *words])
    planner = Planner(KernelInfo(open_target(HERE)))
    probe = parse_armable(f"{READS} if count > 100")
    ((trigger,),) = kernel_triggers(Running(planner), [probe], request_of(arguments), arguments).values()
    assert re.fullmatch(rf"hist:{re.escape(key + values)}:size=16384:name=by_\w+ if count > 100", trigger.text)
    planner.info.close()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--filter", "count > 1"), "with --hist the kernel counts all"),
        (("--count", "3"), "with --hist the kernel records none"),
    ],
)
def test_what_chooses_among_recorded_events_is_refused_beside_it(capsys, words, told):
    status, out, err = called(capsys, "run", READS, "--target", HERE, "--hist", "--by", "comm", *words)
    assert (status, out) == (USAGE, "") and told in err


def test_a_recording_has_no_kernel_that_counts(capsys):
    status, out, err = called(capsys, "run", READS, "--target", HERE, "--hist", "--by", "comm")
    assert (status, out) == (USAGE, "") and "a recording has no kernel that could count" in err


def test_several_hosts_have_no_common_table(capsys):
    for words, option in ((("--by", "comm"), "--by"), (("--sum", "ret"), "--sum")):
        status, _, err = called(capsys, "run", READS, "-t", "ssh://a", "-t", "ssh://b", *words)
        assert status == USAGE and f"{option} is for one host" in err


def test_a_kernel_that_runs_is_aggregated_by_run(capsys, tmp_path):
    status, _, err = called(capsys, "-t", "local", "--by", "comm")
    assert status == UNUSABLE and "`probewright run SPEC --by`" in err


@pytest.mark.parametrize(
    ("spec", "words", "found"),
    [
        ("f vfs_read%return", ("--by", "comm", "--sum", "$retval"), "f vfs_read%return $retval"),
        ("f vfs_read%return $retval", ("--by", "comm", "--sum", "$retval"), "f vfs_read%return $retval"),
        ("f vfs_read%return ret=$retval", ("--by", "errno", "--sum", "ret"), "f vfs_read%return ret=$retval"),
        ("f vfs_read%return", ("--by", "errno,pid,kstack"), "f vfs_read%return $retval"),
        ("f vfs_read", ("--by", "file->f_pos", "--sum", "count"), "f vfs_read file->f_pos count"),
        ("f vfs_read", ("--by", "func", "--log2", "duration"), "f vfs_read%both"),
        ("f vfs_read count if count > 9", ("--by", "pos"), "f vfs_read count pos if count > 9"),
        ("f vfs_read", ("--by", "no_such", "--sum", "a b"), "f vfs_read"),
        ("f vfs_read", ("--by", "comm,event,cpu"), "f vfs_read"),
    ],
)
def test_a_probe_records_what_the_table_needs(spec, words, found):
    planner = Planner(KernelInfo(open_target(HERE)))
    request = request_of(parse(["run", spec, *words]))

    def is_taken(text: str) -> bool:
        return planner.check(text).verdict.ok

    assert with_requested(spec, request, is_taken) == found
    planner.info.close()
