"""Probes that track objects: the programs that find, touch and free them, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from btf.btf import Btf
from probes.bpf.program import AttachPoint, BpfProgram, ObjectRole
from probes.facts.lookups import Environment
from probes.lowering.lower import lower
from probes.plans.plan import Plan, Via
from probes.refusal import CannotLower
from probes.syntax.parse import parse_probe
from tests.btf_writer import every_kind
from tests.probes_data import kernel
from tests.pure.probes.bpf.test_programs import MULTI, Hit, plan_of

TEXT = 'f vfs_read%track file name=file->f_mode $comm if comm == "cat"'
FILE, OTHER, ERROR = 0xFFFF888004CDF000, 0xFFFF888004CDF180, 2**64 - 2


def program_of(plan: Plan, role: ObjectRole, function: str = "") -> BpfProgram:
    found = [one for one in plan.programs if one.role is role and (not function or function in one.functions)]
    return found[0]


def test_one_event_has_every_call_with_the_object() -> None:
    plan = plan_of(TEXT)
    (event,) = plan.events
    assert event.event == "vfs_read__track" and "comm" in event.filter and event.triggers == ()
    assert [column.name for column in event.columns] == ["func", "file", "name", "comm"]
    assert {one.layout for one in event.programs} == {event.programs[0].layout}
    begin = program_of(plan, ObjectRole.BEGIN)
    assert begin.functions == ("vfs_read",) and event.programs[-1] is begin
    touched = [name for one in event.programs if one.role is ObjectRole.TOUCH for name in one.functions]
    assert "vfs_read" not in touched and "vfs_write" in touched and len(touched) == len(set(touched))
    assert program_of(plan, ObjectRole.END).functions == ("kfree",)
    assert any("that take struct file *, until it is freed" in note for note in plan.losses)
    assert str(plan.probe) == TEXT


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("f vfs_read%track", ["func", "file"]),
        ("f vfs_read%track file->f_mode", ["func", "file", "f_mode"]),
        ("f vfs_read%track file->f_inode file->f_inode->i_mode", ["func", "f_inode", "i_mode"]),
        ("f vfs_read%track f=file +0(file):u8", ["func", "f", "file"]),
    ],
)
def test_the_object_is_what_the_first_field_is_read_from(text: str, names: list[str]) -> None:
    (event,) = plan_of(text).events
    assert [column.name for column in event.columns] == names


@pytest.mark.parametrize(
    ("text", "part", "said"),
    [
        ("f vfs_read%track count", "count", "points: a struct or a union"),
        ("f vfs_read%track file count", "count", "only what is read from it"),
        ("f vfs_read%track nobody", "nobody", ""),
        ("f no_such%track", "no_such", ""),
    ],
)
def test_what_is_no_object_is_refused_at_its_place(text: str, part: str, said: str) -> None:
    with pytest.raises(CannotLower) as caught:
        plan_of(text)
    refusal = caught.value.refusal
    assert (refusal.token, refusal.column) == (part, text.index(part))
    assert said in refusal.hint


def test_tracefs_tracks_no_objects() -> None:
    known = kernel("7.2")
    with pytest.raises(CannotLower) as caught:
        lower(parse_probe("f vfs_read%track"), known.btf, known.facts, "pw", via=Via.TRACEFS)
    assert caught.value.refusal.code == "no_tracking"


def run(program: BpfProgram, arguments: list[int], objects: set[int]) -> dict[str, int]:
    hit = Hit(program, arguments)
    hit.objects = objects
    counts = hit.run()
    assert hit.submitted == bool(counts["recorded"])
    if hit.submitted:
        assert hit.field("file") == arguments[0 if "kmem" not in program.functions[0] else 1]
    return counts


def test_an_object_is_recorded_from_where_it_is_found_to_where_it_is_freed() -> None:
    plan, objects = plan_of("f vfs_read%track file"), set[int]()
    begin, touch = program_of(plan, ObjectRole.BEGIN), program_of(plan, ObjectRole.TOUCH, "vfs_write")
    end = program_of(plan, ObjectRole.END)
    nothing = {"hits": 1, "passed": 0, "lost": 0, "recorded": 0}
    one = {"hits": 1, "passed": 1, "lost": 0, "recorded": 1}
    assert run(touch, [FILE], objects) == nothing and run(end, [FILE], objects) == nothing
    assert run(begin, [FILE], objects) == one and objects == {FILE}
    assert run(touch, [FILE], objects) == one and run(touch, [OTHER], objects) == nothing
    assert run(end, [OTHER], objects) == nothing and run(end, [FILE], objects) == one
    assert objects == set() and run(touch, [FILE], objects) == nothing


@pytest.mark.parametrize("address", [0, ERROR])
def test_what_is_no_address_is_not_tracked(address: int) -> None:
    objects = set[int]()
    counts = run(program_of(plan_of("f vfs_read%track file"), ObjectRole.BEGIN), [address], objects)
    assert (counts["passed"], objects) == (0, set())


def test_an_object_that_finds_no_room_is_lost() -> None:
    objects = {1, 2}
    counts = run(program_of(plan_of("f vfs_read%track file"), ObjectRole.BEGIN), [FILE], objects)
    assert counts == {"hits": 1, "passed": 1, "lost": 1, "recorded": 0}


def test_an_object_that_is_returned_is_found_at_the_exit() -> None:
    plan = plan_of("f dentry_open%track $retval $retval->f_mode")
    begin = program_of(plan, ObjectRole.BEGIN)
    assert begin.point is AttachPoint.EXIT and plan.events[0].at_exit is False
    assert [one.name for one in begin.layout.fields] == ["__probe_ip", "ret", "f_mode"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("f vfs_read%track file x=file->f_pos:symstr", "No program computes symstr"),
        ('f vfs_read%track file $comm if comm ~ "[ab]*"', "No program computes"),
        ("f record_read%track record->inner.value", "No other function of this kernel takes struct record *"),
    ],
)
def test_a_refusal_does_not_send_to_tracefs_which_tracks_nothing(text: str, said: str) -> None:
    known, small = kernel("7.2"), "record" in text
    facts = replace(known.facts, functions=("record_read",)) if small else known.facts
    btf = Btf.load(every_kind()) if small else known.btf
    with pytest.raises(CannotLower) as caught:
        lower(parse_probe(text), btf, facts, "pw", environment=Environment(programs=MULTI), via=Via.BPF)
    hint = caught.value.refusal.hint
    assert hint.startswith(said) and "tracefs" not in hint
