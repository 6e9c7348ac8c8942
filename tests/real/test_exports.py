"""Exports are run where they are for, beside a session of ours, and both tell the same of the same work."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from events.names.kernel_text import kernel_text
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.guest import Guest, boot
from kernel.lab.target import connect
from kernel.watch.watch import Watch
from probes.command import parse_armable
from probes.export.export import dialect_named
from tests.real.conftest import prepared
from tests.real.held import bring_in
from tests.real.processes import until
from tests.real.saved import SavedGuests
from tests.real.tools import packed, packed_for
from tui.output.probe_exports import exported

TRACING = "/sys/kernel/tracing"
SPECS = (
    "f shmem_file_llseek%both file->f_pos offset whence $retval",
    "f do_sys_openat2 filename:ustring dfd how->flags if dfd == AT_FDCWD",
    "f wake_up_new_task p->pid p->prio p->in_execve $comm p->real_cred->uid p->cpus_mask.bits[0] p->comm:string",
    "f vfs_open%return $retval if ret != -EACCES",
    "p security_file_open %di file->f_path.dentry->d_name.name:string file->f_flags",  # a register: no fentry
)
"""Nothing that reading the events does: two that read would have each other read for ever."""
FIRST = "shmem_file_llseek__entry"
"""The event that a shell script switches on last."""
WORKLOAD = """\
cd /tmp
printf 'first line\\nsecond line\\n' >read-me
for n in 1 2 3; do dd if=read-me of=/dev/null bs=5 skip=$n count=1 2>/dev/null; done
cat /proc/version /no/such/file read-me >/dev/null 2>&1
tail -c 4 read-me >/dev/null
rm read-me
"""
COMMANDS = {"sh": "sh /tmp/export", "bpftrace": "bpftrace -B line /tmp/export"}
"""What runs an export, without a bound in time."""
READERS = {"perf": "perf record", "bpftrace": "bpftrace"}
"""In the command line of what waits for events, once all are on."""
WAITING = {"amd64": "7|232|271|281", "arm64": "73|22"}
"""poll, epoll_wait, ppoll, epoll_pwait (arch/x86/entry/syscalls/syscall_64.tbl); ppoll, epoll_pwait
(include/uapi/asm-generic/unistd.h).
"""
WAITS = """\
waits() {
  own=$(cat /tmp/pid) && for pid in $own $(cat /proc/$own/task/*/children); do
    tr '\\0' ' ' </proc/$pid/cmdline | grep -q "$1" && grep -qE '^(NUMBERS) ' /proc/$pid/syscall && return
  done 2>/dev/null
  return 1
}
"""
LONGEST = 600.0
"""Seconds: LLVM is slow on an emulated processor, and so is perf's reading of all symbols."""
LAST = "/no/more/work"
"""A file that is opened when the workload has ended: events come in their order."""


class Told(NamedTuple):
    """One event as either side tells it."""

    pid: int
    event: str
    values: tuple[tuple[str, str], ...]


@pytest.fixture(scope="module")
def guest(request: pytest.FixtureRequest, saved: SavedGuests) -> Iterator[Guest]:
    """A guest with busybox only, and the tools named behind the kernel: `7.2+trace-cmd+perf`."""
    kernel, *tools = str(request.param).split("+")
    prepared(kernel, python=False)
    started: contextlib.AbstractContextManager[Guest]
    if tools and kernel.startswith("arm64"):  # this machine's own programs are of another architecture
        extra = [packed_for("arm64", tool) for tool in tools]
        started = boot(kernel, python=False, workload=False, extra=extra, memory=2048)
    elif tools:
        started = boot(kernel, python=False, workload=False, extra=[packed(*tools)], memory=2048)
    else:
        started = saved.lent(kernel, python=False)
    with started as machine:
        yield machine


def put(guest: Guest, path: str, text: str) -> None:
    subprocess.run([*guest.ssh_command, f"cat >{path}"], input=text.encode("ascii"), check=True)


def left(guest: Guest) -> str:
    """What is in the kernel of anybody's."""
    return guest.run(f"cat {TRACING}/dynamic_events; ls {TRACING}/instances").decode()


@contextlib.contextmanager
def running(guest: Guest, dialect: str, first: str) -> Iterator[subprocess.Popen[bytes]]:
    """The export runs and all its probes are on; `first` is the event that is switched on last."""
    command = COMMANDS.get(dialect, 'sh /tmp/export "" /tmp/recorded')
    guest.run("rm -f /tmp/status /tmp/pid")
    run = f"sh -c 'echo $$ >/tmp/pid; exec {command}' >/tmp/out 2>/tmp/err; echo $? >/tmp/status"
    with subprocess.Popen([*guest.ssh_command, run], stdin=subprocess.DEVNULL) as process:
        on = f"grep -q 1 {TRACING}/instances/probewright-*/events/pw_*/{first}/enable 2>/dev/null"
        ready, pause = f"{on} && grep -q 1 {TRACING}/instances/probewright-*/tracing_on", 0.3
        if dialect in READERS:  # which take half a minute, of a processor that looking would share
            ready, pause = f"waits '{READERS[dialect]}'", 2
        waits = WAITS.replace("NUMBERS", WAITING[guest.kernel.arch])
        guest.run(f"{waits}until {{ {ready}; }} || [ -e /tmp/status ]; do sleep {pause}; done", timeout=LONGEST)
        try:
            yield process
        finally:
            guest.run("kill -INT $(cat /tmp/pid) || true")
            process.wait(LONGEST)


def worked(guest: Guest) -> tuple[int, int]:
    """Run the workload; gives the process numbers it begins and ends with."""
    words = guest.run("sh -c 'echo $$; exec sh /tmp/workload'; sh -c 'echo $$'; true").split()
    return int(words[0]), int(words[-1])


def parsed(text: str, span: tuple[int, int]) -> list[Told]:
    """Events of processes in `span`, from the text that a tool prints, by the names that ours have."""
    found = []
    for line in text.splitlines():
        match = re.search(r"(?:\S-|\s)(\d+)\s+\[\d+\].*? (?:pw_\w+:)?(\w+__(?:entry|exit|return)): (.*)", line)
        if match and span[0] <= int(match[1]) < span[1]:
            found.append(Told(int(match[1]), match[2].replace("__return", "__exit"), values_of(match[3])))
    return found


def values_of(text: str) -> tuple[tuple[str, str], ...]:
    """`name=value` pairs; where the stack is differs by how a probe attaches."""
    pairs = re.findall(r'(\w+)=("[^"]*"|\S+)', text)
    return tuple((name, value) for name, value in pairs if name != "frame")


def ours(watch: Watch, span: tuple[int, int]) -> list[Told]:
    """Our side of all that was recorded until now."""
    bring_in(watch)
    store = watch.store
    assert store is not None
    assert (store.undecodable, dict(store.overrun)) == (0, {})
    records = [store.record(seq) for seq in range(store.first_seq, store.next_seq)]
    told = [(record, kernel_text(record, watch.info.symbols.current)) for record in records]
    return [
        Told(record.pid, text.partition(":")[0], values_of(text.partition(": ")[2]))
        for record, text in told
        if span[0] <= record.pid < span[1]
    ]


def like(theirs: list[Told], mine: list[Told]) -> list[Told]:
    """Only values that we have too: bpftrace keeps arguments until the exit where this kernel's probes can't."""
    names = {each.event: [name for name, _ in each.values] for each in mine}
    # A session leaves out the processes that work for it; the export has no reason to.
    pids = {each.pid for each in mine}
    return [
        each._replace(values=tuple(pair for pair in each.values if pair[0] in names.get(each.event, ())))
        for each in theirs
        if each.pid in pids
    ]


def _as_empty(told: list[Told]) -> list[Told]:
    """Return events with text that the kernel could not read as an empty one: so libtraceevent prints it.

    The first open of a program may come before the page with its file's name was ever read.
    """
    return [
        each._replace(values=tuple((name, '""' if text == "(fault)" else text) for name, text in each.values))
        for each in told
    ]


@pytest.fixture(scope="module")
def planner(guest: Guest) -> Iterator[Planner]:
    """Ours to the guest: its facts and symbols are read once."""
    with contextlib.closing(KernelInfo(connect(guest, "guest", python=False))) as info:
        yield Planner(info)


def compare(guest: Guest, planner: Planner, dialect: str) -> None:
    """Run an export beside a session of ours, and compare every value."""
    assert left(guest) == ""
    watch = Watch(planner)
    register = "%x0" if guest.kernel.arch == "arm64" else "%di"
    probes = [parse_armable(spec.replace("%di", register)) for spec in SPECS]
    made = exported(planner, probes, dialect_named(dialect))
    if dialect == "bpftrace":
        assert "\nfr:shmem_file_llseek\n" in made.text and "args->file->f_pos, args->offset" in made.text
        assert "((struct file *)arg0)->f_flags" in made.text and "kptr(" not in made.text
    put(guest, "/tmp/export", made.text)
    put(guest, "/tmp/workload", WORKLOAD)
    try:
        with running(guest, dialect, FIRST):
            assert guest.run("cat /tmp/status 2>/dev/null || true") == b"", guest.run("cat /tmp/err").decode()
            for probe in probes:
                watch.armed.arm(probe)
            span = worked(guest)
            guest.run(f"cat {LAST} 2>/dev/null || true")
            if dialect in COMMANDS:  # the others write when they end, and all of it
                guest.run(f"until grep -q {LAST} /tmp/out; do sleep 0.2; done")
            mine = ours(watch, span)
        text = guest.run("cat /tmp/out").decode()
    finally:
        assert watch.close() == []
    said = guest.run("cat /tmp/err").decode()
    assert left(guest) == "", said
    mine, theirs = _as_empty(mine), _as_empty(like(parsed(text, span), mine))
    lacking, surplus = Counter(mine) - Counter(theirs), Counter(theirs) - Counter(mine)
    assert not lacking and not surplus, (list(lacking)[:5], list(surplus)[:5], len(mine), len(theirs), said[-500:])
    assert mine, (span, text[-1500:], said)
    assert {each.event for each in mine} == {
        *(FIRST, "shmem_file_llseek__exit", "do_sys_openat2__entry", "wake_up_new_task__entry", "vfs_open__exit"),
        "security_file_open__entry",
    }
    values = {pair for each in mine for pair in each.values}
    assert {("offset", "10"), ("ret", "15"), ("f_pos", "0"), ("filename", '"/no/such/file"')} <= values
    assert len(mine) > 15


KERNELS = ["6.1+trace-cmd+perf+bpftrace", "7.2+trace-cmd+perf+bpftrace"]
"""One without fprobes and names of arguments, one with all of them."""


@pytest.mark.parametrize("dialect", ["sh", "trace-cmd", "perf", "bpftrace"])
@pytest.mark.parametrize("guest", KERNELS, indirect=True, scope="module")
def test_exports_tell_what_we_tell(guest: Guest, planner: Planner, dialect: str) -> None:
    compare(guest, planner, dialect)


@pytest.mark.matrix
@pytest.mark.parametrize("guest", ["arm64:6.12+bpftrace"], indirect=True, scope="module")
def test_bpftrace_has_the_same_functions_and_values_on_arm64(guest: Guest, planner: Planner) -> None:
    """With programs at entry and exit, whose trampolines this kernel has, and a kprobe where a register is read."""
    compare(guest, planner, "bpftrace")


@pytest.fixture(scope="module")
def script(guest: Guest) -> str:
    """An export as a shell script."""
    planner = Planner(KernelInfo(connect(guest, "guest", python=False)))
    try:
        return exported(planner, [parse_armable(spec) for spec in SPECS], dialect_named("sh")).text
    finally:
        planner.info.close()


@pytest.fixture
def scripted(guest: Guest, script: str) -> Guest:
    """A guest with the script in /tmp/export, and nothing of anybody's in its kernel."""
    assert left(guest) == ""
    put(guest, "/tmp/export", script)
    return guest


@pytest.mark.parametrize("guest", ["7.2"], indirect=True, scope="module")
@pytest.mark.parametrize(
    "signal",
    [
        "TERM",  # INT ends each export that is compared
        *(pytest.param(name, marks=pytest.mark.matrix) for name in ("HUP", "INT", "QUIT", "PIPE", "ALRM", "USR1")),
    ],
)
def test_a_shell_script_leaves_nothing_at_any_signal(scripted: Guest, signal: str) -> None:
    with running(scripted, "sh", FIRST):
        assert "shmem_file_llseek__exit" in left(scripted)
        scripted.run(f"kill -{signal} $(cat /tmp/pid); until [ -e /tmp/status ]; do sleep 0.2; done")
        assert left(scripted) == "", scripted.run("cat /tmp/err")
    assert until(lambda: scripted.run("ps | grep -c '[i]f=.*trace_pipe' || true") == b"0\n")


@pytest.mark.parametrize("guest", ["7.2"], indirect=True, scope="module")
def test_a_shell_script_ends_with_its_reader_and_with_its_time(scripted: Guest) -> None:
    put(scripted, "/tmp/workload", WORKLOAD)
    work = "(while [ ! -e /tmp/enough ]; do sh /tmp/workload; done) & "
    scripted.run("rm -f /tmp/enough")
    try:
        line = scripted.run(f"{work} sh /tmp/export | head -n 1; touch /tmp/enough; wait").decode()
        assert re.search(r"(?:shmem_file_llseek|do_sys_openat2|wake_up_new_task|vfs_open|security_file_open)__", line)
        assert left(scripted) == ""
        scripted.run("rm /tmp/enough")
        text = scripted.run(f"{work} sh /tmp/export 3; echo status $?; touch /tmp/enough; wait").decode()
        assert text.endswith("status 0\n") and "do_sys_openat2__entry: (" in text
        assert left(scripted) == ""
    finally:
        scripted.run("touch /tmp/enough")


@pytest.mark.parametrize("guest", ["7.2"], indirect=True, scope="module")
def test_what_the_kernel_refuses_is_told_and_taken_back(scripted: Guest) -> None:
    done = scripted.run(
        "sed 's/do_sys_openat2 /no_such_function /' /tmp/export >/tmp/bad; sh /tmp/bad 2>&1; echo status $?",
    ).decode()
    assert done.endswith("status 1\n") and "no_such_function" in done
    assert left(scripted) == ""


@pytest.mark.parametrize("guest", ["7.2"], indirect=True, scope="module")
def test_what_a_killed_script_leaves_is_found(scripted: Guest) -> None:
    from kernel.cleanup import leftovers

    with running(scripted, "sh", FIRST):
        target = connect(scripted, "guest", python=False)
        try:
            assert leftovers.find(target) == []  # it lives
            scripted.run("pid=$(cat /tmp/pid); kill -9 $pid; while [ -e /proc/$pid ]; do usleep 100000; done")
            # Its reader outlives it for a moment, or for good.
            holds = "ls -l $p/fd 2>/dev/null | grep -q trace_pipe"
            scripted.run(f"for p in /proc/[0-9]*; do {holds} && kill ${{p#/proc/}}; done; true")
            (one,) = leftovers.find(target)
            assert len(one.events) == 6
            assert not leftovers.remove(target, one)
        finally:
            target.close()
    assert left(scripted) == ""
