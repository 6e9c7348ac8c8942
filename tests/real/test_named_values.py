"""Numbers by name: as the kernel's own text of the same records has them, and as a program says that it called."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.session.session import Session
from kernel.watch.watch import Watch
from probes.command import parse_armable
from tests.real.command import address, run, ssh_to
from tests.real.held import bring_in, hold, kernel_side

WORKLOAD = Path(__file__).with_name("workload.sh").read_bytes()
PRINTED = {
    "irq/softirq_entry": ("vec", r"action=(\w+)"),
    "kmem/kmalloc": ("gfp_flags", r"gfp_flags=(\S+)"),
    "timer/hrtimer_start": ("mode", r"mode=(\S+)"),
    "writeback/writeback_mark_inode_dirty": ("flags", r"flags=(\S+)"),
}
"""Field of an event, and its name in the kernel's text."""
CALLS = """\
import mmap, os, select, signal, socket, sys
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
name = f"/tmp/named_values_{os.getpid()}"
print(os.getpid(), flush=True)
while not select.select([sys.stdin], [], [], 0.1)[0]:
    file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o640)
    os.close(os.open("/tmp", os.O_DIRECTORY | os.O_NOFOLLOW | os.O_PATH))
    os.lseek(file, 0, os.SEEK_END)
    os.close(file)
    os.kill(os.getpid(), signal.SIGUSR1)
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK).close()
    mmap.mmap(-1, 7 * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ).close()
"""
SPECS = (
    "p do_sys_openat2 dfd how->flags how->mode filename:ustring",
    "on syscalls/sys_enter_openat",
    "on syscalls/sys_enter_lseek",
    "on syscalls/sys_enter_kill",
    "on syscalls/sys_enter_socket",
    "on syscalls/sys_enter_mmap if len == 28672",
    "p do_sys_openat2 how->flags filename:ustring if flags & O_CREAT && filename ~ '*/named_values_*'",
)


@pytest.mark.parametrize("guest", ["7.2", "6.12", "6.1"], indirect=True)
def test_names_are_those_of_the_kernels_text(guest: Guest) -> None:
    subprocess.run([*guest.ssh_command, "cat >/tmp/workload"], input=WORKLOAD, check=True)
    target = connect(guest, guest.kernel.release)
    planner = Planner(KernelInfo(target))
    held = hold(target)
    watch = Watch(planner)
    try:
        for event in PRINTED:
            watch.armed.arm(parse_armable(f"on {event}"))
        session = watch.session
        assert isinstance(session, Session)
        session.resize(8192)
        instance = session.instance.path
        guest.run(f"cd {instance}; echo >trace; sh /tmp/workload; echo 0 >tracing_on")
        theirs = [
            (one.stamp, one.cpu, field, found[1])
            for one in kernel_side(guest, instance)
            for event, (field, pattern) in PRINTED.items()
            if one.text.startswith(f"{event.partition('/')[2]}: ") and (found := re.search(pattern, one.text))
        ]
        held[0].let_go()
        bring_in(watch)
        rows = [watch.store.record(seq) for seq in range(watch.store.next_seq)] if watch.store else []
        ours = [
            ((record.ts + 500) // 1000, record.cpu, field, dict(watch.event_fields.values(record))[field])
            for record in rows
            if (field := PRINTED.get(record.event, ("", ""))[0])
        ]
    finally:
        assert watch.close() == []
        planner.info.close()
    assert {field for *_, field, _ in ours} == {field for field, _ in PRINTED.values()}
    assert sorted(ours) == sorted(theirs)


@pytest.mark.parametrize("guest", ["7.2", "6.1", "arm64:6.12"], indirect=True)
def test_arguments_are_named_as_the_program_said_them(guest: Guest, tmp_path: Path) -> None:
    subprocess.run([*guest.ssh_command, "cat >/tmp/calls.py"], input=CALLS.encode(), check=True)
    env = ssh_to(guest, tmp_path)
    command = [*guest.ssh_command, "python3 /tmp/calls.py"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as program:
        assert program.stdout is not None
        pid = int(program.stdout.readline())
        done = run("run", *SPECS, "--target", address(guest), "--json", "--for", "5", env=env)
        program.communicate(b"end")
    assert done.status == 0, done
    rows = [(one["event"], one["text"]) for one in done.objects if one.get("pid") == pid]
    assert rows, done
    name = f"/tmp/named_values_{pid}"

    def texts(event: str, **wanted: str) -> list[dict[str, str]]:
        return [text for path, text in rows if event in path and wanted.items() <= text.items()]

    created = {"dfd": "AT_FDCWD", "mode": "0640"}
    flags = "O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_CLOEXEC"
    assert texts("sys_enter_openat", flags=flags, **created), rows
    kernels = [set(one["flags"].split("|")) for one in texts("openat2", filename=name, **created)]
    assert kernels and all(one - {"O_LARGEFILE"} == set(flags.split("|")) for one in kernels), rows
    folder = {"O_RDONLY", "O_DIRECTORY", "O_NOFOLLOW", "O_PATH", "O_CLOEXEC"}
    assert [one for one in texts("sys_enter_openat") if set(one["flags"].split("|")) == folder], rows
    assert texts("sys_enter_lseek", whence="SEEK_END"), rows
    assert texts("sys_enter_kill", sig="SIGUSR1"), rows
    assert texts("sys_enter_socket", family="AF_UNIX", type="SOCK_DGRAM|SOCK_CLOEXEC|SOCK_NONBLOCK"), rows
    assert texts("sys_enter_mmap", prot="PROT_READ", flags="MAP_PRIVATE|MAP_ANONYMOUS"), rows
    assert {text["filename"] for _, text in rows if "filename" in text and "dfd" not in text} == {name}, rows


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_pointers_are_named_by_what_they_point_to(guest: Guest, tmp_path: Path) -> None:
    """As /proc/kallsyms of the guest has it; and so does a recording."""
    env, path = ssh_to(guest, tmp_path), str(tmp_path / "made.pwr")
    spec = "f security_file_permission file->f_op file->f_inode->i_sb->s_type file"
    with subprocess.Popen([*guest.ssh_command, "while cat /proc/version; do sleep 0.1; done"], stdout=-3) as reader:
        made = run("record", spec, "--target", address(guest), "--count", "40", "-o", path, env=env)
        live = run("run", spec, "--target", address(guest), "--json", "--count", "5", env=env)
        reader.terminate()
    assert (made.status, live.status) == (0, 0), (made, live)
    listed = guest.run("cat /proc/kallsyms").decode().split("\n")
    names = {int(words[0], 16): words[2] for line in listed if len(words := line.split()) > 2}
    rows = [*run("run", spec, "--target", path, "--json").objects, *live.objects]
    assert len(rows) >= 40
    for row in rows:
        for field in ("f_op", "s_type"):
            assert row["text"][field] == names[int(row["values"][field])]
        assert row["text"]["file"] == hex(int(row["values"]["file"])), "no symbol is there"
    assert {row["text"]["s_type"] for row in rows} >= {"proc_fs_type"}
    lines = run("run", spec, "--target", path).out.splitlines()
    assert any(re.search(r" file=0x\w+\{f_op=proc_\w+, s_type=proc_fs_type\}$", line) for line in lines), lines[:3]
