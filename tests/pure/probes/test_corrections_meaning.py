"""What is put right means what was typed: nothing of it is lost, and nothing is offered where that can't be."""

from __future__ import annotations

import pytest

from probes.check import check_plan, check_typed, refuse_unknown_tracepoint
from probes.command import CommandText
from probes.corrections.corrections import corrected
from probes.facts.lookups import Environment, StaticEventField
from probes.rules.messages.guesses import guess_type
from probes.rules.messages.hints import hint_for
from probes.verdict import Refusal, Verdict
from tests.probes_data import kernel
from tests.pure.probes.test_beginner import verdict

FIELDS = (StaticEventField("prev_comm", "char[16]", 16), StaticEventField("prev_pid", "pid_t", 4, signed=True))
AROUND = Environment(lambda group, event: FIELDS if (group, event) == ("sched", "sched_switch") else None)


def put_right(text: str) -> str:
    found = verdict(text)
    assert not found.ok
    right = corrected(text, found, verdict)
    assert not right or verdict(right).ok
    return right


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("f sys_read", "f __x64_sys_read"),
        ("f openat", "f __x64_sys_openat"),
        ("f vfs_raed", "f vfs_read"),
        ("f vfs-read", "f vfs_read"),
        ("f vfsread", "f vfs_read"),
        ("f kmem_alloc", ""),
        ("f ext4_readpage", ""),
        ("f vfs_write_end", ""),
        ("f mutex_lock", ""),
    ],
)
def test_another_function_is_not_what_was_meant(wrong: str, right: str) -> None:
    """The best name comes first; behind one that is not alike are others, which are still less so."""
    near = {
        "f sys_read": ("__x64_sys_read", "fb_sys_read"),
        "f openat": ("__x64_sys_openat", "io_openat"),
        "f vfsread": ("vfs_read",),
        "f vfs-read": ("vfs_read",),
        "f vfs_raed": ("vfs_read", "vfs_readv"),
        "f kmem_alloc": ("execmem_alloc", "kmem_alloc_x"),
        "f ext4_readpage": ("ext4_readpage_inline",),
        "f vfs_write_end": ("vfs_write_begin",),
        "f mutex_lock": ("mutex_unlock",),
    }[wrong]
    refused = Verdict(wrong, Refusal("BAD_PROBE_ADDR", "", 2, wrong[2:], nearest=near))
    assert corrected(wrong, refused, Verdict) == right


def test_behind_one_that_is_not_alike_nothing_is_taken() -> None:
    refused = Verdict("f sys_read", Refusal("BAD_PROBE_ADDR", "", 2, "sys_read", nearest=("do_it", "sys_reed")))
    assert corrected("f sys_read", refused, Verdict) == ""


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ('f vfs_read if comm = "x=y"', 'f vfs_read if comm == "x=y"'),
        (
            'f vfs_read count if comm = "rock and roll" and count > 5',
            'f vfs_read count if comm == "rock and roll" && count > 5',
        ),
        ("f vfs_read if comm = 'a or b'", "f vfs_read if comm == 'a or b'"),
        ('f vfs_raed count if comm == "a  b"', 'f vfs_read count if comm == "a  b"'),
        (
            'f  vfs_read  count if comm == "a  b" && cuont > 3',
            'f vfs_read count if comm == "a  b" && count > 3',
        ),
        ('f vfs_read count if comm == "a if b" && count = 3', 'f vfs_read count if comm == "a if b" && count == 3'),
        ('f vfs_read(count) if comm == "a,b"', 'f vfs_read count if comm == "a,b"'),
        ("f vfs_read count if comm == sh && count == 5", 'f vfs_read count if comm == "sh" && count == 5'),
        ("f vfs_read count if comm == 5 && count == 5", 'f vfs_read count if comm == "5" && count == 5'),
        ("f vfs_read count if comm == 'sh", "f vfs_read count if comm == 'sh'"),
        ('f vfs_read count if comm == "sh && count > 5', 'f vfs_read count if comm == "sh" && count > 5'),
        ('f vfs_read count if comm == "sh && cuont > 5', 'f vfs_read count if comm == "sh" && count > 5'),
        ('f vfs_read count if (comm == "sh', 'f vfs_read count if (comm == "sh")'),
        ('f vfs_read count if comm == "my shell', 'f vfs_read count if comm == "my shell"'),
        ("f vfs_read if comm == it's", ""),
        ("f vfs_read count pos if (count > 5 || pos > 3 && count < 2", ""),
        ("f vfs_read count pos if count > 5 || pos > 3) && count < 2", ""),
        ('f vfs_read count if count > 5) && comm == "a)"', 'f vfs_read count if (count > 5) && comm == "a)"'),
        ("f vfs_read count if pid == 5", "f vfs_read count if common_pid == 5"),
        ("f vfs_read%return ret if ret < 0", "f vfs_read%return $retval if ret < 0"),
    ],
)
def test_a_condition(wrong: str, right: str) -> None:
    assert put_right(wrong) == right


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("count:u128", ""),
        ("count:u80", ""),
        ("count:d64", ""),
        ("count:u63", "count:u64"),
        ("count:x", "count:x64"),
        ("count:u", "count:u64"),
        ("file->f_flags:x", "file->f_flags:x32"),
        ("file->f_flags:hex", "file->f_flags:x32"),
        ("+0(buf):x", ""),
        ("count:i64", "count:s64"),
        ("count:unsigned", "count:u32"),
        ("count:unsigned long", "count:u64"),
        ("count:unsigned int pos", "count:u32 pos"),
        ("count:long long", "count:s64"),
        ("count:u_int32_t", "count:u32"),
        ("count:umode_t", "count:u16"),
        ("count:gfp_t", "count:u32"),
        ("count:off_t", "count:s64"),
        ("buf:char *", "buf:string"),
        ("buf:const char * pos", "buf:string pos"),
        ("buf:unsigned char *", ""),
        ("buf:string64", ""),
    ],
)
def test_a_type_is_as_wide(wrong: str, right: str) -> None:
    assert put_right(f"f vfs_read {wrong}") == (right and f"f vfs_read {right}")


def test_a_type_without_types_of_the_kernel() -> None:
    assert guess_type("gfp_t", 64) == ""
    assert (guess_type("ptr", 32), guess_type("ulong", 32), guess_type("x", 64)) == ("x32", "u32", "")
    assert [guess_type(kind, 32) for kind in ("%p", "%lld", "%lu")] == ["x32", "s64", "u32"]
    assert [guess_type(kind, 64) for kind in ("%p", "%lld", "%lu")] == ["x64", "s64", "u64"]
    assert guess_type("u_int8_t", 64) == guess_type("uint8_t", 64) == "u8"
    assert hint_for("BAD_TYPE", "u128", ("u8", "u64"))[1] == ()


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("f vfs_read file count;pos", "f vfs_read file count pos"),
        ("f vfs_read count>5", "f vfs_read count if count > 5"),
        ("f vfs_read count==5", "f vfs_read count if count == 5"),
        ("f vfs_read count>5 pos", ""),
        ("f vfs_read file->f_poss>5", ""),
        ("f vfs_read $stak5", ""),
        ("p vfs_read %sp+8", ""),
        ("p vfs_read %x0", ""),
        ("p vfs_read %pc", "p vfs_read %ip"),
        ("p vfs_read %rdi", "p vfs_read %di"),
        ("t sched_switch prev_pid", ""),
        ("f vfs_read (char *)buf", "f vfs_read buf:string"),
        ("f vfs_read x=(unsigned long)count", "f vfs_read x=count:u64"),
        ("f vfs_read (int *)pos", ""),
        ("f vfs_read (struct dentry *)file->f_pos", ""),
        ("f vfs_read &file->f_pos", ""),
        ("f vfs_read arg4", "f vfs_read $arg4"),
        ("f vfs_read%5", ""),
    ],
)
def test_no_part_of_an_argument_goes(wrong: str, right: str) -> None:
    assert put_right(wrong) == right


@pytest.mark.parametrize("wrong", ["f vfs_read count>5", "f vfs_read file->f_poss>5", "t sched_switch prev_pid"])
def test_nor_does_the_name_that_is_offered(wrong: str) -> None:
    error = verdict(wrong).error
    assert error is not None and error.nearest == ()


@pytest.mark.parametrize("number", [0, 5])
def test_an_argument_that_there_is_not(number: int) -> None:
    error = verdict(f"f vfs_read arg{number}").error
    assert error is not None
    assert (error.hint, error.nearest) == ("The function takes 4 arguments: file, buf, count, pos", ())


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("tracepoint:syscalls:sys_enter_openat", "e syscalls.sys_enter_openat"),
        ("t syscalls:sys_enter_openat", "e syscalls.sys_enter_openat"),
        ("tracepoint:sched:sched_switch", "t sched_switch"),
        ("tracepoint:sched:sched_swich", "t sched_switch"),
        ("tracepoint:foo:bar_baz", ""),
    ],
)
def test_a_tracepoint_that_is_not_there_is_not_what_was_meant(wrong: str, right: str) -> None:
    facts = kernel("7.2").facts
    assert (
        corrected(
            wrong,
            verdict(wrong),
            lambda other: refuse_unknown_tracepoint(CommandText.parse(other), verdict(other), facts),
        )
        == right
    )


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("e:x sched.sched_switch prev_comm", "e:x sched.sched_switch $prev_comm"),
        ("e sched.sched_switch $prev_pid if pid == 3", "e sched.sched_switch $prev_pid if common_pid == 3"),
        (
            'e sched.sched_switch $prev_pid if prev_comm == "a  b" && prev_pi = 3',
            'e sched.sched_switch $prev_pid if prev_comm == "a  b" && prev_pid == 3',
        ),
    ],
)
def test_an_event(wrong: str, right: str) -> None:
    known = kernel("7.2")

    def check(text: str) -> Verdict:
        return check_plan(text, known.btf, known.facts, environment=AROUND).verdict

    assert corrected(wrong, check(wrong), check) == right


def test_a_number_that_is_refused_comes_back() -> None:
    """Lowering keeps the letter and its number, which the kernel would refuse again."""
    known = kernel("7.2")
    typed = check_typed("r99999 vfs_read", known.btf, known.facts)
    assert typed.verdict.error is not None and typed.verdict.error.code == "MAXACT_TOO_BIG"
    assert typed.plan is None
