"""Whether the filter hides all that comes of a probe, told from the events alone."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tui.filter.filter import PassCount
from tui.filter.hidden_rows import HiddenRows, hidden_by_filter
from tui.present.ways_out import NO_FILTER

OWN, OTHER = "pw/vfs_open", "pw/vfs_read"
PLAN = SimpleNamespace(events=(SimpleNamespace(path=OWN),), probe=SimpleNamespace(subject="vfs_*"))


class Events:
    """Store and selection: of each event its path, and whether it passes."""

    def __init__(self, *events: tuple[str, bool], looked: int | None = None) -> None:
        self.events = events
        self.first_seq = 0
        self.next_seq = len(events)
        self.looked = len(events) if looked is None else looked

    def tick(self, budget):
        assert budget > 0

    def record(self, seq):
        return SimpleNamespace(event=self.events[seq][0])

    def passes(self, seq):
        return self.events[seq][1]


@pytest.mark.parametrize(
    ("events", "hidden"),
    [
        ((), False),
        (((OTHER, False), (OTHER, True)), False),
        (((OTHER, True), (OWN, False), (OWN, False)), True),
        (((OWN, False), (OWN, True)), False),
        (((OTHER, True),) * 600 + ((OWN, False),), True),
    ],
)
def test_it_is_told_while_events_of_the_probe_came_and_none_passes(events, hidden):
    rows, seen = HiddenRows(), Events(*events)
    rows.begin(PLAN, 0)
    while rows.look(seen, seen):
        pass
    assert rows.note == (f"hides vfs_*: {NO_FILTER}" if hidden else "")
    rows.look(seen, None)  # the filter is taken away
    assert not rows.note


def test_events_before_it_was_armed_and_those_the_filter_did_not_look_at_yet_do_not_count():
    rows, seen = HiddenRows(), Events((OWN, False), (OTHER, True), (OWN, False), looked=2)
    rows.begin(PLAN, 1)
    assert rows.look(seen, seen) and not rows.note
    seen.looked = 3
    assert not rows.look(seen, seen)
    assert rows.note


@pytest.mark.parametrize(
    ("text", "filtered", "told"),
    [
        ("pid == 1", PassCount(0, 3, "call"), "the filter hides all 3 calls"),
        ("pid == 1", PassCount(0, 1, "call"), "the filter hides 1 call"),
        ("", PassCount(0, 3, "call"), ""),
        ("pid == 1", PassCount(1, 3, "call"), ""),
        ("pid == 1", PassCount(0, 0, "call"), ""),
        ("pid == 1", PassCount(0, 3, "call", backlog=1), ""),
        ("pid == 1", "the filter is not for this view", ""),
    ],
)
def test_a_view_of_which_it_hides_all_has_a_sentence(text, filtered, told):
    assert hidden_by_filter(text, filtered) == (f"{told}: {NO_FILTER}" if told else "")
