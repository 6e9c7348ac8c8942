"""What is typed by somebody who has not written a probe before: the kernel's error, and the text that was meant."""

from __future__ import annotations

import pytest

from probes.attaching.catalog import Catalog
from probes.attaching.explain import explain_refusal, refused_function
from probes.attaching.values import ReasonKind
from probes.check import check_plan, check_typed
from probes.corrections.corrections import corrected
from probes.verdict import Verdict
from tests.probes_data import kernel

WRONG = [
    # the kind
    ("vfs_read count", "NO_MATCHING_TYPE", "f vfs_read count"),
    ("vfs_read%return $retval", "NO_MATCHING_TYPE", "f vfs_read%return $retval"),
    ("fvfs_read count", "BAD_MAXACT", "f vfs_read count"),
    ("x vfs_read", "NO_MATCHING_TYPE", "f vfs_read"),
    ("kprobe:vfs_read", "NO_MATCHING_TYPE", "p vfs_read"),
    ("kretprobe:vfs_read $retval", "NO_MATCHING_TYPE", "r vfs_read $retval"),
    ("fexit vfs_read $retval", "BAD_MAXACT", "f vfs_read%return $retval"),
    ("tracepoint:sched:sched_switch", "NO_MATCHING_TYPE", "t sched_switch"),
    ("s lat u64 lat", "NO_MATCHING_TYPE", "s:lat u64 lat"),
    # the event's name
    ("f: vfs_read", "NO_EVENT_NAME", "f vfs_read"),
    ("p:/x vfs_read", "NO_GROUP_NAME", "p:x vfs_read"),
    ("p:my/my-event vfs_read", "BAD_EVENT_NAME", "p:my/my_event vfs_read"),
    ("p:1a vfs_read", "BAD_EVENT_NAME", "p:_1a vfs_read"),
    # the place
    ("f vfs_read(count)", "BAD_PROBE_ADDR", "f vfs_read count"),
    ("f vfs_read(file, count)", "NO_BTF_ENTRY", "f vfs_read file count"),
    ("f vfs_read:count", "BAD_PROBE_ADDR", "f vfs_read count"),
    ("f vfs_read+0x20", "BAD_PROBE_ADDR", "p vfs_read+0x20"),
    ("f VFS_READ", "BAD_PROBE_ADDR", "f vfs_read"),
    ("f vfs-read", "BAD_PROBE_ADDR", "f vfs_read"),
    ("p /bin/bash 0x1000", "BAD_PROBE_ADDR", "p /bin/bash:0x1000"),
    ("f vfs_read%exit", "BAD_ADDR_SUFFIX", "f vfs_read%return"),
    ("f vfs_read%entry count", "BAD_ADDR_SUFFIX", "f vfs_read count"),
    # what an argument begins with
    ("f vfs_read %di", "BAD_FETCH_ARG", "p vfs_read %di"),
    ("f vfs_read $file", "BAD_VAR", "f vfs_read file"),
    ("f vfs_read *pos", "BAD_FETCH_ARG", "f vfs_read pos[0]"),
    ("f vfs_read p=*pos:u64", "BAD_FETCH_ARG", "f vfs_read p=pos[0]:u64"),
    ("f vfs_read x= count", "NO_ARG_BODY", "f vfs_read x=count"),
    ("f vfs_read &file", "BAD_FETCH_ARG", "f vfs_read file"),
    ("f vfs_read $ret", "BAD_VAR", "f vfs_read $retval"),
    ("p vfs_read $ret", "BAD_VAR", "p vfs_read%return $retval"),
    ("r vfs_read retval", "NO_BTFARG", "r vfs_read $retval"),
    ("f vfs_read return", "NO_BTFARG", "f vfs_read $retval"),
    ("f vfs_read comm", "NO_BTFARG", "f vfs_read $comm"),
    ("f vfs_read $args", "BAD_VAR", "f vfs_read $$args"),
    ("f vfs_read args", "NO_BTFARG", "f vfs_read $$args"),
    ("f vfs_read arg1", "NO_BTFARG", "f vfs_read $arg1"),
    ("f vfs_read $arg1->f_pos", "BAD_VAR", "f vfs_read file->f_pos"),
    ("f vfs_read f_pos", "NO_BTFARG", "f vfs_read file->f_pos"),
    ("f vfs_read FILE", "NO_BTFARG", "f vfs_read file"),
    ("p vfs_read rdi", "NO_BTFARG", "p vfs_read %di"),
    ("p vfs_read di", "NO_BTFARG", "p vfs_read %di"),
    ("p vfs_read 8(%di)", "BAD_FETCH_ARG", "p vfs_read +8(%di)"),
    ("p vfs_read +8%di", "DEREF_NEED_BRACE", "p vfs_read +8(%di)"),
    ("p vfs_read x=+8(%di:u32", "DEREF_OPEN_BRACE", "p vfs_read x=+8(%di):u32"),
    ("p vfs_read +(%di)", "BAD_DEREF_OFFS", "p vfs_read +0(%di)"),
    ('f vfs_read "hello"', "BAD_FETCH_ARG", 'f vfs_read \\"hello"'),
    ('f vfs_read \\"hello', "IMMSTR_NO_CLOSE", 'f vfs_read \\"hello"'),
    ("f vfs_read \\hello", "BAD_IMM", 'f vfs_read \\"hello"'),
    ("f vfs_read (u64)count", "TYPECAST_NOT_EVENT", "f vfs_read count:u64"),
    ("f vfs_read (struct file *)file", "TYPECAST_NOT_EVENT", "f vfs_read file"),
    ("f vfs_read count, pos", "NO_BTFARG", "f vfs_read count pos"),
    ("f vfs_read count;", "NO_BTFARG", "f vfs_read count"),
    # the path
    ("f vfs_read file->dentry", "NO_BTF_FIELD", "f vfs_read file->f_path.dentry"),
    (
        "f vfs_read file->f_path.dentry->d_name:string",
        "BAD_TYPE4STR",
        "f vfs_read file->f_path.dentry->d_name.name:string",
    ),
    (
        "f vfs_read file->f_path.dentry->d_iname:string",
        "NO_BTF_FIELD",
        "f vfs_read file->f_path.dentry->d_name.name:string",
    ),
    ("f vfs_read file:string", "BAD_TYPE4STR", "f vfs_read file:%pD"),
    ("f vfs_read file->f_path:string", "BAD_TYPE4STR", "f vfs_read file->f_path.dentry:%pd"),
    # the type
    ("f vfs_read count:int", "BAD_TYPE", "f vfs_read count:s32"),
    ("f vfs_read count:size_t", "BAD_TYPE", "f vfs_read count:u64"),
    ("f vfs_read count:uint16_t", "BAD_TYPE", "f vfs_read count:u16"),
    ("f vfs_read count:lx", "BAD_TYPE", "f vfs_read count:x64"),
    ("f vfs_read count:%d", "BAD_TYPE", "f vfs_read count:s32"),
    ("f vfs_read buf:str", "BAD_TYPE", "f vfs_read buf:string"),
    ("f vfs_read $comm:u8", "NEED_STRING_TYPE", "f vfs_read $comm"),
    ("f vfs_read +0(buf):u8[100]", "ARRAY_TOO_BIG", "f vfs_read +0(buf):u8[64]"),
    ("f vfs_read +0(buf):u8[4", "ARRAY_NO_CLOSE", "f vfs_read +0(buf):u8[4]"),
    # the name
    ("f vfs_read a=count a=pos", "USED_ARG_NAME", "f vfs_read a=count a_2=pos"),
    ("f vfs_read 1x=count", "BAD_ARG_NAME", "f vfs_read _1x=count"),
    ("f vfs_read my-name=count", "BAD_ARG_NAME", "f vfs_read my_name=count"),
    ("f vfs_read x=$arg*", "BAD_VAR", "f vfs_read $arg*"),
    ("f vfs_read $arg* $arg*", "DOUBLE_ARGS", "f vfs_read $arg*"),
    # the condition
    ("f vfs_read count if count = 5", "INVALID_OP", "f vfs_read count if count == 5"),
    ("f vfs_read count if count => 5", "INVALID_OP", "f vfs_read count if count >= 5"),
    (
        "f vfs_read count if count>4096 and count<9000",
        "TOO_MANY_PREDS",
        "f vfs_read count if count>4096 && count<9000",
    ),
    ("f vfs_read count where count > 5", "NO_BTFARG", "f vfs_read count if count > 5"),
    ("f vfs_read count if cuont > 5", "unknown_filter_field", "f vfs_read count if count > 5"),
    ('f vfs_read count if comm == "sh', "MISSING_QUOTE", 'f vfs_read count if comm == "sh"'),
    ("f vfs_read count if (count > 5", "TOO_MANY_OPEN", "f vfs_read count if (count > 5)"),
    ("f vfs_read count if", "no_filter", "f vfs_read count"),
    ("f vfs_read count if count > 4k", "ILLEGAL_INTVAL", "f vfs_read count if count > 4096"),
    ("f vfs_read count > 10", "BAD_FETCH_ARG", "f vfs_read count if count > 10"),
    ("f vfs_read count >4KiB", "BAD_FETCH_ARG", "f vfs_read count if count > 4096"),
    ("f vfs_read count = 10", "NO_ARG_NAME", "f vfs_read count if count == 10"),
    ("f vfs_read count != 0", "BAD_ARG_NAME", "f vfs_read count if count != 0"),
    ("f vfs_read buf n=count > 10", "BAD_FETCH_ARG", "f vfs_read buf n=count if n > 10"),
    ("f vfs_read file->f_pos > 1", "BAD_FETCH_ARG", "f vfs_read file->f_pos if f_pos > 1"),
    ("f vfs_read $retval < 0", "BAD_FETCH_ARG", "f vfs_read $retval if ret < 0"),
    ("f vfs_read count > 10 && pos > 3", "BAD_FETCH_ARG", "f vfs_read count pos if count > 10 && pos > 3"),
]
"""What is typed, the kernel's error (7.2), and what was meant."""


def verdict(text: str, name: str = "7.2") -> Verdict:
    known = kernel(name)
    found = check_plan(text, known.btf, known.facts).verdict
    if not (function := refused_function(found)):
        return found
    catalog = Catalog(known.btf, known.facts)
    about = catalog.attachability(function)
    return explain_refusal(found, about, catalog.near(function) if about.has(ReasonKind.UNKNOWN) else ())


@pytest.mark.parametrize(("wrong", "code", "right"), WRONG)
def test_what_was_meant(wrong: str, code: str, right: str) -> None:
    found = verdict(wrong)
    assert found.error is not None
    assert found.error.code == code
    assert found.error.hint, "no way out is told"
    assert corrected(wrong, found, verdict) == right
    assert verdict(right).ok


@pytest.mark.parametrize(
    ("wrong", "code", "hint"),
    [
        ("f vfs_read $arg9", "NO_BTFARG", "The function takes 4 arguments: file, buf, count, pos"),
        ("f vfs_read pid", "NO_BTFARG", "The task's pid is in every event, and a filter has it as common_pid"),
        ("f vfs_read file->", "NO_BTF_FIELD", "The name of a member follows the ->"),
        (
            "p /bin/bash",
            "BAD_PROBE_ADDR",
            "A place in a program is PATH:FUNCTION or PATH:OFFSET, and its letter p or r",
        ),
        ("-:foo", "refused_without_message", "There is no such event"),
        ("e sched_switch", "NO_EVENT_INFO", "Name the event to sit on: GROUP.EVENT"),
    ],
)
def test_what_has_no_one_way_out_is_explained(wrong: str, code: str, hint: str) -> None:
    found = verdict(wrong)
    assert found.error is not None
    assert (found.error.code, found.error.hint) == (code, hint)
    assert corrected(wrong, found, verdict) == ""


@pytest.mark.parametrize("end", ["", " prev"])
def test_a_tracepoint_that_is_near(end: str) -> None:
    known = kernel("7.2")
    checked = check_plan(f"t sched_swich{end}", known.btf, known.facts)
    error = checked.verdict.error
    if end:
        assert error is not None and (error.code, error.nearest[0]) == ("NO_BTF_ENTRY", "sched_switch")
        assert corrected("t sched_swich prev", checked.verdict, verdict) == "t sched_switch prev"
    else:
        assert checked.plan is not None and "Did you mean sched_switch?" in checked.plan.losses[0]


def test_nothing_is_made_up_of_another_function() -> None:
    assert corrected("f kmalloc", verdict("f kmalloc"), verdict) == ""


@pytest.mark.parametrize(
    "text",
    [
        "f vfs_read count if count > 4kb",  # of 1000 or of 1024
        "f vfs_read f_pos=count file->f_pos > 1",  # of which of the two
        "f vfs_read count > ",
        "f vfs_read count & 1",
        "p /bin/sh:0x1234 $retval",  # where no function begins the program would break
    ],
)
def test_what_may_mean_something_else_is_left_alone(text: str) -> None:
    assert not verdict(text).ok
    assert corrected(text, verdict(text), verdict) == ""


@pytest.mark.parametrize("name", ["6.1", "6.12", "7.2"])
@pytest.mark.parametrize(
    ("text", "code", "caret", "nearest"),
    [
        ("t sched:sched_switch prev", "BAD_TP_NAME", ":sched_switch prev", "sched_switch"),
        ("t sched/sched_switch prev", "BAD_TP_NAME", "/sched_switch prev", "sched_switch"),
        ("f vfs_read arg1", "NO_BTFARG", "arg1", "$arg1"),
        ("f vfs_read f_pos", "NO_BTFARG", "f_pos", "file->f_pos"),
    ],
)
def test_what_is_typed_is_told_what_a_command_is(name: str, text: str, code: str, caret: str, nearest: str) -> None:
    """The application reads a text with `check_typed`, the commands with `check_plan`."""
    known = kernel(name)
    for check in (check_typed, check_plan) if name == "7.2" else (check_typed,):
        found = check(text, known.btf, known.facts).verdict
        assert found.error is not None
        assert (found.error.code, found.error.nearest[0]) == (code, nearest)
        assert found.command[found.error.column :] == caret


def test_an_exit_that_was_not_written_is_told() -> None:
    known = kernel("7.2")
    for text in ("f vfs_read $retval", "f vfs_read count x=$retval"):
        plan = check_plan(text, known.btf, known.facts).plan
        assert plan is not None and plan.losses == ("$retval is there at the exit only: recorded at the return",)
    for text in ("f vfs_read%return $retval", "r vfs_read $retval", "f vfs_read%both $retval", "f vfs_read count"):
        plan = check_plan(text, known.btf, known.facts).plan
        assert plan is not None and plan.losses == ()
