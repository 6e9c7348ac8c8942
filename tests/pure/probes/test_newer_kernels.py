"""Verdicts on what no kernel among the test data has: the grammar of 7.3, and what changed between 6.16 and 7.1."""

from __future__ import annotations

from dataclasses import replace

import pytest

from btf.btf import Btf
from probes.check import check_plan
from probes.facts.dialect import dialect_of
from probes.facts.facts import Feature, TargetFacts
from probes.kernel_verdict import kernel_verdict
from probes.rules import readers
from probes.syntax.refused import RefusedWord
from tests.probes_data import environment, kernel


def _answer(text: str) -> str:
    btf, facts, _ = kernel("7.2")
    facts = replace(facts, features=facts.features | {Feature.TYPECAST, Feature.CURRENT, Feature.THIS_CPU})
    error = kernel_verdict(text, btf, facts, environment=environment("7.2")).error
    return "ok" if error is None else f"{error.code} {error.column}"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("f vfs_read x=(file)$arg1->f_mode", "ok"),
        ("f vfs_read x=(file)($arg1)->f_inode->i_ino", "ok"),
        ("p vfs_read x=(file)+0(%di)->f_mode:u8", "ok"),
        ("f vfs_read x=(file,f_path.dentry)($arg1)->f_mode", "ok"),
        ("f vfs_read $current->comm:string", "ok"),
        ("f vfs_read x=(task_struct)($current)->comm:string", "ok"),
        ("e sched.sched_switch prev_pid", "ok"),
        ("f vfs_read x=(file)$arg1", "TYPECAST_REQ_FIELD 24"),
        ("f vfs_read x=(nosuch)file->f_mode", "NO_PTR_STRCT 14"),
        ("f vfs_read x=(nosuch)nofile->f_mode", "NO_BTFARG 21"),
        ("f vfs_read x=(file)file->nosuch", "NO_BTF_FIELD 25"),
        ("f vfs_read x=(task_struct,se->group_node)file->comm", "TYPECAST_BAD_ARROW 28"),
        ("f vfs_read x=(task_struct,in_execve)file->comm", "TYPECAST_NOT_ALIGNED 26"),
        ("f vfs_read x=(file)@jiffies+8->f_mode", "TYPECAST_SYM_OFFSET 19"),
        ("f vfs_read x=(file", "DEREF_OPEN_BRACE 18"),
        ("f vfs_read x=(file)(file->f_mode", "DEREF_OPEN_BRACE 19"),
        ("f vfs_read x=(file)+0(file->f_mode", "DEREF_OPEN_BRACE 34"),
        ("f vfs_read x=(file)+8->f_mode", "DEREF_NEED_BRACE 19"),
        ("p vfs_read+8 x=(file)%bx->f_mode", "NOSUP_BTFARG 15"),
        ("r 0xffffffff81000000 x=(file)%di->f_mode", "NOSUP_BTFARG 23"),
        ("f vfs_read x=(file,)file->f_mode", "NO_BTF_FIELD 19"),
        ("f vfs_read x=(file,nosuch->b)file->f_mode", "NO_BTF_FIELD 19"),
        ("f vfs_read x=(file,f_path.dentry->b)file->f_mode", "TYPECAST_BAD_ARROW 32"),
        ("f vfs_read x=(file,f_path.dentry-b)file->f_mode", "BAD_HYPHEN 32"),
        ("f vfs_read x=(task_struct,in_execve.x)file->comm", "BAD_BTF_TID 36"),
        ("f vfs_read x=(task_struct,sched_reset_on_fork)file->comm", "ok"),
        ("f vfs_read x=$current:symstr", "BAD_SYMSTRING 22"),
        ("f vfs_read $current.pid", "BAD_VAR 11"),
        ("f vfs_read x=$current+1", "BAD_VAR 13"),
        ("f vfs_rea? x=\\1 $arg*", "NOSUP_BTFARG 16"),
        ("e sched.sched_switch prev_pid->x", "NO_EVENT_FIELD 21"),
        ("e sched.sched_switch x=(task_struct)prev_pid-x->comm", "TYPECAST_REQ_FIELD 52"),
        ("f vfs_read $currentx", "BAD_VAR 11"),
        ("e sched.sched_switch $current", "BAD_VAR 21"),
        ("p /bin/x:0x10 $current", "BAD_VAR 14"),
        ("p /bin/x:0x10 x=(file)%di->f_mode", "NOSUP_BTFARG 16"),
        ("p /bin/x:0x10 x=this_cpu_read(%di)", "NOSUP_PERCPU 16"),
        ("e sched.sched_switch x=this_cpu_ptr(@y)", "NOSUP_PERCPU 23"),
        ("e sched.sched_switch nosuch", "NO_EVENT_FIELD 21"),
        ("f vfs_read this_cpu_ptr()", "BAD_FETCH_ARG 24"),
        ("f vfs_read %di", "BAD_VAR 11"),
        ("f vfs_read file->f_mode:b9@0/8", "BAD_BITFIELD 30"),
        ("f vfs_read " + "+0(" * 8 + "$arg1" + ")" * 8, "ok"),
        ("f vfs_read " + "+0(" * 9 + "$arg1" + ")" * 9, "TOO_MANY_NESTED 35"),
    ],
)
def test_grammar_of_7_3(text: str, answer: str) -> None:
    assert _answer(text) == answer


def test_casts_cost_operations_like_dereferences() -> None:
    """Sixteen hops are one more than the kernel has room for, cast or not."""
    path = "->f_inode->i_sb->s_bdev->bd_disk->part0" + "->bd_disk->part0" * 5
    assert _answer(f"f vfs_read x=(file)file{path}").startswith("TOO_MANY_OPS")


@pytest.mark.parametrize("behind", ["->nosuch", "->parent->nosuch", "->pid", ""])
def test_room_ends_before_a_name_is_looked_for(behind: str) -> None:
    """The kernel stores a load before it reads the next member."""
    start = "f wake_up_new_task x=p"
    column = len(start + "->parent" * (15 if behind else 14)) + 2
    answer = _answer(f"{start}{'->parent' * 15}{behind}")
    assert answer == f"TOO_MANY_OPS {column}"


LARGE = " ".join(f"w{number}=@0:x64[64]" for number in range(7))
"""Fields of 3584 bytes."""


def _early(text: str, **changes: bool) -> str:
    """The answer of 7.2 with parts of its dialect as an earlier kernel has them."""
    btf, facts, _ = kernel("7.2")
    dialect = replace(dialect_of(facts, btf), **changes)
    reading = readers.RuleContext(dialect, btf, facts, environment("7.2"))
    words = text.split()
    try:
        readers.EVENT_READERS[words[0][0]](words, reading)
    except RefusedWord as error:
        return f"{error.refused.code} {error.index}+{error.refused.offset}"
    return "ok"


@pytest.mark.parametrize(
    ("text", "changes", "answer"),
    [
        ("e sched.sched_switch x=$nosuch", {"event_variable_at_name": True}, "BAD_VAR 2+0"),
        ("e sched.sched_switch x=$nosuch", {}, "BAD_VAR 2+2"),
        ("f vfs_read $arg0", {"typecast_known": False}, "NO_BTF_ENTRY 2+0"),
        ("t sched_switch $arg0", {"typecast_known": False}, "NO_BTFARG 2+0"),
        ("t sched_switch x=$nosuch $arg0", {"typecast_known": False}, "BAD_VAR 2+2"),
        ("f vfs_read $arg0", {}, "BAD_ARG_NUM 2+0"),
        ('f vfs_read x=\\"', {"lone_quote": True}, "ok"),
        ('f vfs_read x=\\"', {}, "IMMSTR_NO_CLOSE 2+4"),
        (f"p vfs_read {LARGE}", {"event_size": False}, "ok"),
        (f"p vfs_read {LARGE}", {}, "EVENT_TOO_BIG 8+3"),
        ("f vfs_read x=@nosuch", {"late_symbols": False}, "BAD_PROBE_ADDR 1+0"),
        ("f vfs_read x=@nosuch", {}, "ok"),
        ("f vfs_* $arg*", {"star_logged_once": False}, "BAD_VAR 2+0"),
        ("f vfs_* $arg*", {}, "NOSUP_BTFARG 2+0"),
    ],
)
def test_changes_that_no_readme_tells(text: str, changes: dict[str, bool], answer: str) -> None:
    assert _early(text, **changes) == answer


def test_marks_are_found_in_types() -> None:
    early, late = dialect_of(*_told("6.12")), dialect_of(*_told("7.2"))
    assert not (early.typecast_known or early.late_symbols or early.logs_no_match)
    assert late.typecast_known
    assert late.late_symbols
    assert late.logs_no_match
    assert not late.event_variable_at_name


def _told(name: str) -> tuple[TargetFacts, Btf]:
    btf, facts, _ = kernel(name)
    return replace(facts, readme=":mod:<module>"), btf


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("f vfs_open x=(path)$retval->dentry", "vfs_open%return x=(path)$retval->dentry"),
        ("f vfs_open x=this_cpu_read($retval)", "vfs_open%return x=this_cpu_read($retval)"),
        ("p vfs_read+0 x=(file)file->f_mode", "vfs_read+0 x=(file)file->f_mode"),
    ],
)
def test_what_a_cast_is_of_says_which_end_it_needs(text: str, place: str) -> None:
    """The kernel makes a return probe of each `$retval`, in a cast too: what it takes is armed so."""
    btf, facts, _ = kernel("7.2")
    facts = replace(facts, features=facts.features | {Feature.TYPECAST, Feature.CURRENT, Feature.THIS_CPU})
    checked = check_plan(text, btf, facts, environment=environment("7.2"))
    assert checked.plan is not None
    assert [line.split(" ", 1)[1] for line in checked.plan.lines] == [place]
