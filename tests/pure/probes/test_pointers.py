"""Pointers through which values are read, among the fields of the same event."""

from __future__ import annotations

import dataclasses
import json

import pytest

from probes.command import parse_armable
from probes.lowering.lower import lower
from probes.plans.json_values import plan_from_dict, plan_to_dict
from tests.probes_data import KERNELS, kernel


def pointers(spec: str, name: str) -> dict[str, tuple[str, ...]]:
    btf, facts, _ = kernel(name)
    found: dict[str, tuple[str, ...]] = {}
    for event in lower(parse_armable(spec), btf, facts, "pw_1").events:
        found |= event.pointers
    return found


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(
    ("fetchargs", "found"),
    [
        ("pos pos[0]", {"pos_0": ("pos",)}),
        ("pos[0] pos", {"pos_0": ("pos",)}),
        ("at=pos now=pos[0]", {"now": ("at",)}),
        ("pos[0]", {}),
        ("pos pos[5000]", {}),
        ("pos:x32 pos[0]", {}),
        ("file file->f_pos pos", {"f_pos": ("file",)}),
        ("file file->f_path.dentry", {"dentry": ("file",)}),
        ("file file->f_inode->i_ino", {"i_ino": ("file",)}),
        ("file->f_inode file->f_inode->i_ino", {"i_ino": ("f_inode",)}),
        ("file file->f_inode file->f_inode->i_ino", {"f_inode": ("file",), "i_ino": ("file", "f_inode")}),
        ("a=%di b=+0(%di) c=+8(+0(%di)):u32", {"b": ("a",), "c": ("b", "a")}),
        ("a=%di b=-8(%di) c=+65536(%di)", {}),
        ("a=%di b=+u8(%di):u16", {"b": ("a",)}),
        ("a=%di:b4@0/64 b=+0(%di)", {}),
        ("arg4=$arg4 pos[0]", {"pos_0": ("arg4",)}),
        ("file=$arg1 file->f_inode file->f_inode->i_ino", {"f_inode": ("file",), "i_ino": ("file", "f_inode")}),
        ("pos now=+0($arg4)", {"now": ("pos",)}),
        ("file a=+8(+0(%di)):u32", {"a": ("file",)}),
        ("a=%cx pos[0]", {"pos_0": ("a",)}),
        ("a=%dx pos[0]", {}),
        ("a=$stack1 b=%di c=+0(%si)", {}),
    ],
)
def test_a_field_names_the_recorded_pointers_in_front_of_it(name, fetchargs, found):
    assert pointers(f"p vfs_read {fetchargs}", name) == found


def test_an_array_is_no_pointer():
    assert pointers("p wake_up_new_task p p->comm:x64 p->comm[1]:u8", "7.2") == {"comm": ("p",), "comm_1": ("p",)}


def test_arguments_of_tracepoints_are_pointers_and_fields_of_events_are_not():
    assert pointers("t sched_switch prev prev->on_cpu next->pid", "7.2") == {"on_cpu": ("prev",)}
    assert pointers("e sched/sched_switch a=$prev_pid b=$next_pid", "7.2") == {}


def test_a_recording_keeps_them():
    btf, facts, _ = kernel("7.2")
    plan = lower(parse_armable("f vfs_read pos pos[0]"), btf, facts, "pw_1")
    plain = json.loads(json.dumps(plan_to_dict(plan)))
    assert plan_from_dict(plain).events == tuple(dataclasses.replace(one, programs=()) for one in plan.events)
    for event in plain["events"]:
        for column in event["columns"]:
            del column["pointers"]
    assert plan_from_dict(plain).events[0].pointers == {}
