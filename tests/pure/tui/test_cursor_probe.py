"""The armed probes that a key is about, by the event under the cursor."""

from types import SimpleNamespace

import pytest

from tui.live.cursor_probe import EVENTS_OF_NO_PROBE, probes_of_event


def armed(*paths):
    return SimpleNamespace(plan=SimpleNamespace(events=[SimpleNamespace(path=path) for path in paths]))


READ, WRITE = armed("g/read", "g/read_ret"), armed("g/write")


@pytest.mark.parametrize(
    ("event", "found"),
    [
        ("g/read_ret", (READ,)),
        ("g/write", (WRITE,)),
        ("", (READ, WRITE)),
        *((one, (READ, WRITE)) for one in sorted(EVENTS_OF_NO_PROBE)),
    ],
)
def test_an_event_is_of_its_probe_and_of_any_where_it_names_none(event, found):
    assert probes_of_event([READ, WRITE], event) == (found, "")


def test_where_there_is_none_the_reason_is_given():
    assert probes_of_event([], "g/read") == ((), "nothing is armed")
    assert probes_of_event([READ], "g/gone").reason == "the probe of this event is disarmed already"


@pytest.mark.parametrize("event", ["kernel_stack", "ftrace/user_stack", "command/output", "line_cut"])
def test_stacks_lines_of_a_command_and_outages_are_of_no_probe(event):
    assert event in EVENTS_OF_NO_PROBE
