"""The first rows of a recording are those that the application shows once it is open, and need little of it."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from events.recording.reader import Recording, RecordingWriter
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import open_target, shipped_recording
from kernel.connection.planner import Planner
from kernel.recording.target import FACT_BLOBS, RecordingTarget
from kernel.watch.watch import Watch
from tests.pure.test_layers import ROOT
from tests.syscall_recording import call_recording
from tests.trimmed_recordings import graph_recording
from tui.present import first_rows as reading
from tui.present.first_row import Preview
from tui.present.first_rows import first_rows
from tui.present.status import fields_of, losses_of, note_of, note_of_preview, status_of, status_of_preview
from tui.views.events.model import event_table

SHIPPED = shipped_recording()
assert SHIPPED is not None
WHOLE = SHIPPED.read_bytes()


def opened(path: Path) -> RecordingTarget:
    target = open_target(str(path))
    assert isinstance(target, RecordingTarget)
    return target


def watched(target: RecordingTarget) -> Watch:
    watching = Watch(Planner(KernelInfo(target)))
    watching.begin()
    while not watching.ended:
        watching.tick()
    return watching


def write(path: Path, kind: str) -> Path:
    if kind == "calls":
        return call_recording(path, "x86_64", [(257, -2), (0, 12)], opened=3)
    if kind == "graph":
        return graph_recording(path)
    cut = int(kind)
    path.write_bytes(WHOLE[:-cut] if cut else WHOLE)
    return path


@pytest.mark.parametrize("kind", ["0", "100", "1000", "2000", "9000", "12000", "calls", "graph"])
def test_they_are_those_of_the_open_recording(tmp_path, kind):
    target = opened(write(tmp_path / "one.pwr", kind))
    rows, watching = first_rows(target), watched(target)
    store = watching.store
    assert store is not None
    shown = event_table(watching, store)
    assert rows.fields == fields_of(watching)
    assert (rows.first, rows.next) == (shown.first, shown.next)
    assert [row.seq for row in rows.rows] == list(range(max(rows.first, rows.next - 200), rows.next))
    for row in rows.rows:
        one = shown.item(row.seq)
        assert row == (one.seq, one.ts, one.cpu, one.pid, one.comm, one.event, shown.items.cells(one))
    assert note_of_preview(rows) == note_of(watching)
    target_name, facts = target.name, target.facts()
    preview = Preview(target_name, facts.title, tuple(sorted({line.split(" ")[0] for line in facts.functions})), rows)
    top = status_of(watching.info, watching, None, tracing=False)
    told = status_of_preview(preview, rows)
    assert (told.target, told.kernel, told.armed, told.losses) == (top.target, top.kernel, top.armed, top.losses)
    assert told.losses == losses_of(watching, None)


def test_of_a_long_recording_only_the_beginning_is_read(monkeypatch):
    target = opened(SHIPPED)
    every = first_rows(target)
    monkeypatch.setattr(reading, "_MOST_BYTES", 100_000)
    monkeypatch.setattr(reading, "_AT_ONCE", 10_000)
    some = first_rows(target)
    assert every.complete and not some.complete
    assert every.first == some.first == 0
    assert 0 < some.next < every.next
    assert note_of_preview(some) == ""
    assert every.rows[-1].seq == every.next - 1
    assert some.rows[-1].seq == some.next - 1
    assert all(one.ts <= other.ts for one, other in pairwise(some.rows))


def test_neither_symbols_nor_functions_are_read_for_them(monkeypatch):
    read: list[str] = []
    blob = Recording.blob

    def counted(self: Recording, kind: str, *rest: Any, **limits: Any) -> bytes | None:
        read.append(kind)
        return blob(self, kind, *rest, **limits)

    monkeypatch.setattr(Recording, "blob", counted)
    assert first_rows(opened(SHIPPED)).rows
    assert "symbols" not in read
    assert {"btf", "header_page", "cmdlines"} <= set(read)


def test_nothing_else_is_imported_for_them():
    code = (
        "import sys; from kernel.connection.open_target import open_target; "
        "from tui.present.first_rows import first_rows\n"
        f"print(len(first_rows(open_target({str(SHIPPED)!r})).rows), *sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    rows, *modules = out.split()
    assert rows == "200"
    others = {
        "textual",
        "rich",
        "kernel.watch.watch",
        "kernel.connection.planner",
        "kernel.connection.environment",
        "kernel.session.session",
    }
    rules = {"probes.check", "probes.lowering", "probes.kernel_verdict", "probes.attaching.catalog"}
    assert not (others | rules) & set(modules)


_READ = """
import sys
from tui.preview import PreviewReader
reader = PreviewReader(sys.argv[1])
reader.start()
holds = reader.holds_events()
reader.join()
shown = reader.preview
print(holds, shown and len(shown.names), shown and shown.target, shown and shown.events and shown.events.next)
print(*sys.modules)
"""


def read_aside(path: Path) -> tuple[str, set[str]]:
    command = [sys.executable, "-c", _READ, str(path)]
    out = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    answer, modules = out.splitlines()
    return answer, set(modules.split())


def test_a_child_reads_them_and_the_parent_imports_nothing_for_them():
    rows = first_rows(opened(SHIPPED))
    names = {line.split(" ")[0] for line in opened(SHIPPED).facts().functions}
    answer, modules = read_aside(SHIPPED)
    assert answer == f"True {len(names)} default.pwr {rows.next}"
    assert not {"numpy", "kernel.recording.target", "events.store.store", "btf.btf", "probes.command"} & modules


def test_a_recording_without_events_has_functions_only(tmp_path):
    path = tmp_path / "facts.pwr"
    found = Recording.open(WHOLE)
    with path.open("wb") as file:
        writer = RecordingWriter(file)
        writer.meta({"facts": found.facts})
        for name in FACT_BLOBS:
            writer.blob("facts", name, found.blob("facts", name) or b"")
        writer.close()
    names = {line.split(" ")[0] for line in opened(path).facts().functions}
    assert read_aside(path)[0] == f"False {len(names)} facts.pwr None"


def test_a_target_that_cannot_be_opened_has_no_preview(tmp_path):
    assert read_aside(tmp_path / "nothing.pwr")[0] == "False None None None"


def test_a_recording_with_damaged_pages_has_its_functions(tmp_path):
    damaged = bytearray(WHOLE)
    damaged[-15_000] ^= 0xFF
    path = tmp_path / "damaged.pwr"
    path.write_bytes(damaged)
    holds, names, target, rows = read_aside(path)[0].split()
    assert (holds, target, rows) == ("True", "damaged.pwr", "None")
    assert int(names) > 10_000
