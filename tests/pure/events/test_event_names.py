"""Names of events as the screen has them, and conditions that name an event."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from events.conditions.comparison import TextComparison
from events.names.event_names import event_name, exported_name
from widgets.events.event_rows import EventColumn, EventRows


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("pw_136_cv/vfs_read__exit", "vfs_read__exit"),
        ("synthetic/pw_136_cv__slow_open", "slow_open"),
        ("synthetic/pw_136_cv_2__latency0", "latency0"),
        ("synthetic/pw_136_cv__slow__open", "slow__open"),
        ("synthetic/pw_136_cv__", "pw_136_cv__"),
        ("synthetic/pw_tool__slow_open", "pw_tool__slow_open"),  # not of ours: no number
        ("synthetic/wakeup_latency", "wakeup_latency"),
        ("sched/pw_136_cv__slow_open", "pw_136_cv__slow_open"),
        ("slow_open", "slow_open"),
        ("", ""),
    ],
)
def test_the_group_of_the_session_is_left_out(path, name):
    assert event_name(path) == name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("pw_136_cv/vfs_read__exit", "vfs_read__exit"),
        ("pw_169_8p_2/read__entry", "read__entry"),
        ("synthetic/pw_136_cv__slow_open", "slow_open"),
        ("synthetic/pw_136_cv_2__latency0", "latency0"),
        ("sched/sched_switch", "sched/sched_switch"),
        ("sched/pw_136_cv__slow_open", "sched/pw_136_cv__slow_open"),
        ("synthetic/wakeup_latency", "synthetic/wakeup_latency"),
        ("pw_tool/vfs_read", "pw_tool/vfs_read"),  # not of ours: no number
        ("line_cut", "line_cut"),
    ],
)
def test_data_names_the_group_of_all_but_our_own_events(path, name):
    assert exported_name(path) == name


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("slow_open", True),
        ("pw_136_cv__slow_open", True),
        ("synthetic/pw_136_cv__slow_open", True),
        ("open", False),
        ("other/pw_136_cv__slow_open", False),
    ],
)
def test_a_condition_takes_the_name_on_the_screen_and_the_kernels_own(text, holds):
    path = "synthetic/pw_136_cv__slow_open"
    assert TextComparison("event", "==", text).of_event(path) is holds
    assert TextComparison("event", "!=", text).of_event(path) is not holds
    assert TextComparison("event", "~", f"{text[:-1]}?").of_event(path) is holds


@pytest.mark.parametrize("columns", [80, 120])
def test_a_synthetic_event_has_its_own_name_in_the_table(columns):
    event = SimpleNamespace(seq=0, ts=0, cpu=1, pid=7, comm="cat", event="synthetic/pw_136_cv__slow_open")
    store = SimpleNamespace(first=0, next=1, item=lambda row: event)
    rows = EventRows(store, (EventColumn("time", of_all=True), EventColumn("event", of_all=True)), lambda event: {})
    rows.prepare(0, 1)
    text = "".join(piece.text for piece in rows.pieces(0, columns))
    assert "slow_open" in text and "pw_136" not in text
