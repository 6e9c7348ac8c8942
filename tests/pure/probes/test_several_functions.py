"""Probes on several functions: by pattern, list, regular expression, type and file, as programs and as lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import count

import pytest

import events.names.glob
from btf.functions.functions_of_type import functions_with
from btf.layout import resolve
from btf.types import Enum
from btf.walk import size_of
from events.names.function_choice import FunctionChoice
from events.names.glob import Glob
from events.names.name_pattern import NamePattern
from foreign.refusal import InputRefusal
from probes.bpf.program import BpfProgram
from probes.command import has_own_syntax, parse_armable
from probes.facts.lookups import Environment
from probes.functions.chosen_functions import chosen_functions
from probes.functions.signature import certain_signature_of
from probes.lowering.lower import lower
from probes.plans.json_values import plan_from_dict, plan_to_dict
from probes.plans.plan import MAX_PATTERN, Plan, Via
from probes.probe import Probe, ProbePlace
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
    assert any("2 names are no traceable functions: nobody, ext4_nothing" in note for note in plan.losses)
    assert plan.events[0].event == "mine__entry"
    assert "no such file" in refusal_of("f @other").hint
    with pytest.raises(CannotLower) as caught:
        plan_of("f @bad", lists={"bad": ["[struct file *]"]})
    assert "no name or pattern" in caught.value.refusal.hint
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


def test_a_line_of_a_file_that_excludes_takes_out_of_all_others() -> None:
    lists = {"mine": ["vfs_*", "!vfs_read", "!vfs_w*"]}
    chosen = functions_of(plan_of("f @mine $arg1", lists=lists))[0]
    assert "vfs_open" in chosen and not {"vfs_read", "vfs_write"} & set(chosen)


def test_values_of_different_enums_are_not_named_alike() -> None:
    known = kernel("7.2")
    enums: dict[str, list[str]] = {}
    for name in known.facts.functions:
        signature = certain_signature_of(known.btf, name)
        for param in signature.params if signature is not None else ():
            kind = known.btf.type(signature.strip(param.type_id)) if signature is not None else None
            if isinstance(kind, Enum):
                enums.setdefault(param.name, []).append(f"{name}:{kind.id}")
    names = next(each for each in enums.values() if len({one.partition(":")[2] for one in each}) > 1)
    shared = next(name for name, each in enums.items() if each is names)
    plan = plan_of(f"f {','.join(one.partition(':')[0] for one in names)} {shared}")
    kinds = {one.partition(":")[2] for one in names if one.partition(":")[0] in functions_of(plan)[0]}
    assert len(kinds) == 1
    assert any("a recorded value has another type there" in note for note in plan.losses)


def test_a_function_of_which_a_path_cannot_be_read_is_left_out() -> None:
    plan = plan_of("f * file->f_pos")
    assert "vfs_read" in functions_of(plan)[0]
    assert refusal_of("f [struct file *] file->nothing").code == "NO_BTF_FIELD"


def test_columns_are_those_of_the_functions_that_are_probed() -> None:
    plan = plan_of("f * count")
    (event,) = plan.events
    field = next(one for one in event.programs[0].layout.fields if one.name == "count")
    column = next(column for column in event.columns if column.name == "count")
    assert column.btf_type is not None
    assert size_of(kernel("7.2").btf, column.btf_type) == field.type.size


def test_lines_of_a_list_leave_out_what_returns_nothing() -> None:
    plan = plan_of("f vfs_read,fput%both $retval", Via.TRACEFS)
    assert [line.split()[1] for line in plan.events[1].lines] == ["vfs_read"]
    assert any("1 left out, they return nothing: fput" in note for note in plan.losses)


def test_what_no_function_fits_is_told() -> None:
    plan = plan_of("f vfs_*,!vfs_raed,nobody_* $arg1")
    assert any("no traceable function fits !vfs_raed, nobody_*" in note for note in plan.losses)
    refusal = refusal_of("f vfs_open,open")
    assert (refusal.token, refusal.column) == ("open", 11)


def test_a_text_that_no_recording_would_keep_names_functions_by_address() -> None:
    names = [name for name in kernel("7.2").facts.functions if re.fullmatch("[a-z_]{12,}", name)]
    plan = plan_of(f"f {','.join(dict.fromkeys(names))} $arg1")
    assert len(str(plan.probe.place if isinstance(plan.probe, Probe) else "")) > MAX_PATTERN
    assert plan.events[0].columns[0].functions == "*"
    assert plan_from_dict(plan_to_dict(plan)).events[0].columns == plan.events[0].columns


def test_types_are_found_by_their_spelling_in_c() -> None:
    btf = kernel("7.2").btf
    assert functions_with(btf, "unsigned long") == functions_with(btf, "long unsigned int")
    assert functions_with(btf, "unsigned long").takes and functions_with(btf, "void *").takes
    assert functions_with(btf, "void *").takes.items().isdisjoint(functions_with(btf, "void").takes.items())
    with pytest.raises(ParseError):
        parse_armable("f [loff_t],vfs_* $arg1")


def test_the_value_that_the_fewest_functions_have_is_blamed() -> None:
    assert refusal_of("f vfs_* file nobody").token == "nobody"


def test_a_long_list_is_read_once_and_compiles_no_pattern_for_a_name(monkeypatch):
    """A list of all functions of a kernel has 80,000 names: what each costs is waited for at each key."""
    known = kernel("7.2")
    there = tuple(dict.fromkeys(known.facts.functions[:20]))
    lines = [f"none_{n}" for n in range(20_000)] + list(there) * 100
    compiled: list[bytes] = []
    monkeypatch.setattr(events.names.glob, "_parts", compiled.append)
    around = Environment(function_list=lambda _: lines)
    parsed: list[str] = []
    parse = FunctionChoice.parse

    def noted(text: str) -> FunctionChoice:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(FunctionChoice, "parse", noted)
    for _ in range(3):
        found = chosen_functions(ProbePlace("@list"), known.btf, known.facts, around, 2)
        assert found.names == there and "20,000 names" in found.notes[0]
    assert compiled == [] and len(parsed) == 20_000 + len(there) + 3


@pytest.mark.parametrize("beside", ["", ",!none_*", ",*none_*", ",!vfs_read"])
def test_each_pattern_of_a_list_is_tried_once_on_each_function(beside: str, monkeypatch) -> None:
    """A list is looked up at each key, and a kernel has 80,000 functions: none may be gone through for a name."""
    known = kernel("7.2")
    there = tuple(dict.fromkeys(known.facts.functions))[:400]
    tried: list[str] = []
    among = Glob.among

    def noted(self: Glob, texts: Iterable[str]) -> list[str]:
        tried.append(self._pattern)
        return among(self, texts)

    matched = count(1)
    matches = NamePattern.matches
    monkeypatch.setattr(Glob, "among", noted)
    monkeypatch.setattr(NamePattern, "matches", lambda *its: next(matched) and matches(*its))
    place = ProbePlace(",".join(there) + beside)
    for _ in range(3):
        found = chosen_functions(place, known.btf, known.facts, Environment(), 2)
        assert set(found.names) == set(there) - {"vfs_read" if "vfs_read" in beside else ""}
    assert len(tried) == ("none" in beside)
    assert next(matched) <= 3 * len(there)


def test_what_was_found_to_fit_nothing_is_not_looked_for_again(monkeypatch) -> None:
    known = kernel("7.2")
    tried: list[Glob] = []

    def none(self: Glob, texts: Iterable[str]) -> list[str]:
        tried.append(self)
        return []

    monkeypatch.setattr(Glob, "among", none)
    for _ in range(3):
        with pytest.raises(CannotLower):
            chosen_functions(ProbePlace("no_such_*,none_*"), known.btf, known.facts, Environment(), 2)
    assert len(tried) == 2
