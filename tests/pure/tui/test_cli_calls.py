"""Calls that `run PRESET` prints: all of them, also where their ends are rare, and the rest is counted."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import events.calls.calls
from events.batch import Batch, Chunk
from events.decode import Decoder
from events.format import HeaderPage
from events.record import Record
from events.store.store import Store
from kernel.connection.open_target import shipped_recording
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbePlace
from tests.events_data import event, page
from tests.pure.events.test_calls import FORMATS, _fill, _record
from tests.pure.tui.test_cli_preset import OWN
from tui.__main__ import main
from tui.cli.follow.call_printer import _MOST_BEHIND, CallPrinter
from tui.views.calls.call_text import CallTexts

ENTRY, EXIT, OTHER = range(3)
PATHS = ("g/a", "g/b", "g/c")
PLANS = (
    Plan(
        Probe(ProbePlace("vfs_read")),
        (
            PlannedEvent("g", "a", "f:g/a vfs_read", "-:g/a", frame="frame"),
            PlannedEvent("g", "b", "f:g/b vfs_read%return", "-:g/b", at_exit=True, frame="frame", frame_shift=8),
        ),
    ),
    Plan(Probe(ProbePlace("vfs_write")), (PlannedEvent("g", "c", "f:g/c vfs_write", "-:g/c"),)),
)


def filled(*numbers: int, limit_bytes: int = 1 << 20) -> Store:
    store = Store(Decoder(dict(FORMATS), HeaderPage()), limit_bytes)
    _fill(store, [(0, 5, number, 0, 0, False, n % 50 == 0) for n, number in enumerate(numbers)])
    return store


def calls_in(store: Store, others: list[Record]) -> CallPrinter:
    known = SimpleNamespace(plans=PLANS, values=lambda *_, **__: [], owners=lambda _: {})
    return CallPrinter(SimpleNamespace(event_fields=known, store=store), others.append, PATHS, {}, as_json=False)


@pytest.fixture(autouse=True)
def in_small_steps(monkeypatch):
    """As of a store with millions of events: one step of pairing looks at a few."""
    monkeypatch.setattr(events.calls.calls, "_PIECE", 4)
    tick = CallTexts.tick
    monkeypatch.setattr(CallTexts, "tick", lambda self: tick(self, 0.0))


def test_the_last_call_is_printed_however_much_came_before_it(capsys):
    store, others = filled(ENTRY, EXIT, *[OTHER] * 100, ENTRY, EXIT), list[Record]()
    calls = calls_in(store, others)
    for seq in range(store.first_seq, store.next_seq):
        calls.show(store.record(seq))
    assert capsys.readouterr().out.count(" vfs_read ") == 2
    assert len(others) == 100 and calls.dropped == 0


def test_events_are_paired_also_while_no_call_ends(monkeypatch):
    """Else the entry of a call, and who has lost what, would be dropped before anybody looked."""
    monkeypatch.setattr(events.calls.calls, "_PIECE", _MOST_BEHIND)
    store = filled(ENTRY, *[OTHER] * (_MOST_BEHIND + 1))
    calls = calls_in(store, [])
    calls.show(store.record(store.next_seq - 1))
    assert calls._calls is not None and calls._calls.calls.backlog == 0 and calls._calls.calls.open == 1


def test_what_was_dropped_before_it_could_be_printed_is_counted(capsys):
    store = filled(*[ENTRY, EXIT] * 4000, limit_bytes=200_000)
    assert store.first_seq > 0
    calls = calls_in(store, [])
    calls.show(store.record(store.next_seq - 1))
    printed = capsys.readouterr().out.count(" vfs_read ")
    assert printed > 0
    assert calls.dropped >= store.first_seq


def test_what_was_not_printed_is_said_at_the_end(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    preset = tmp_path / "own.toml"
    preset.write_text(OWN)
    command = ["run", str(preset), "-t", str(shipped_recording())]
    assert main(command) == 0
    assert "before they were printed" not in capsys.readouterr().err
    monkeypatch.setattr(CallPrinter, "dropped", 4321)
    assert main(command) == 0
    assert "4,321 calls or events of calls dropped before they were printed" in capsys.readouterr().err


def test_a_call_that_outlasts_its_entry_in_the_store_is_printed_with_both_ends(capsys):
    store, others, shown = Store(Decoder(dict(FORMATS), HeaderPage()), 2_000_000), list[Record](), 0
    calls = calls_in(store, others)
    calls._leasts = {"vfs_read": 1000}
    for n, number in enumerate([ENTRY, *[OTHER] * 800, EXIT]):
        data = event(_record(5, number, 0, 0), 0) * (100 if number == OTHER else 1)
        store.feed(Batch((Chunk(0, page(1000 * n + 1000, data, HeaderPage())),), drained=True))
        store.flush()
        for seq in range(shown, store.next_seq):
            calls.show(store.record(seq))
        shown = store.next_seq
    assert store.first_seq > 0, "the entry is gone"
    assert " 801.0us " in capsys.readouterr().out
    assert calls.dropped == 0 and not calls._calls.held
