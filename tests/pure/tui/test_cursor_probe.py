"""The armed probes that a key is about, by the event under the cursor."""

from types import SimpleNamespace

import pytest

from tui.live.cursor_probe import STACKS, probes_of_event


def armed(*paths):
    return SimpleNamespace(plan=SimpleNamespace(events=[SimpleNamespace(path=path) for path in paths]))


READ, WRITE = armed("g/read", "g/read_ret"), armed("g/write")


@pytest.mark.parametrize(
    ("event", "found"),
    [("g/read_ret", (READ,)), ("g/write", (WRITE,)), ("", (READ, WRITE)), *((one, (READ, WRITE)) for one in STACKS)],
)
def test_an_event_is_of_its_probe_and_of_any_where_it_names_none(event, found):
    assert probes_of_event([READ, WRITE], event) == (found, "")


def test_where_there_is_none_the_reason_is_given():
    assert probes_of_event([], "g/read") == ((), "nothing is armed")
    assert probes_of_event([READ], "g/gone").reason == "the probe of this event is disarmed already"
