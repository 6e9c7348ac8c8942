"""`probewright errors` finds the first failure of calls that fail in known places, by tracer and by programs."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from kernel.lab.guest import Guest
from tests.real import failures_inside
from tests.real.command import address, finish, run, screen_on, ssh_to, start
from tests.real.processes import until
from tests.real.test_ssh_guest import is_clean, left
from tests.real.tmux import Tmux

SOURCE = Path(failures_inside.__file__).read_text()
PLANTED = {
    "ENOENT": ("openat", {"step_into_slowpath", "step_into", "walk_component"}),
    "EACCES": ("openat", {"generic_permission", "acl_permission_check", "inode_permission"}),
    "EPERM": ("sethostname", {"cap_capable", "security_capable"}),
    "EINVAL": ("timerfd_create", {"timerfd_create"}),
    "ENOSPC": ("write", {"shmem_inode_acct_blocks", "shmem_inode_acct_block", "shmem_alloc_and_add_folio"}),
    "EBADF": ("fsync", {"do_fsync", "fsync"}),
    "EEXIST": ("mkdirat", {"lookup_one_qstr_excl", "__start_dirop", "filename_create"}),
    "ENOTDIR": ("openat", {"link_path_walk"}),
    "EISDIR": ("openat", {"may_open", "open_last_lookups", "do_open"}),
    "ELOOP": ("newfstatat", {"pick_link", "step_into", "step_into_slowpath"}),
    "ENAMETOOLONG": ("unlinkat", {"do_getname", "getname_flags"}),
    "EFAULT": ("newuname", {"newuname"}),
    "ESRCH": ("kill", {"kill_pid_info_type", "kill_pid_info", "kill_something_info"}),
    "ECHILD": ("wait4", {"__do_wait", "do_wait"}),
    "EXDEV": ("linkat", {"filename_linkat", "do_linkat"}),
    "ENOTEMPTY": ("unlinkat", {"shmem_rmdir", "simple_rmdir"}),
    "ENXIO": ("openat", {"fifo_open"}),
    "ENODEV": ("mount", {"path_mount", "do_new_mount"}),
    "EAGAIN": ("read", {"anon_pipe_read", "pipe_read"}),
    "EPIPE": ("write", {"anon_pipe_write", "pipe_write"}),
    "EROFS": ("mkdirat", {"mnt_get_write_access", "mnt_want_write", "__mnt_want_write"}),
}
"""Error -> system call, and the functions that return it first by the kernel's source. Of several one calls the
other: a compiler may have inlined it.
"""
BY_POINTERS = {
    "EPERM": {"security_capable"},
    "ENOSPC": {"vfs_write", "new_sync_write", "generic_perform_write"},
    "ENOTEMPTY": {"vfs_rmdir"},
    "ENXIO": {"do_dentry_open"},
    "EAGAIN": {"vfs_read", "new_sync_read"},
    "EPIPE": {"vfs_write", "new_sync_write"},
}
"""Functions that call through a pointer the one that fails first: the last that are seen in the code."""
CALLS = (
    *("openat", "sethostname", "timerfd_create", "write", "fsync", "mkdirat", "newfstatat", "unlinkat", "uname"),
    *("kill", "wait4", "linkat", "mount", "read"),
)
REMOVE = f"umount {failures_inside.PATHS}/full {failures_inside.PATHS}/sealed; rm -r {failures_inside.PATHS}"


def plain(function: str) -> str:
    """The name in the source: without what compilers and the macros of system calls add."""
    name = function.partition(".")[0]
    return name.partition("_sys_")[2] if "_sys_" in name else name


def failed_as(one: dict[str, Any], error: str) -> bool:
    return bool(one["error"] == error and plain(one["call"]) == PLANTED[error][0])


def on(*kernels: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("guest", kernels, indirect=True, scope="module")


@on("full", "7.2", "6.12")
def test_each_planted_failure_is_found_where_it_arose(guest: Guest, tmp_path: Path) -> None:
    env, file = ssh_to(guest, tmp_path), tmp_path / "failures.pwr"
    words = ("errors", *CALLS, "--json", "-o", str(file), "-t", address(guest), "--", "python3", "-c", SOURCE)
    done = run(*words, env=env)
    guest.run(REMOVE)
    assert done.status == 0, done
    printed = [line.split() for line in done.err.splitlines() if line.split()[:1] and line.split()[0] in PLANTED]
    assert "late" not in done.err, done.err
    assert printed == [[error, error] for error in PLANTED], done
    failures = [one for one in done.objects if one["kind"] == "failure"]
    for error, (_, accepted) in PLANTED.items():
        found = [one for one in failures if failed_as(one, error)]
        assert found, f"{error}: {done}"
        wrong = [one for one in found if plain(one["origin"]) not in accepted]
        assert not wrong, f"{error}: {json.dumps(wrong[:2], indent=1)}"
        assert not any(one["ambiguous"] or one["incomplete"] for one in found), error
        chain = found[-1]["chain"]
        assert [call["returned"] for call in chain] == [f"-{error}"] * len(chain)
        assert (chain[0]["function"], chain[-1]["function"]) == (found[-1]["call"], found[-1]["origin"])
    origins = [one for one in done.objects if one["kind"] == "origin"]
    assert sum(one["count"] for one in origins) == len(failures)
    assert all(set(one["comms"]) <= {"python3", "sh"} for one in origins), origins
    again = run("errors", *CALLS, "--json", "-t", str(file))
    assert [one["chain"] for one in again.objects if one["kind"] == "failure"] == [one["chain"] for one in failures]


@on("6.1", "arm64:6.12")
def test_probes_find_what_is_called_directly_and_the_rest_is_said(guest: Guest, tmp_path: Path) -> None:
    """The tracer of these kernels records no return values, and they have no kprobe.session."""
    env = ssh_to(guest, tmp_path)
    done = run("errors", *CALLS, "--json", "-t", address(guest), "--", "python3", "-c", SOURCE, env=env)
    guest.run(REMOVE)
    assert done.status == 0, done
    assert "not what is called through pointers" in done.err
    failures = [one for one in done.objects if one["kind"] == "failure"]
    exact = []
    for error, (_, accepted) in PLANTED.items():
        found = [one for one in failures if failed_as(one, error)]
        assert found, f"{error}: {done}"
        for one in found:
            origin = plain(one["origin"])
            assert origin in accepted or (one["incomplete"] and origin in BY_POINTERS.get(error, ())), (error, one)
        exact += [error] * all(plain(one["origin"]) in accepted for one in found)
    assert set(PLANTED) - set(exact) <= set(BY_POINTERS), exact


@on("7.2-sh")
def test_without_python_there_it_says_what_is_missing(guest: Guest, tmp_path: Path) -> None:
    words = ("errors", "openat", "-t", address(guest), "--", "cat", "/nonexistent/file")
    done = run(*words, env=ssh_to(guest, tmp_path))
    assert (done.status, done.out) == (3, ""), done
    assert "install python3 there" in done.err
    assert "can't open" not in done.err  # the command has not run
    assert is_clean(guest), left(guest)


@on("7.2")
def test_only_a_process_and_its_children_are_looked_at(guest: Guest, tmp_path: Path) -> None:
    """Others fail meanwhile in the same way; of them none is told."""
    env = ssh_to(guest, tmp_path)
    noise = "while :; do cat /nonexistent/other 2>/dev/null; sleep 0.3; done"
    guest.run(f"sh -c '{noise}' >/dev/null 2>&1 & echo $! >/tmp/noise")
    work = "for i in 1 2 3; do cat /nonexistent/mine 2>/dev/null; done; true"
    words = ("errors", "openat", "--json", "--errno", "enoent", "-t", address(guest), "--", "sh", "-c", work)
    try:
        done = run(*words, env=env)
        process = guest.run("cat /tmp/noise").decode().strip()
        watched = run("errors", "openat", "--json", "--count", "3", "-p", process, "-t", address(guest), env=env)
    finally:
        guest.run("kill $(cat /tmp/noise); rm /tmp/noise")
    failures = [one for one in done.objects if one["kind"] == "failure"]
    assert len(failures) == 3, done
    assert len({one["pid"] for one in failures}) == 3
    assert {one["task"].rpartition("-")[0] for one in failures} <= {"cat", "sh"}
    assert watched.status == 0, watched
    assert {one["error"] for one in watched.objects} == {"ENOENT"}
    assert len([one for one in watched.objects if one["kind"] == "failure"]) == 3


@on("7.2")
def test_nothing_of_it_stays_in_the_kernel(guest: Guest, tmp_path: Path) -> None:
    env = ssh_to(guest, tmp_path)
    traces = "ls /sys/kernel/tracing/instances; wc -l </sys/kernel/tracing/enabled_functions"
    before = guest.run(traces)
    done = run("errors", "openat", "-t", address(guest), "--", "cat", "/nonexistent/file", env=env)
    assert done.status == 0, done
    assert "first: " in done.out
    assert guest.run(traces) == before


@on("7.2", "full")
def test_nothing_stays_of_a_command_that_was_killed(guest: Guest, tmp_path: Path) -> None:
    """The machine keeps what it had: programs go with the agent that holds them, the tracer by its journal."""
    env = ssh_to(guest, tmp_path)
    armed = "wc -l </sys/kernel/tracing/enabled_functions"
    before = guest.run(armed)
    process = start("errors", "openat", "--json", "--reconnect", "0", "-t", address(guest), env=env)
    assert process.stdout is not None
    waiting = threading.Thread(target=process.stdout.readline, daemon=True)
    waiting.start()
    assert until(lambda: guest.run("cat /nonexistent/file 2>/dev/null || true") == b"" and not waiting.is_alive())
    assert guest.run(armed) != before
    process.kill()
    finish(process)
    assert until(lambda: guest.run(armed) == before)
    assert is_clean(guest), left(guest)


@on("7.2")
def test_on_the_screen_the_errors_of_a_function_are_counted(guest: Guest, tmp_path: Path) -> None:
    """From the start to the first failure in keys: a name, Enter, G, Errors; Enter shows its chain."""
    with Tmux(screen_on(guest, tmp_path), 100, 30) as terminal:
        terminal.wait(lambda screen: "functions" in screen and "armed 0" in screen)
        terminal.press(*"do_sys_openat2")
        terminal.wait(lambda screen: "1 of " in screen)
        terminal.press("Enter")
        terminal.wait(lambda screen: "int do_sys_openat2(" in screen)
        terminal.press("G")
        terminal.wait(lambda screen: "Trace what do_sys_openat2 calls" in screen)
        terminal.press(*["Tab"] * 7, "Enter")  # a letter so soon would be one that was typed ahead
        terminal.wait(lambda screen: "[failures]" in screen and "tracing" in screen)

        def failed(screen: str) -> bool:
            guest.run("cat /nonexistent/file 2>/dev/null || true")
            return "ENOENT" in screen

        assert "step_into" in terminal.wait(failed)
        terminal.press("Home", "Enter")
        chain = terminal.wait(lambda screen: "first:" in screen)
        assert "do_sys_openat2(" in chain
        assert "= -ENOENT" in chain
        terminal.press("Escape", "C-q")
        terminal.wait(lambda screen: "[ended " in screen or "?" in screen)
        if "[ended " not in terminal.screen():
            terminal.press("Enter")
        assert terminal.status() == 0
    assert is_clean(guest), left(guest)


@on("7.2")
def test_the_preset_says_which_function_returned_the_error_first(guest: Guest, tmp_path: Path) -> None:
    """As a command, and in keys: F5, its question, a call, an error; `u` shows the other errors, too."""
    env, file = ssh_to(guest, tmp_path), f"{tmp_path}/nowhere"
    words = ("run", "first-failure", "openat", "-p", "error=ENOENT", "--json", "-t", address(guest))
    done = run(*words, "--", "cat", file, env=env)
    failed = [one for one in map(json.loads, done.out.splitlines()) if one["kind"] == "failure"]
    assert done.status == 0, done.err
    assert failed and all(failed_as(one, "ENOENT") for one in failed)
    assert {plain(one["origin"]) for one in failed} <= PLANTED["ENOENT"][1]
    with Tmux(screen_on(guest, tmp_path), 120, 40) as terminal:
        terminal.wait(lambda screen: "functions" in screen and "armed 0" in screen)
        terminal.press("F5")
        terminal.wait(lambda screen: "presets" in screen and "first-failure" in screen)
        terminal.press(*(key.replace(" ", "Space") for key in "which function returned this error first"))
        terminal.wait(lambda screen: "calls of __x64_sys_openat with their return values, by" in screen)
        terminal.press("Enter")
        terminal.wait(lambda screen: "System call or function that fails" in screen)
        terminal.press("Down")
        terminal.press(*"ENOTDIR")
        terminal.press("Enter")
        terminal.wait(lambda screen: "[failures]" in screen and "tracing" in screen)

        def failed_both(screen: str) -> bool:
            guest.run("cat /nonexistent/file /etc/passwd/x 2>/dev/null || true")
            return "link_path_walk" in screen

        shown = terminal.wait(failed_both)
        assert "ENOTDIR" in shown
        assert "ENOENT" not in shown
        assert "with ENOTDIR" in shown
        terminal.press("u")
        terminal.wait(lambda screen: "ENOENT" in screen and "step_into" in screen)
        terminal.press("C-q")
        terminal.wait(lambda screen: "[ended " in screen or "?" in screen)
        if "[ended " not in terminal.screen():
            terminal.press("Enter")
        assert terminal.status() == 0
    assert is_clean(guest), left(guest)


@on("7.2")
def test_what_can_not_be_asked_is_refused(guest: Guest, tmp_path: Path) -> None:
    env = ssh_to(guest, tmp_path)
    done = run("errors", "openta", "-t", address(guest), env=env)
    assert (done.status, done.out) == (3, "")
    assert "openta: " in done.err
    assert "did you mean openat" in done.err
    done = run("errors", "openat", "-p", "4194300", "-t", address(guest), env=env)
    assert (done.status, done.out) == (3, "")
    assert "has no process 4194300" in done.err
