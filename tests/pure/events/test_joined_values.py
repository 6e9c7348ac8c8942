"""Fields of an event as one text: those that were read from one structure stand in braces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.names.value_names import Namer
from events.text import join_values
from kernel.watch.event_fields import EventFields
from probes.plans.plan import Plan, PlanColumn, PlannedEvent
from probes.probe import Probe, ProbePlace
from tests.pure.export_events import record_of

FILE = {"f_pos": "file", "f_flags": "file", "i_ino": "inode"}


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([("f_pos", "512"), ("count", "9")], "f_pos=512 count=9"),
        (
            [("f_pos", "512"), ("count", "9"), ("f_flags", "O_RDONLY|O_LARGEFILE"), ("i_ino", "7")],
            "file={f_pos=512, f_flags=O_RDONLY|O_LARGEFILE} count=9 i_ino=7",
        ),
        ([("f_pos", "1"), ("file", "0xff"), ("f_flags", "2")], "file=0xff{f_pos=1, f_flags=2}"),
        ([("file", "0xff"), ("f_pos", "1")], "file=0xff f_pos=1"),
        ([], ""),
    ],
)
def test_members_of_one_structure_stand_in_braces(values, text):
    assert join_values(values, FILE) == text
    assert join_values(values, {}) == " ".join(f"{name}={value}" for name, value in values)


@given(st.permutations(["f_pos", "f_flags", "i_ino", "count", "file"]), st.integers(0, 5))
def test_a_search_finds_each_field_as_it_would_without_braces(order, number):
    values = [(name, str(n)) for n, name in enumerate(order[:number])]
    text = join_values(values, FILE, "  ")
    assert all(f"{name}={value}" in text for name, value in values)
    assert text.count("{") == text.count("}") == (len({"f_pos", "f_flags"} & set(order[:number])) > 1)


def test_the_structure_is_that_of_the_expression():
    labels = {
        "f_pos": "file->f_pos",
        "ino": "file->f_inode->i_ino",
        "f_mode": "$retval->f_mode",
        "sec": "ts.tv_sec",
        "count": "count",
        "ret": "$retval",
        "at": "+8($arg1)",
    }
    columns = tuple(PlanColumn(name, label) for name, label in labels.items())
    event = PlannedEvent("pw_1_a", "vfs_read", "f:pw_1_a/vfs_read vfs_read", "-:pw_1_a/vfs_read", columns=columns)
    known = EventFields(lambda _: Namer())
    assert known.owners("pw_1_a/vfs_read") == {}
    known.add_plan(Plan(Probe(ProbePlace("vfs_read")), (event,)))
    owners = {"f_pos": "file", "ino": "file", "f_mode": "$retval", "sec": "ts"}
    assert known.owners("pw_2_b/vfs_read") == owners, "also in the group of another session"
    record = record_of({"f_pos": 1, "count": 2, "ino": 3}, event="pw_1_a/vfs_read")
    assert known.line(record) == "file={f_pos=1, ino=3} count=2"
    assert known.line(record, ("ino",)) == "f_pos=1 count=2"
