"""A remote host reboots while it is watched: each row has the names of its own boot, wherever it is read."""

from __future__ import annotations

import csv
import io
import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from events.batch import Batch, Chunk
from events.calls.call_values import CalledFunction, function_key
from events.export.catalogue import format_named
from events.export.job import writer_of
from events.recording.reader import Recording
from events.search import sorted_rows
from events.search.text_match import TextMatch
from events.store.store import Store
from events.summary.distribution import Distribution
from events.summary.summary import Summary
from kernel.connection.kernel_info import KernelInfo
from kernel.recording.target import RecordingTarget
from kernel.symbols.kernel_symbols import KernelSymbols
from kernel.watch import reconnect
from kernel.watch.reconnect import ReconnectAbandoned, ReconnectAttempt
from kernel.watch.watch import Watch
from probes.plans.plan import Plan, PlanColumn
from tests.fake_target import ROOT
from tests.pure.events.test_export_calls import STACK
from tests.pure.kernel.test_ssh_reconnect import BOOT, Side, cut, shown
from tests.pure.kernel.test_watch import Anything, probe
from tests.replays import replay_of
from tui.filter.filter import Filter
from tui.output.event_source import source_of_rows
from tui.present.call_ends import titled_latencies
from tui.present.first_rows import first_rows
from tui.present.status import detail_of
from tui.present.summary_values import tasks_of, values_of
from tui.present.value_text import ValueStyle

FIELDS = (
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
)
START = 0xFFFFFFFF81000000
SLIDE = 0x100
"""Bytes by which the functions of the second boot lie higher."""
NAMES = ("_stext", "vfs_open", "vfs_read", "vfs_write", "vfs_fsync", "_etext")
SAME = START + 2 * SLIDE
"""Address of `vfs_read` in the first boot, and of `vfs_open` in the second."""
FIRST, SECOND = "vfs_read", "vfs_open"


def kallsyms(slide: int) -> bytes:
    lines = (f"{START + slide + SLIDE * at:016x} T {name}\n" for at, name in enumerate(NAMES))
    return "".join(lines).encode()


class Kernel(Side):
    """Has events with the address of a function and a stack."""

    def _event(self, place: str, event: str) -> None:
        super()._event(place, event)
        name = event.split("/")[1]
        text = f'name: {name}\nID: {self._next_id}\nformat:\n{FIELDS}\nprint fmt: "(%lx)", REC->__probe_ip\n'
        self.files[f"{place}/events/{event}/format"] = text.encode()
        self.files[f"{place}/events/{STACK.path}/format"] = STACK.source.encode()

    def hit(self, ts: int, number: int) -> None:
        data = struct.pack("<IHHiQ", 4, number, 0, 812, SAME)
        data += struct.pack("<IHHiiiQ", 6, STACK.id, 0, 812, 1, 0, SAME + 8)
        page = struct.pack("<QQ", ts, len(data)) + data
        self.pages.queue.put(Batch((Chunk(0, page.ljust(4096, b"\0")),), drained=True))


class Pattern(Anything):
    """Lowers each probe to one on several functions."""

    def lower(self, probe: Any, group: str, *rest: Any) -> Plan:
        plan = super().lower(probe, group)
        column = PlanColumn("func", "func", functions="vfs_*")
        return replace(plan, events=tuple(replace(event, columns=(column,)) for event in plan.events))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconnect, "PAUSES", (0.01,))


@pytest.fixture
def side() -> Kernel:
    side = Kernel()
    side.files["/proc/kallsyms"] = kallsyms(0)
    return side


@pytest.fixture
def watch(side: Kernel) -> Iterator[Watch]:
    made = Watch(Pattern(KernelInfo(side.target)))
    yield made
    made.close()


def reboot(side: Kernel, slide: int = SLIDE) -> None:
    side.files[BOOT] = b"boot %d\n" % slide
    side.files["/proc/kallsyms"] = kallsyms(slide)
    side.files[f"{ROOT}/saved_cmdlines"] = b"812 sshd\n"


def both_boots(side: Kernel, watch: Watch, path: Path | None = None) -> None:
    """A hit in each boot, with the mark of the outage between."""
    armed = watch.armed.arm(probe("vfs_read"))
    watch.armed.add_trigger(armed, armed.plan.events[0], "stacktrace")
    shown(watch, 0)
    if path is not None:
        watch.record_to(path)
    side.hit(1000, id_of_probe(watch))
    shown(watch, 1)
    watch.intake.know_names(watch.names())
    watch.info.symbols.load()
    cut(side, watch)
    reboot(side)
    assert ReconnectAttempt(watch).run().outage.booted
    watch.info.symbols.renew()
    watch.intake.know_names(watch.names())
    side.hit(10, id_of_probe(watch))
    shown(watch, 3)
    watch.intake.know_names(watch.names())


def hit_before_a_reboot(side: Kernel, watch: Watch) -> None:
    """Hit a probe once, read the symbols, and reboot; nobody has reconnected."""
    watch.armed.arm(probe("vfs_read"))
    side.hit(1000, id_of_probe(watch))
    shown(watch, 1)
    watch.info.symbols.load()
    cut(side, watch)
    reboot(side)


def functions(watch: Watch, *rows: int) -> list[str]:
    """Names of the functions that rows show."""
    return [dict(watch.event_fields.values(store_of(watch).record(seq)))["func"] for seq in rows]


def id_of_probe(watch: Watch) -> int:
    (armed,) = watch.armed.probes
    return next(number for number, fmt in armed.formats.items() if fmt.path != STACK.path)


def store_of(watch: Watch) -> Store:
    assert watch.store is not None
    return watch.store


def exported(watch: Watch, name: str, rows: Sequence[int] = (0, 2)) -> bytes:
    form = format_named(name)
    assert form is not None
    out = io.BytesIO()
    writer = writer_of(form, source_of_rows(watch), out)
    store = store_of(watch)
    for seq in rows:
        writer.take(store.record(seq))
    writer.finish()
    return out.getvalue()


def passing(watch: Watch, text: str) -> list[int]:
    chosen = Filter()
    chosen.choose(text, watch)
    rows = chosen.of(watch, store_of(watch))
    assert rows is not None
    while rows.backlog:
        rows.tick(1)
    return [rows.number(row) for row in range(rows.first, rows.next) if rows.number(row) != 1]


def found(watch: Watch, text: str) -> list[int]:
    """Rows that a search for a text finds, by columns and by records."""
    store, style = store_of(watch), ValueStyle(watch.event_fields)
    match = TextMatch(text, style, store.task_names.name, store.task_names.all_names)
    columns = store.columns(0, store.next_seq)
    candidates = match.candidates(columns)
    return [seq for seq in (0, 2) if candidates[seq] and match(store.record(seq))]


def assert_named(watch: Watch) -> None:
    store = store_of(watch)
    assert functions(watch, 0, 2) == [FIRST, SECOND]
    records = [store.record(seq) for seq in (0, 2)]
    assert [record.comm for record in records] == ["cat", "sshd"]
    for name, row in (("cat", 0), ("sshd", 2)):
        assert passing(watch, f"comm == {name}") == found(watch, f"{name}-812") == [row]
    for record, name in zip(records, (FIRST, SECOND), strict=True):
        detail = {row.name: row.value for row in detail_of(watch, record)}
        assert detail["func"].startswith(name) and detail["stack"] == f"{name}+0x8/0x100"
        assert detail["__probe_ip"].startswith(f"{name}+0x0/")
    for name, row in ((FIRST, 0), (SECOND, 2)):
        assert passing(watch, f"func == {name}") == [row]
        assert passing(watch, f"func != {name}") == [2 - row]
        assert found(watch, f"func={name}") == [row]
    lines = [json.loads(line) for line in exported(watch, "jsonl").splitlines()]
    assert [line["values"]["func"] for line in lines] == [FIRST, SECOND]
    assert [line["comm"] for line in lines] == ["cat", "sshd"]
    assert [line["stack"][0]["symbol"] for line in lines] == [f"{name}+0x8/0x100" for name in (FIRST, SECOND)]
    rows = list(csv.DictReader(io.StringIO(exported(watch, "csv").decode())))
    assert [row["func"] for row in rows] == [FIRST, SECOND]
    table = pyarrow.parquet.read_table(io.BytesIO(exported(watch, "parquet"))).to_pylist()
    assert [row["func"] for row in table] == [FIRST, SECOND]
    assert [row["stack"] for row in table] == [[f"{name}+0x8/0x100"] for name in (FIRST, SECOND)]
    text = exported(watch, "text").decode().splitlines()
    assert [line.strip() for line in text if "=>" in line] == [f"=> {name}" for name in (FIRST, SECOND)]
    folded = exported(watch, "folded").decode()
    assert f";{FIRST} 1" in folded and f";{SECOND} 1" in folded


def test_each_row_has_the_names_of_its_boot(side: Kernel, watch: Watch, tmp_path: Path) -> None:
    path = tmp_path / "a.pwr"
    both_boots(side, watch, path)
    assert_named(watch)
    watch.stop_recording()
    replayed = replay_of(path)
    replayed.info.symbols.load()
    assert_named(replayed)
    again = tmp_path / "b.pwr"
    repeated = Watch(Pattern(KernelInfo(RecordingTarget(Recording.open(path), "a"))))
    repeated.begin()
    repeated.record_to(again)
    while not repeated.ended:
        repeated.tick()
    repeated.close()
    twice = replay_of(again)
    twice.info.symbols.load()
    assert_named(twice)


def test_the_preview_of_a_recording_has_no_wrong_name(side: Kernel, watch: Watch, tmp_path: Path) -> None:
    path = tmp_path / "a.pwr"
    both_boots(side, watch, path)
    watch.stop_recording()
    rows = first_rows(RecordingTarget(Recording.open(path), "a")).rows
    assert [row.texts["func"] for row in rows if "func" in row.texts] == [hex(SAME)] * 2, "no symbols are read yet"


def test_an_address_counted_in_two_boots_is_two_functions(side: Kernel, watch: Watch) -> None:
    both_boots(side, watch)
    store = store_of(watch)
    path = store.record(0).event
    summary = Summary(store)
    summary.choose(path, "func")
    summary.tick(60)
    counted = values_of(watch, summary.values)
    assert {(value.label, value.hits) for value in counted} == {(FIRST, 1), (SECOND, 1)}
    latencies = {CalledFunction(function_key(0, SAME), boot): Distribution() for boot in (0, 1)}
    assert {title for title, _ in titled_latencies(watch, latencies)} == {FIRST, SECOND}
    later = Summary(store.from_now_on())
    later.choose(path, "func")
    side.hit(20, id_of_probe(watch))
    shown(watch, 4)
    later.tick(60)
    assert [(value.label, value.hits) for value in values_of(watch, later.values)] == [(SECOND, 1)]


def test_tasks_of_two_boots_are_counted_apart(side: Kernel, watch: Watch) -> None:
    both_boots(side, watch)
    store = store_of(watch)
    summary = Summary(store)
    summary.tick(60)
    assert {(one.label, one.hits) for one in tasks_of(store, summary)} == {
        ("cat-812", 1),
        ("sshd-812", 1),
    }
    keys = sorted_keys(watch)
    assert keys == ["cat-0000000812", "sshd-0000000812"]


def sorted_keys(watch: Watch) -> list[int | str]:
    """Sort keys of the tasks, of rows that are no marks."""
    store = store_of(watch)
    tables = store.columns(0, store.next_seq).tables.values()
    return sorted(
        key
        for table in tables
        for key in sorted_rows._property_keys(table, "task", store.task_names.name, np.arange(len(table)))
    )


def test_before_the_symbols_of_the_new_boot_are_read_only_rows_before_it_are_named(
    side: Kernel, watch: Watch
) -> None:
    hit_before_a_reboot(side, watch)
    ReconnectAttempt(watch).run()
    side.hit(10, id_of_probe(watch))
    shown(watch, 3)
    assert functions(watch, 0, 2) == [FIRST, hex(SAME)]
    assert passing(watch, f"func == {SECOND}") == []
    watch.info.symbols.renew()
    assert functions(watch, 0, 2) == [FIRST, SECOND]
    assert passing(watch, f"func == {SECOND}") == [2]


def test_symbols_that_were_never_read_name_nothing_after_the_reboot(side: Kernel, watch: Watch) -> None:
    watch.planner.info.symbols.load = lambda **_: None  # type: ignore[method-assign]
    hit_before_a_reboot(side, watch)
    ReconnectAttempt(watch).run()
    KernelSymbols.load(watch.info.symbols)
    side.hit(10, id_of_probe(watch))
    shown(watch, 3)
    assert functions(watch, 0, 2) == [hex(SAME), SECOND]


def test_a_reboot_that_an_abandoned_attempt_saw_counts(side: Kernel, watch: Watch) -> None:
    """The next attempt sees the same boot again: rows of before are no rows of it."""
    hit_before_a_reboot(side, watch)
    first = ReconnectAttempt(watch, patience=0.0)

    def lose(step: object) -> None:
        side.cut()
        raise reconnect.TargetLost("cut again")

    side.before = lose
    with pytest.raises(ReconnectAbandoned):
        first.run()
    side.before = lambda _: None
    assert ReconnectAttempt(watch).run().outage.booted
    watch.info.symbols.renew()
    side.hit(10, id_of_probe(watch))
    shown(watch, 3)
    assert functions(watch, 0, 2) == [FIRST, SECOND]


def test_a_reboot_while_nothing_is_armed_brings_its_own_symbols(side: Kernel, watch: Watch) -> None:
    watch.info.symbols.load()
    side.lost = True
    reboot(side)
    ReconnectAttempt(watch).run()
    watch.armed.arm(probe("vfs_read"))
    side.hit(10, id_of_probe(watch))
    shown(watch, 1)
    assert functions(watch, 0) == [SECOND]


def test_a_recording_that_began_after_a_reboot(side: Kernel, watch: Watch, tmp_path: Path) -> None:
    both_boots(side, watch)
    path = tmp_path / "a.pwr"
    watch.record_to(path)
    side.hit(20, id_of_probe(watch))
    shown(watch, 4)
    cut(side, watch)
    reboot(side, 2 * SLIDE)
    ReconnectAttempt(watch).run()
    side.hit(10, id_of_probe(watch))
    shown(watch, 6)
    watch.stop_recording()
    replayed = replay_of(path)
    replayed.info.symbols.load()
    records = map(store_of(replayed).record, (0, 2))
    assert [dict(replayed.event_fields.values(record))["func"] for record in records] == [SECOND, "_stext"]


def test_only_some_boots_are_kept_in_memory(side: Kernel, watch: Watch) -> None:
    watch.armed.arm(probe("vfs_read"))
    for number in range(1, 12):
        watch.info.symbols.load()
        cut(side, watch)
        reboot(side, SLIDE * number)
        ReconnectAttempt(watch).run()
    known = [boot for boot in range(12) if watch.info.symbols.loaded_of(boot) is not None]
    assert known == [7, 8, 9, 10] and watch.info.symbols.boot == 11
