"""Probes on several functions: by pattern, list, regular expression, type and file, as programs and as lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from btf.layout import resolve
from foreign.refusal import InputRefusal
from probes.bpf.program import BpfProgram
from probes.command import has_own_syntax, parse_armable
from probes.facts.lookups import Environment
from probes.functions.signature import certain_signature_of
from probes.lowering.lower import lower
from probes.plans.json_values import plan_from_dict, plan_to_dict
from probes.plans.plan import Plan, Via
from probes.refusal import CannotLower
from probes.syntax.parse import ParseError
from probes.verdict import Refusal
from tests.probes_data import kernel
from tests.pure.probes.bpf.test_programs import FUNCTION, Hit

TEXTS = (
    "f vfs_read,vfs_write count",
    "f:name vfs_*,!vfs_open%both $arg1 if common_pid == 4",
    "f /^vfs_(read|write)$/%return $retval",
    "f [struct file *] file->f_mode",
    "f [returns struct file *]%return $retval->f_mode",
    "f @lists/mine.txt",
    "f ext4:ext4_*",
    "f [struct file *],!fput,!vfs_*%both file",
    "f /^vfs_/,!vfs_r*",
)


def plan_of(text: str, via: Via = Via.BPF, lists: dict[str, Sequence[str]] | None = None) -> Plan:
    def function_list(path: str) -> Sequence[str]:
        if lists is None or path not in lists:
            raise InputRefusal(path, "no such file or directory")
        return lists[path]

    known = kernel("7.2")
    return lower(
        parse_armable(text),
        known.btf,
        known.facts,
        "pw",
        via=via,
        environment=Environment(function_list=function_list),
    )


def refusal_of(text: str, via: Via = Via.BPF) -> Refusal:
    with pytest.raises(CannotLower) as caught:
        plan_of(text, via)
    return caught.value.refusal


def functions_of(plan: Plan) -> list[list[str]]:
    return [sorted(name for program in event.programs for name in program.functions) for event in plan.events]


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_is_read_and_printed_again(text: str) -> None:
    assert str(parse_armable(text)) == text
    command, condition, rest = text.partition(" if ")
    assert parse_armable(f"  {command.replace(' ', '   ')}{condition}{rest}  ") == parse_armable(text)


@pytest.mark.parametrize("text", TEXTS)
def test_no_kernel_is_asked_about_what_only_we_have(text: str) -> None:
    assert has_own_syntax(text)
    assert not has_own_syntax("f vfs_* $arg1") and not has_own_syntax("f [v]fs_read")


@pytest.mark.parametrize(
    ("text", "column"),
    [("f vfs_read,,vfs_write", 11), ("f /(a+)+/", 7), ("f:name a,!", 9), ("f @", 3)],
)
def test_a_text_that_stands_for_nothing_is_refused_at_its_place(text: str, column: int) -> None:
    with pytest.raises(ParseError) as caught:
        parse_armable(text)
    assert (caught.value.refusal.code, caught.value.refusal.column) == ("bad_choice", column)


def test_a_call_as_c_has_it_is_no_list() -> None:
    assert parse_armable("f vfs_read(file, count)") is not None
    assert not has_own_syntax("f vfs_read(file, count)")


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("f vfs_read,vfs_write", "vfs_(read|write)"),
        ("f vfs_*,!vfs_w*,!vfs_open", "vfs_(?!w)(?!open$).*"),
        ("f /^vfs_(read|write)$/", "vfs_(read|write)"),
        ("f /^vfs_re/", "vfs_re.*"),
        ("f /^vfs_/,!vfs_[a-q]*,!*[.]*", "vfs_[r-z][a-z_]*"),
    ],
)
def test_functions_that_are_meant(text: str, expression: str) -> None:
    wanted = {name for name in kernel("7.2").facts.functions if re.fullmatch(expression, name)}
    assert wanted and set(functions_of(plan_of(text))[0]) == wanted


def test_a_name_of_a_list_that_is_not_there_is_refused_at_its_place() -> None:
    refusal = refusal_of("f vfs_read,vfs_wrote count")
    assert (refusal.code, refusal.column, refusal.token) == ("not_traceable", 11, "vfs_wrote")
    assert refusal_of("f ext4:*").code == "not_traceable"


def test_a_file_of_names() -> None:
    lists = {"mine": ["vfs_read", "nobody", "vfs_w*", "ext4:ext4_nothing"]}
    plan = plan_of("f @mine count", lists=lists)
    assert {"vfs_read", "vfs_write"} <= set(functions_of(plan)[0])
    assert any("2 of its names are of no traceable function: nobody, ext4_nothing" in note for note in plan.losses)
    assert plan.events[0].event == "mine__entry"
    assert "no such file" in refusal_of("f @other").hint
    with pytest.raises(CannotLower) as caught:
        plan_of("f @bad", lists={"bad": ["[struct file *]"]})
    assert "is no name" in caught.value.refusal.hint
    with pytest.raises(CannotLower) as caught:
        plan_of("f @none", lists={"none": ["nobody"]})
    assert caught.value.refusal.code == "not_traceable"


def test_functions_of_a_type_with_the_argument_in_its_place() -> None:
    plan = plan_of("f [struct file *] file")
    at = {name: program for program in plan.events[0].programs for name in program.functions}
    assert {"vfs_read", "vfs_open"} <= set(at)
    assert _recorded(at["vfs_read"], [11, 22, 33], "file") == 11
    assert _recorded(at["vfs_open"], [11, 22, 33], "file") == 22
    assert at["vfs_read"].layout == at["vfs_open"].layout and at["vfs_read"].size == at["vfs_open"].size
    assert plan.events[0].function_field == "func"
    taken = sum(len(program.functions) for program in plan.events[0].programs)
    assert f"[struct file *]: {taken} functions are probed" in plan.losses


def test_a_member_is_read_behind_the_argument_of_each() -> None:
    plan = plan_of("f [struct file *] file->f_mode")
    at = {name: program for program in plan.events[0].programs for name in program.functions}
    btf = kernel("7.2").btf
    signature = certain_signature_of(btf, "vfs_read")
    assert signature is not None
    offset = resolve(btf, signature.params[0].type_id, (("->", "f_mode"),)).derefs[-1]
    for name, arguments in (("vfs_read", [0x9000, 0, 0]), ("vfs_open", [0, 0x9000, 0])):
        hit = Hit(at[name], arguments, file=(0x9000 + offset, (77).to_bytes(4, "little")))
        hit.run()
        assert hit.field("f_mode") == 77


def test_a_type_that_functions_return() -> None:
    plan = plan_of("f [returns struct file *]%return $retval->f_mode")
    assert functions_of(plan) == [["dentry_open"]]
    assert [column.label for column in plan.events[0].columns] == ["func", "$retval->f_mode"]


def test_a_type_without_its_pointer_is_corrected() -> None:
    refusal = refusal_of("f [struct file] file")
    assert refusal.nearest == ("[struct file *]",) and refusal.column == 2
    assert not refusal_of("f [struct nobody *]").nearest


def test_functions_that_lack_a_value_are_named_and_left_out() -> None:
    plan = plan_of("f [struct file *] file count")
    chosen = functions_of(plan)[0]
    assert "vfs_read" in chosen and "vfs_open" not in chosen
    assert any("left out, they lack a value that is recorded" in note for note in plan.losses)
    assert refusal_of("f vfs_* nobody").code == "no_program"


def test_functions_whose_value_has_another_type_are_named_and_left_out() -> None:
    plan = plan_of("f vfs_read,vfs_open,do_mmap,mmap_region file $retval:s32")
    assert len(functions_of(plan)[0]) >= 2
    kinds = {program.layout for program in plan.events[0].programs}
    assert len(kinds) == 1


def test_the_exit_of_all_has_one_program() -> None:
    plan = plan_of("f [struct file *]%both file $retval:s32")
    entry, leave = plan.events
    assert len(entry.programs) > 1 and len(leave.programs) == 1
    assert functions_of(plan)[0] == functions_of(plan)[1]
    assert len({program.size for program in plan.programs}) == 1


def test_a_recording_keeps_the_columns_of_such_a_plan() -> None:
    plan = plan_of("f [struct file *]%both file $retval:s32")
    kept = plan_from_dict(plan_to_dict(plan))
    assert kept.probe == plan.probe
    assert [event.columns for event in kept.events] == [event.columns for event in plan.events]
    assert not kept.programs


def test_lines_of_a_list_are_kprobes_on_each() -> None:
    plan = plan_of("f vfs_read,vfs_write%both $arg1 $retval", Via.TRACEFS)
    entry, leave = plan.events
    assert [line.split()[:2] for line in entry.lines] == [
        ["p:pw/vfs_read_vfs_write__entry", "vfs_read"],
        ["p:pw/vfs_read_vfs_write__entry", "vfs_write"],
    ]
    assert [line.split()[0] for line in leave.lines] == ["r:pw/vfs_read_vfs_write__exit"] * 2
    assert entry.function_field == leave.function_field == "func"


def _recorded(program: BpfProgram, arguments: list[int], field: str) -> int | bytes:
    hit = Hit(program, arguments)
    hit.run()
    assert hit.submitted and hit.field("__probe_ip") == FUNCTION
    return hit.field(field)


def test_functions_that_return_nothing_are_left_out_of_results() -> None:
    plan = plan_of("f vfs_read,fput%both $retval")
    assert functions_of(plan) == [["vfs_read"], ["vfs_read"]]
    assert any(note.startswith("1 left out, they return nothing: fput") for note in plan.losses)
    assert functions_of(plan_of("f vfs_read,fput%both $arg1"))[0] == ["fput", "vfs_read"]
    assert refusal_of("f fput,!vfs_*%return $retval").code == "no_program"
