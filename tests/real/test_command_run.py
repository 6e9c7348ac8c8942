"""`run SPEC… -- COMMAND`: on a guest only what the command and its children do is recorded, and it ends with us."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernel.commands.held_program import HeldProgram
from kernel.errors import CommandNotStarted
from kernel.lab.guest import Guest
from probes.plans.plan import Via
from probes.syntax.parse import parse_probe
from tests.real import command
from tests.real.command import Done, address, finish, ssh_to, start
from tests.real.guest_watch import rows_of, watch_of
from tests.real.held import bring_in
from tests.real.processes import descendants, until
from tests.real.test_ssh_guest import is_clean, left
from tui.live.command.command_start import hold_command
from tui.live.command.recorders import Recorders
from widgets.terminal.command_dialog import CommandWanted

READ = 777
NEIGHBOUR = f"""
import os, time
fd = os.open("/etc/hostname", os.O_RDONLY)
while True:
    os.pread(fd, {READ}, 0)
    if not os.fork():
        os.pread(fd, {READ}, 0)
        os.execv("/bin/true", ["true"])
    os.wait()
    time.sleep(0.15)
"""
WORK = f"""
import os, threading
fd = os.open("/etc/hostname", os.O_RDONLY)
tasks = [os.getpid()]
print("begun", flush=True)
def read():
    os.pread(fd, {READ}, 0)
read()
for _ in range(3):
    child = os.fork()
    if not child:
        grandchild = os.fork()
        if not grandchild:
            read()
            os._exit(0)
        os.waitpid(grandchild, 0)
        read()
        os._exit(0)
    tasks.append(child)
    os.waitpid(child, 0)
thread = threading.Thread(target=lambda: (tasks.append(threading.get_native_id()), read()))
thread.start()
thread.join()
os.spawnv(os.P_WAIT, "/bin/true", ["true"])
print("tasks", *tasks, flush=True)
os.write(2, b"no end of a line")
os._exit(7)
"""
READS, EXECS = 8, 2
STAYS = 'trap "" HUP; echo begun; sleep 4321 & sleep 4321; wait'


@pytest.fixture
def env(guest: Guest, tmp_path: Path) -> dict[str, str]:
    return ssh_to(guest, tmp_path)


@pytest.fixture
def neighbour(guest: Guest) -> Iterator[None]:
    """A task that does all the time what the command does."""
    guest.run(f"cat >/tmp/neighbour.py <<'END'\n{NEIGHBOUR}\nEND")
    pid = guest.run("python3 -S /tmp/neighbour.py >/dev/null 2>&1 & echo $!").split()[0].decode()
    yield
    guest.run(f"kill -9 {pid}; rm /tmp/neighbour.py")


def events_of(done: Done) -> list[dict[str, Any]]:
    return [one for one in done.objects if "event" in one]


def lines_of(done: Done, stream: str) -> list[str]:
    return [one["text"] for one in done.objects if one.get("stream") == stream]


def check_work(done: Done, *, execs: int) -> None:
    """What was recorded is what the command did."""
    assert done.status == 7, done
    events = events_of(done)
    reads = [one for one in events if int(one["values"].get("count", 0)) == READ]
    assert len(reads) == READS, done
    begun, tasks = lines_of(done, "stdout")
    assert begun == "begun"
    told = [int(word) for word in tasks.split()[1:]]
    # A child and its child read in this order; the thread comes last.
    assert reads[0]["pid"] == told[0] and reads[-1]["pid"] == told[-1]
    assert [one["pid"] for one in reads[2:-1:2]] == told[1:-1]
    assert len({one["pid"] for one in reads}) == READS
    assert lines_of(done, "stderr") == ["no end of a line"]
    times = [one["ts"] for one in done.objects]
    assert times == sorted(times)
    executed = [one for one in events if one["event"] == "sched_process_exec"]
    assert len(executed) == execs
    if execs:
        assert events[0] is executed[0] and events[0]["pid"] == told[0]
    # Its first line stands between its first event and those of its children.
    objects = [("pid" in one, one.get("pid"), one.get("text")) for one in done.objects]
    written = objects.index((False, None, "begun"))
    assert 0 < written < next(place for place, one in enumerate(objects) if one[1] in told[1:])


@pytest.mark.usefixtures("neighbour")
@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_only_the_command_and_its_children_are_recorded(guest: Guest, env: dict[str, str], tmp_path: Path) -> None:
    words = ("-t", address(guest), "--json", "--", "python3", "-S", "-c", WORK)
    check_work(command.run("run", "t sched_process_exec", "f vfs_read count", *words, env=env), execs=EXECS)
    check_work(command.run("run", "f vfs_read count", "--via", "bpf", *words, env=env), execs=0)
    # In a recording, too.
    file = tmp_path / "command.pwr"
    done = command.run("record", "f vfs_read count", "-o", str(file), "-t", *words[1:2], *words[3:], env=env)
    assert done.status == 7 and "begun" in done.err, done
    held = command.run("run", "f vfs_read count", "--json", "-t", str(file))
    assert sum(int(one["values"]["count"]) == READ for one in held.objects) == READS
    lines = command.run("--export", "jsonl", "-t", str(file), "--filter", "stream ~ *").objects
    assert [one["values"] for one in lines if one["values"]["stream"] == "err"] == [
        {"stream": "err", "text": "no end of a line"}
    ]
    assert {(one["event"], one["comm"], one["cpu"]) for one in lines} == {("command/output", "python3", -1)}
    every = command.run("--export", "jsonl", "-t", str(file))
    times = [one["ts"] for one in every.objects]
    assert times == sorted(times) and "came late" not in done.err + every.err
    assert f"{len(lines)} lines of the command" in done.out
    # Counted by programs of the kernel: those of the command alone, too.
    done = command.run("run", "f vfs_read count", "--by", "count", "--hist", *words, env=env)
    groups = [one for one in done.objects if str(READ) in json.dumps(one)]
    assert len(groups) == 1 and READS in [int(value) for value in _numbers(groups[0])], done


def _numbers(value: object) -> list[int]:
    if isinstance(value, dict):
        return [number for part in value.values() for number in _numbers(part)]
    return [value] if isinstance(value, int) else []


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_a_number_behind_null_is_a_fault(guest: Guest, env: dict[str, str], tmp_path: Path) -> None:
    """A pipe has no position: what tracefs leaves in its field is told from the pointer, in a recording, too."""
    file = tmp_path / "null.pwr"
    work = ("--", "sh", "-c", "echo 1 | cat; head -n 1 /etc/hostname")
    spec = "f vfs_read pos pos[0]"
    done = command.run("record", spec, "-o", str(file), "-t", address(guest), *work, env=env)
    assert done.status == 0, done
    recorded = events_of(command.run("--export", "jsonl", "-t", str(file)))
    by_programs = events_of(command.run("run", spec, "--via", "bpf", "--json", "-t", address(guest), *work, env=env))
    for events in (recorded, by_programs):
        reads = [one["values"] for one in events if "pos" in one["values"]]
        told = {(int(values["pos"]) != 0, values["pos_0"] is not None) for values in reads}
        assert told == {(False, False), (True, True)}, events


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_the_wait_for_the_release_is_no_read(guest: Guest) -> None:
    """Its end would be recorded: by then the task is one of those that are."""
    with watch_of(guest) as watch:
        watch.armed.arm(parse_probe("f vfs_read%return count"))
        program = HeldProgram(watch.info.target, ["head", "-n1", "/etc/hostname"])
        with contextlib.closing(program):
            watch.task_limit.set((program.pid,))
            program.release()
            assert program.wait(60)
            bring_in(watch)
        counts = [row["count"] for row in rows_of(watch, "vfs_read__exit") if row["thread"] == program.pid]
        assert len(counts) > 0 and 1 not in counts


@pytest.mark.parametrize("via", [Via.TRACEFS, Via.BPF])
@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_what_runs_the_command_opens_no_file_of_note(guest: Guest, via: Via) -> None:
    """Python starts on the target while probes are armed, and opens dozens of files."""
    with watch_of(guest) as watch:
        watch.planner.via = via
        watch.armed.arm(parse_probe("f do_sys_openat2 filename:string"))
        wanted = CommandWanted("head -n 1 /etc/hostname", limits_tasks=True)
        recorders = Recorders((watch,))
        seen = 0
        for _ in range(2):
            with pytest.raises(CommandNotStarted):
                hold_command(watch.info.target, recorders, wanted._replace(line="no-such-command"), (24, 80))
            program = hold_command(watch.info.target, recorders, wanted, (24, 80))
            with contextlib.closing(program):
                program.release()
                assert program.wait(60)
                bring_in(watch)
            rows = rows_of(watch, "do_sys_openat2__entry")
            opened = [(row["thread"], row["filename"]) for row in rows[seen:]]
            assert opened[-1] == (program.pid, "/etc/hostname")
            assert {pid for pid, _ in opened} == {program.pid}, opened
            seen = len(rows)
            assert recorders.record_all() == ""


@pytest.mark.usefixtures("neighbour")
@pytest.mark.parametrize("guest", ["6.1"], indirect=True)
def test_an_older_kernel_records_the_command_alone(guest: Guest, env: dict[str, str]) -> None:
    words = ("-t", address(guest), "--json", "--", "python3", "-S", "-c", WORK)
    check_work(command.run("run", "p vfs_read count=$arg3:u64", *words, env=env), execs=0)
    # Programs on single functions are all that it has.
    check_work(command.run("run", "f vfs_read count", "--via", "bpf", *words, env=env), execs=0)


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_the_end_of_the_command_is_ours(guest: Guest, env: dict[str, str]) -> None:
    def run(*words: str, options: tuple[str, ...] = ()) -> Done:
        return command.run("run", "f vfs_read count", "-t", address(guest), *options, "--", *words, env=env)

    done = run("sh", "-c", 'printf "a\\tb\\033[31mred\\n"; kill -SEGV $$')
    assert done.status == 128 + signal.SIGSEGV and "sh was ended by SIGSEGV" in done.err, done
    assert "\\x1b[31mred" in done.err and "\x1b" not in done.err
    done = run("no-such-command")
    assert done.status == 127 and "no-such-command: No such file" in done.err, done
    done = run("/etc/hostname")
    assert done.status == 126, done
    done = run("sh", "-c", STAYS, options=("--for", "2"))
    assert done.status == 124 and "[out] begun" in done.err, done
    assert is_clean(guest), left(guest)
    done = run("sh", "-c", "while :; do read -r line </etc/hostname; done", options=("--count", "5"))
    assert done.status == 124 and len(done.out.splitlines()) == 5, done
    assert is_clean(guest), left(guest)
    # More than one reader takes at once: all of it comes, and the command waits meanwhile.
    done = run("sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' x; exit 3", options=("--summary",))
    assert done.status == 3, done.status
    assert done.err.count("x") >= 5_000_000


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_ctrl_c_goes_to_the_command_first(guest: Guest, env: dict[str, str]) -> None:
    process = _begun(guest, env, 'trap "echo asked to end; exit 9" INT; echo begun; while :; do sleep 0.1; done')
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert done.status == 9 and "asked to end" in lines_of(done, "stdout"), done
    # One that does not listen is ended.
    process = _begun(guest, env, 'trap "" INT TERM; echo begun; while :; do sleep 0.1; done')
    process.send_signal(signal.SIGINT)
    assert finish(process).status == 124
    assert is_clean(guest), left(guest)


def _begun(guest: Guest, env: dict[str, str], script: str) -> subprocess.Popen[bytes]:
    """A command that has written its first line on the guest."""
    words = ("f vfs_read count", "-t", address(guest), "--reconnect", "0", "--json", "--", "sh", "-c", script)
    process = start("run", *words, env=env)
    assert process.stdout is not None
    while (line := process.stdout.readline()) and b'"begun"' not in line:
        pass
    assert line, finish(process)
    return process


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_kill_9_leaves_neither_command_nor_probes(guest: Guest, env: dict[str, str]) -> None:
    process = _begun(guest, env, STAYS)
    assert "sleep" in left(guest)
    process.kill()
    finish(process)
    assert is_clean(guest), left(guest)

    for which in (min, max):  # the connection, and the session of the command
        process = _begun(guest, env, STAYS)
        os.kill(which(pid for pid, name in descendants(process.pid).items() if name == "ssh"), signal.SIGKILL)
        done = finish(process)
        assert done.status == 125, done
        assert is_clean(guest), left(guest)

    for victim in ("agent", "runner"):
        process = _begun(guest, env, STAYS)
        number = _served_by(guest, has_child=victim == "runner")
        guest.run(f"kill -9 {number}")
        assert finish(process).status in (125, 128 + signal.SIGKILL), victim
        # A killed agent leaves its probes to the next start, as ever; the command is gone.
        assert until(lambda: "sleep" not in left(guest)), left(guest)
        assert command.run("clean", "-t", address(guest), env=env).status == 0
        assert is_clean(guest), left(guest)


def _served_by(guest: Guest, *, has_child: bool) -> str:
    """Process on the guest that runs the command, or else the agent."""
    show = "p=${p%/comm}; echo ${p#/proc/} $(cat $p/task/*/children)"
    script = f"for p in $(grep -l '^python3$' /proc/[0-9]*/comm); do {show}; done"
    rows = [row.split() for row in guest.run(script).decode().splitlines()]
    (runner,) = [row for row in rows if len(row) > 1]
    (agent,) = [row[0] for row in rows if row[0] not in runner]  # a child of the runner guards it
    return runner[0] if has_child else agent
