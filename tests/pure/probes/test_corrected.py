"""Refused texts put right: what is given is accepted, and by the fewest changes."""

from __future__ import annotations

import random

import pytest

from probes.check import check_plan, check_typed
from probes.corrections.corrections import corrected
from probes.facts.lookups import Environment, StaticEventField
from probes.verdict import Refusal, Verdict
from tests.probes_data import kernel

FIELDS = (StaticEventField("prev_comm", "char[16]", 16), StaticEventField("prev_pid", "pid_t", 4, signed=True))
EVENTS = ("sched/sched_switch", "sched/sched_wakeup", "syscalls/sys_enter_read")
AROUND = Environment(lambda group, event: FIELDS if f"{group}/{event}" in EVENTS else None, events=lambda: EVENTS)


def verdict(text: str, name: str = "7.2") -> Verdict:
    known = kernel(name)
    return check_plan(text, known.btf, known.facts, environment=AROUND).verdict


def put_right(text: str, name: str = "7.2") -> str:
    return corrected(text, verdict(text, name), lambda other: verdict(other, name))


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("f vfs_read fiel->f_pos", "f vfs_read file->f_pos"),
        ("f vfs_read  x=fiel->f_poss", "f vfs_read x=file->f_pos"),
        ("f vfs_read file.f_pos", "f vfs_read file->f_pos"),
        ("f vfs_read file-f_pos", "f vfs_read file->f_pos"),
        (
            "f vfs_read file->f_path->dentry->d_nam.name:sting",
            "f vfs_read file->f_path.dentry->d_name.name:string",
        ),
        ("p vfs_read $retval", "p vfs_read%return $retval"),
        ("f vfs_read%retrun $retval", "f vfs_read%return $retval"),
        ("p vfs_read %rdi:sting", "p vfs_read +0(%di):string"),
        ("f vfs_read $com", "f vfs_read $comm"),
        ("f vfs_read count if pos > 3", "f vfs_read count pos if pos > 3"),
        ("f vfs_read $$args if cont > 3", "f vfs_read $$args if count > 3"),
        ("f vfs_read count:s8 if count > 4096", "f vfs_read count:s16 if count > 4096"),
        ("f vfs_read n=$arg3:x8 pos if n == 0x12345678", "f vfs_read n=$arg3:x32 pos if n == 0x12345678"),
        ("f vfs_read%return $retval if ret == ENOENT", "f vfs_read%return $retval if ret == -ENOENT"),
        ("f vfs_read $comm if comm == bash", 'f vfs_read $comm if comm == "bash"'),
        ("t sched/sched_switch prev->pid", "t sched_switch prev->pid"),
        ("e sched/sched_swich $prev_comm", "e sched/sched_switch $prev_comm"),
        ("e sched.sched_swich $prev_pidd", "e sched.sched_switch $prev_pid"),
        ("e sched_switch $prev_pid", "e sched.sched_switch $prev_pid"),
        ("e sched/sched_switch prev_pid", "e sched/sched_switch $prev_pid"),
        ('e sched/sched_switch $prev_pid if prev_com ~ "a*"', 'e sched/sched_switch $prev_pid if prev_comm ~ "a*"'),
    ],
)
def test_one_slip_or_some(wrong: str, right: str) -> None:
    assert not verdict(wrong).ok
    assert put_right(wrong) == right
    assert verdict(right).ok


def test_the_name_of_an_error_becomes_no_other_by_itself() -> None:
    wrong = verdict("f vfs_read%return $retval if ret == -ENONT")
    assert wrong.error is not None
    assert "-ENOENT" in wrong.error.nearest
    assert put_right(wrong.command) == ""


@pytest.mark.parametrize(
    ("wrong", "code", "right"),
    [
        ("f vfs_read%ret", "BAD_ADDR_SUFFIX", "f vfs_read%return"),
        ("f vfs_read (u64)count", "BAD_FETCH_ARG", "f vfs_read count:u64"),
        ("f vfs_read $retvall", "BAD_VAR", "f vfs_read $retval"),
    ],
)
def test_a_kernel_without_the_kind_hides_no_slip(wrong: str, code: str, right: str) -> None:
    """6.1 has no `f`, and would refuse each of these without a word."""
    known = kernel("6.1")

    def judged(text: str) -> Verdict:
        return check_typed(text, known.btf, known.facts).verdict

    error = judged(wrong).error
    assert error is not None and error.code == code
    assert error.message and error.hint
    assert corrected(wrong, judged(wrong), judged) == right


@pytest.mark.parametrize("text", ["on sched/sched_switch", "e sched.sched_switch $prev_pid"])
def test_a_filter_compares_no_two_fields(text: str) -> None:
    """Neither another field nor the name of one as a text was meant."""
    wrong = f"{text} if prev_pid == prev_comm"
    error = verdict(wrong).error
    assert error is not None and (error.code, error.nearest) == ("INVALID_VALUE", ())
    assert "another field" in error.hint
    assert put_right(wrong) == ""
    swapped = f"{text} if prev_comm == prev_pid"
    assert put_right(swapped) == ""
    error = verdict(f"{text} if prev_pid == 1x").error
    assert error is not None and error.hint == "A number: 10, -1, 0x1f"


def test_a_field_without_a_sign_says_so() -> None:
    error = verdict("f vfs_read count if count == -1").error
    assert error is not None and error.code == "ILLEGAL_INTVAL" and "no sign" in error.hint


@pytest.mark.parametrize("text", ["f vfs_read zzzzzz->f_pos", "f", "x y z", "f vfs_read \\", "f vfs_read é->x"])
def test_nothing_is_made_up(text: str) -> None:
    assert put_right(text) == ""


def test_what_is_accepted_needs_nothing() -> None:
    assert put_right("f vfs_read count") == ""


def test_a_column_counts_bytes() -> None:
    text = 'f vfs_read x=\\"ö" fiel->f_pos'
    assert put_right(text) == 'f vfs_read x=\\"ö" file->f_pos'


def test_the_search_ends() -> None:
    """However many names are near, and whatever is said of what they lead to."""
    dice = random.Random(1)
    asked: list[str] = []

    def check(text: str) -> Verdict:
        asked.append(text)
        column = dice.randrange(len(text))
        names = tuple(f"n{dice.random()}" for _ in range(3))
        return Verdict(text, Refusal(f"C{dice.random()}", "", column, text[column : column + 2].strip(), "", names))

    assert corrected("f a b c d", check("f a b c d"), check) == ""
    assert len(asked) < 60


def test_an_event_that_is_no_event_has_others_near() -> None:
    error = verdict("e sched/sched_swich").error
    assert error is not None
    assert (error.code, error.token, error.nearest[0]) == (
        "BAD_ATTACH_EVENT",
        "sched/sched_swich",
        "sched/sched_switch",
    )
    nowhere = verdict("e shced/sched_switch").error
    assert nowhere is not None and "sched/sched_switch" in nowhere.nearest
