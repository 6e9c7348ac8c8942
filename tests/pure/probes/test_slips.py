"""Slips of people who come from bpftrace, perf probe or older guides: what is put right, on both ways in."""

from __future__ import annotations

import pytest

from kernel.connection.open_target import shipped_recording
from kernel.connection.planner import Planner
from kernel.hosts.arm_request import check_specification
from probes.attaching.spellings import closest, is_like
from probes.command import CommandText
from tui.__main__ import main
from tui.cli.specs.attach_text import with_corrections
from tui.compose import specification

SLIPS = [
    ("p:vfs_read count", "p vfs_read count"),
    ("p:vfs_read", "p vfs_read"),
    ("f:vfs_read count", "f vfs_read count"),
    ("r:vfs_read $retval", "r vfs_read $retval"),
    ("p:vfs_raed count", "p vfs_read count"),
    ("p vfs_raed", "p vfs_read"),
    ("p vfs_reda", "p vfs_read"),
    ("p vfsread", "p vfs_read"),
    ("p vfs_Read", "p vfs_read"),
    ("p VFS_READ", "p vfs_read"),
    ("p vfs-read", "p vfs_read"),
    ("p vfs_raed count", "p vfs_read count"),
    ("p vfs_rea", "p vfs_read"),
    ("p vfs_readd", "p vfs_read"),
    ("p sys_open", "p __x64_sys_open"),
    ("f sys_openat", "f __x64_sys_openat"),
    ("f SyS_open", "f __x64_sys_open"),
    ("f sys_read", "f __x64_sys_read"),
    ("f ksys_raed", "f ksys_read"),
    ("f do_sys_openat", "f do_sys_openat2"),
    ("f _do_fork", "f kernel_clone"),
    ("f do_fork", "f kernel_clone"),
    ("f __vfs_read", "f vfs_read"),
    ("f tcp_sendmesg", "f tcp_sendmsg"),
    ("f tcp_send_msg", "f tcp_sendmsg"),
    ("f vfs_read arg1", "f vfs_read $arg1"),
    ("f vfs_read arg0", "f vfs_read $arg1"),
    ("f vfs_read $arg0", "f vfs_read $arg1"),
    ("f vfs_read args->count", "f vfs_read count"),
    ("f vfs_read args.count", "f vfs_read count"),
    ("f vfs_read file.f_pos", "f vfs_read file->f_pos"),
    ("f vfs_read file->f_path->dentry", "f vfs_read file->f_path.dentry"),
    ("f vfs_read file->f_path.dentry.d_name.name:string", "f vfs_read file->f_path.dentry->d_name.name:string"),
    ("f vfs_read ((struct file *)arg0)->f_pos", "f vfs_read file->f_pos"),
    ("f vfs_read retval", "f vfs_read $retval"),
    ("f vfs_read ret=$ret", "f vfs_read ret=$retval"),
    ("p vfs_read ret=$retval", "p vfs_read%return ret=$retval"),
    ("p vfs_read ax=%rax", "p vfs_read ax=%ax"),
    ("p vfs_read %rdi", "p vfs_read %di"),
    ("p vfs_read regs->di", "p vfs_read %di"),
    ("p vfs_read count=%dx:u46", "p vfs_read count=%dx:u64"),
    ("p vfs_read cnt=%dx:int", "p vfs_read cnt=%dx:s32"),
    ("p vfs_read cnt=%dx:uint64", "p vfs_read cnt=%dx:u64"),
    ("p vfs_read +0(%si):str", "p vfs_read +0(%si):string"),
    ("p vfs_read 0(%si):string", "p vfs_read +0(%si):string"),
    ("f vfs_read buf:strnig", "f vfs_read buf:string"),
    ("f vfs_read Count", "f vfs_read count"),
    ("f vfs_read cuont", "f vfs_read count"),
    ("f vfs_read coutn", "f vfs_read count"),
    ("f vfs_read fil", "f vfs_read file"),
    ("f vfs_read file->fpos", "f vfs_read file->f_pos"),
    ("f vfs_read file->f_pso", "f vfs_read file->f_pos"),
    ("f vfs_read file->F_pos", "f vfs_read file->f_pos"),
    ("f vfs_read file -> f_pos", "f vfs_read file->f_pos"),
    ("f vfs_read count,pos", "f vfs_read count pos"),
    ("f vfs_read comm", "f vfs_read $comm"),
    ("f vfs_read $commm", "f vfs_read $comm"),
    ("f vfs_read $stak", "f vfs_read $stack"),
    ("f vfs_read $retvla", "f vfs_read $retval"),
    ("f vfs_read%retrun $retval", "f vfs_read%return $retval"),
    ("f vfs_read $return", "f vfs_read $retval"),
    ("kprobe:vfs_read", "p vfs_read"),
    ("kprobe:vfs_raed", "p vfs_read"),
    ("k:vfs_read", "p vfs_read"),
    ("kprobe vfs_read count", "p vfs_read count"),
    ("fentry:vfs_read count", "f vfs_read count"),
    ("kfunc:vmlinux:vfs_read", "f vfs_read"),
    ("kretprobe:vfs_read $retval", "r vfs_read $retval"),
    ("tracepoint:sched:sched_swich", "t sched_switch"),
    ("t:sched:sched_switch", "t sched_switch"),
    ("t sched:sched_switch", "t sched_switch"),
    ("t sched_swtich prev", "t sched_switch prev"),
    ("t sched_switch prve", "t sched_switch prev"),
    ("t sched_switch prev.comm", "t sched_switch prev->comm"),
    ("P vfs_read", "p vfs_read"),
    ("F vfs_read count", "f vfs_read count"),
    ("f vfs_read count if pid == 1", "f vfs_read count if common_pid == 1"),
    ("f vfs_read count if comm == bash", 'f vfs_read count if comm == "bash"'),
    ('f vfs_read count if COMM = "bash"', 'f vfs_read count if COMM == "bash"'),
    ("f vfs_read count if Count > 5", "f vfs_read count if count > 5"),
    ("f vfs_read count /count > 5/", "f vfs_read count if count > 5"),
    ("f vfs_read /pid == 1/", "f vfs_read if common_pid == 1"),
]
"""What is typed, and what was meant."""


@pytest.mark.parametrize(("wrong", "right"), SLIPS)
def test_what_was_meant(planner: Planner, wrong: str, right: str) -> None:
    """By the commands the whole text is put right; on the screen so is the text, or its wrong word."""
    error = with_corrections(
        planner.info, wrong, check_specification(wrong, planner), lambda text: check_specification(text, planner)
    ).error
    assert error is not None and error.corrected == right
    assert check_specification(right, planner).ok
    shown = specification.typed(planner, CommandText.parse(wrong)).shown.verdict
    assert shown is not None and shown.error is not None
    near = shown.error.nearest[:1]
    assert shown.error.corrected == right or (near and near[0].lower() in right.lower())


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("struct fil", "struct file"),
        ("struct taks_struct", "struct task_struct"),
        ("struct sk_buf", "struct sk_buff"),
        ("struct vfs_read", "vfs_read"),
        ("enum hrtimer_restrt", "enum hrtimer_restart"),
        ("fil", "struct file"),
        ("gfpt", "gfp_t"),
        ("vfs_raed", "vfs_read"),
    ],
)
def test_a_type_that_is_shown(capsys: pytest.CaptureFixture[str], name: str, near: str) -> None:
    assert main(["show", "-t", str(shipped_recording()), name]) == 1
    assert f"did you mean {near}" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["struct xyzzy_nothing", "union qqqqq"])
def test_of_what_is_like_nothing_nothing_is_offered(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["show", "-t", str(shipped_recording()), name]) == 1
    assert "did you mean" not in capsys.readouterr().err


def test_letters_that_are_scattered_over_a_name_are_no_likeness() -> None:
    assert not is_like("_do_fork", "kcompactd_do_work")
    assert not is_like("__vfs_read", "__vfs_removexattr_locked")
    assert is_like("vfs_raed", "vfs_read") and is_like("open", "do_sys_openat2")
    assert closest("fil", ["file", "fid", "efi", "folio_batch"])[0] == "file"
