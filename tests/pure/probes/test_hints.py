"""What is said besides the kernel's own words: the way out is a real one, and no suggestion leaves all as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probes.check import check, check_plan, check_typed, lowers_to_same_line
from probes.corrections.corrections import corrected
from probes.kernel_verdict import kernel_verdict
from probes.lowering.lower import lower
from probes.rules.messages.hints import hint_for
from probes.syntax.parse import parse_probe
from probes.verdict import Refusal, Verdict
from tests.probes_data import KERNELS, environment, kernel


def by_kernel(command: str, name: str = "7.2") -> Refusal:
    btf, facts, _ = kernel(name)
    error = kernel_verdict(command, btf, facts, environment=environment(name)).error
    assert error is not None
    return error


def lowered(spec: str, name: str = "7.2") -> Refusal:
    btf, facts, _ = kernel(name)
    error = check(spec, btf, facts).error
    assert error is not None
    return error


def test_what_stands_there_is_no_suggestion() -> None:
    assert hint_for("NO_BTF_FIELD", "f_pos", ("f_pos",)) == ("The structure has no member of this name", ())
    hint, nearest = hint_for("NO_BTF_FIELD", "f_pos", ("f_pos", "f_pps"))
    assert nearest == ("f_pps",)
    assert hint.endswith("did you mean f_pps?")
    assert hint_for("", "x", (), "Do this") == ("Do this", ())


@pytest.mark.parametrize(
    ("path", "code", "hint"),
    [
        ("file->f_path.dentry.d_name", "BAD_BTF_TID", "`dentry` is a pointer: use `->`"),
        ("file->f_path.dentry.d_nam", "BAD_BTF_TID", "`dentry` is a pointer: use `->`"),
        ("file->f_path->dentry", "NO_PTR_STRCT", "`f_path` is a structure, no pointer: use `.`"),
        ("file->f_path->dentri", "NO_PTR_STRCT", "`f_path` is a structure, no pointer: use `.`"),
        ("file->f_pos.x", "BAD_BTF_TID", "This is no struct, so it has no members"),
        ("file->f_path.dentry->d_name.name.x", "BAD_BTF_TID", "This is no struct, so it has no members"),
    ],
)
def test_the_wrong_operator_is_named(path: str, code: str, hint: str) -> None:
    for error in (by_kernel(f"f vfs_read {path}"), lowered(f"f vfs_read%both {path}")):
        assert (error.code, error.hint, error.nearest) == (code, hint, ())


@pytest.mark.parametrize(
    ("word", "code", "nearest"),
    [
        ("prev_pid", "NOSUP_BTFARG", "$prev_pid"),
        ("prev_pdi", "NOSUP_BTFARG", "$prev_pid"),
        ("x=prev_pid:u64", "NOSUP_BTFARG", "$prev_pid"),
        ("zz", "NOSUP_BTFARG", ""),
    ],
)
def test_a_field_of_an_event_wants_a_dollar(word: str, code: str, nearest: str) -> None:
    for name, its_code in (("6.1", "BAD_FETCH_ARG"), ("7.2", code)):
        error = by_kernel(f"e sched/sched_switch {word}", name)
        assert error.code == its_code
        assert error.hint.startswith("A field of the event is written with a $")
        assert error.nearest[:1] == ((nearest,) if nearest else ())
        assert "$arg" not in error.hint


def test_no_such_field_of_an_event() -> None:
    error = by_kernel("e sched/sched_switch $prev_pdi")
    assert (error.code, error.nearest[0]) == ("BAD_VAR", "prev_pid")
    assert error.hint == "The event has no field of this name; did you mean prev_pid?"


@pytest.mark.parametrize("name", ["6.1", "6.12", "7.2"])
def test_a_synthetic_event_begins_with_its_name(name: str) -> None:
    assert "`s:NAME`" in by_kernel("s foo int x", name).hint
    assert "s:NAME" not in by_kernel("z foo int x", name).hint


@pytest.mark.parametrize(
    ("spec", "back"),
    [
        ("p vfs_read+3", True),
        ("p:my/own vfs_read+3", True),
        ("f vfs_read%return count x=file->f_path.dentry:%pd", False),
        ("f vfs_read", False),  # a kprobe has the same words behind another letter
        ("f:my/own vfs_read x=$arg1:u64", False),
    ],
)
def test_what_would_be_refused_again_is_no_way_out(spec: str, back: bool) -> None:
    name = "7.2" if back else "6.1"
    btf, facts, _ = kernel(name)
    refused = check_plan(spec, btf, facts).verdict
    assert not refused.ok
    typed = check_typed(spec, btf, facts)
    assert typed.verdict.ok is not back
    assert (typed.plan is None) is back
    if back:
        assert typed.verdict == refused
        assert lowers_to_same_line(refused, lower(parse_probe(spec), btf, facts, "g"))


def test_another_name_is_a_way_out() -> None:
    btf, facts, _ = kernel("7.2")
    plan = lower(parse_probe("f vfs_read count"), btf, facts, "g")
    words = "f:a/b vfs_read count"
    assert not lowers_to_same_line(Verdict(words, Refusal("SAME_PROBE", "", 0)), plan)
    assert not lowers_to_same_line(Verdict(words), plan)
    assert lowers_to_same_line(Verdict(words, Refusal("NO_BTFARG", "", len("f:a/b vfs_read "))), plan)


@pytest.mark.parametrize(("name", "code"), [("6.1", "BAD_VAR"), ("7.2", "NOFENTRY_ARGS")])
def test_arguments_of_a_program_are_in_registers_of_this_machine(name: str, code: str) -> None:
    error = by_kernel("p /bin/sh:0x20000 $arg1", name)
    assert (error.code, error.hint.endswith(": %di %si %dx %cx %r8 %r9")) == (code, True)
    btf, facts, _ = kernel(name)
    for machine, ends in (("aarch64", "%x6 %x7"), ("riscv64", "%a6 %a7")):
        elsewhere = kernel_verdict("p /bin/sh:0x20000 $arg1", btf, replace(facts, machine=machine)).error
        assert elsewhere is not None
        assert elsewhere.hint.endswith(ends)
    assert "%di" not in by_kernel("p vfs_read+8 $arg1", name).hint
    assert "%di" not in by_kernel("p /bin/sh:0x20000 $nothing", name).hint


@pytest.mark.parametrize("name", KERNELS)
def test_an_array_without_a_type_is_a_number(name: str) -> None:
    btf, facts, _ = kernel(name)
    plan = check_typed("f wake_up_new_task p->comm y=p->comm:string z=p->comm:x8[4]", btf, facts).plan
    assert plan is not None
    assert plan.losses == ("comm: an array; its first bytes are shown as a number; :string shows it",)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            "f vfs_read%both buf file->f_flags $retval",
            "buf: its address is recorded, not the text: buf:ustring gives it from the task's memory,"
            " buf:string from the kernel's",
        ),
        ("f vfs_read b=buf", "b: its address is recorded, not the text: buf:ustring gives it from"),
        (
            "f vfs_read file->f_path.dentry->d_name.name",
            "name: its address is recorded, not the text: file->f_path.dentry->d_name.name:string gives it",
        ),
        ("f vfs_read buf:ustring", ""),
        ("f vfs_read buf:string", ""),
        ("f vfs_read buf:x64", ""),
        ("f vfs_read $$args", ""),
    ],
)
def test_a_pointer_to_text_without_a_type_is_said_to_be_an_address(name: str, text: str, note: str) -> None:
    btf, facts, _ = kernel(name)
    plan = check_typed(text, btf, facts).plan
    assert plan is not None
    told = [loss for loss in plan.losses if "address" in loss]
    assert len(told) == bool(note) and all(loss.startswith(note) for loss in told)


def test_a_pointer_to_text_of_a_tracepoint_is_said_to_be_an_address() -> None:
    btf, facts, _ = kernel("7.2")
    name = "prev->mm->exe_file->f_path.dentry->d_name.name"
    plan = check_typed(f"t sched_switch {name} x={name}:string prev->comm", btf, facts).plan
    assert plan is not None
    assert plan.losses == (
        f"name: its address is recorded, not the text: {name}:string gives it",
        "comm: an array; its first bytes are shown as a number; :string shows it",
    )


@pytest.mark.parametrize("name", KERNELS)
def test_a_bit_field_with_a_type_is_more_than_its_bits(name: str) -> None:
    """The kernel then takes whole bytes (traceprobe_parse_probe_arg_body asks BTF for bits without a type only)."""
    btf, facts, _ = kernel(name)
    plan = check_typed("f wake_up_new_task x=p->in_execve:u8 p->in_execve y=p->in_execve:b1@0/8", btf, facts).plan
    assert plan is not None
    assert plan.losses == ("x: it has one bit, u8 shows what lies beside it too; without a type it is alone",)


@pytest.mark.parametrize(
    ("words", "notes"),
    [
        ("count:string", ("count: a number read as an address of text gives (fault)",)),
        ("x=count:ustring[2]", ("x: a number read as an address of text gives (fault)",)),
        ("file->f_path.dentry->d_name", ("d_name: a structure; its first bytes are shown as a number",)),
        ("file->f_path", ("f_path: a structure; its first bytes are shown as a number",)),
        ("file->f_path.dentry->d_name:u64", ()),
        ("x=file->f_flags:x64", ("x: it has 32 bits, x64 shows what lies beside it too",)),
        ("file->f_flags:x32 count:u8 file:u64", ()),
        ("file->f_path.dentry->d_name.name:string", ()),
        ("buf:ustring buf:string count file->f_pos file->f_inode->i_writecount", ()),
        ("$$args", ()),
    ],
)
def test_what_is_taken_but_hardly_meant_is_noted(words: str, notes: tuple[str, ...]) -> None:
    btf, facts, _ = kernel("7.2")
    for at in ("", "%both"):
        plan = check_typed(f"f vfs_read{at} {words}", btf, facts).plan
        assert plan is not None
        assert plan.losses == notes


HUGE = "99999999999999999999"
TOO_LARGE = "The number is too large: at most "


@pytest.mark.parametrize(
    ("spec", "most"),
    [
        (f"f vfs_read x=+{HUGE}(count):u64", "0x7fffffffffffffff"),
        ("p:u/x vfs_read x=+0x8000000000000000(%di)", "0x7fffffffffffffff"),
        (f"f vfs_read @{HUGE}", "0xffffffffffffffff"),
        ("f vfs_read @0x1" + "0" * 16, "0xffffffffffffffff"),
        (f"p vfs_read x=\\{HUGE}", "0xffffffffffffffff"),
        (f"p vfs_read+{HUGE}", "0xffffffffffffffff"),
        (f"p 0x{HUGE}", "0xffffffffffffffff"),
        (f"f vfs_read count if count > {HUGE}", "0xffffffffffffffff"),
        (f"f vfs_read x=+{'9' * 45}(count)", "0x7fffffffffffffff"),
    ],
)
def test_a_number_that_is_too_large_is_said_to_be_so(spec, most):
    assert lowered(spec).hint == f"{TOO_LARGE}{most}"


@pytest.mark.parametrize("number", ["+99x", "+09", "+0x", "+x"])
def test_what_is_no_number_is_not_said_to_be_too_large(number):
    assert "number: +8($arg1)" in lowered(f"f vfs_read x={number}(count)").hint


def test_a_number_is_not_put_right_as_a_text():
    btf, facts, _ = kernel("7.2")
    text = f"p vfs_read x=\\{HUGE}"
    assert corrected(text, check(text, btf, facts), lambda other: check(other, btf, facts)) == ""


@pytest.mark.parametrize(
    ("message", "clause"),
    [
        ("This field is not found.", "This field is not found"),
        ("Invalid memory address", "Invalid memory address"),
        ("without name etc.", "without name etc."),
        ("of the form: <name> field[;field] ...", "of the form: <name> field[;field] ..."),
    ],
)
def test_no_full_stop_stands_before_a_colon(message, clause):
    assert Refusal("X", message, hint="a way out").clause == clause
