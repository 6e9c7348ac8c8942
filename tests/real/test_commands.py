"""The commands on a guest, as processes, and on a recording that one of them made."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernel.lab.guest import Guest
from tests.pure.commands import command
from tests.real.command import SPEC, Done, address, finish, run, ssh_to, start
from tests.real.processes import PATIENCE, descendants, remains, until
from tests.real.test_ssh_guest import is_clean, is_recording, left

__all__ = ["command"]  # a fixture

ENOUGH = 80
"""Events of the recording, at least: some rounds of the workload."""
TARGETS = pytest.mark.parametrize("where", ["guest", "recording"])


@pytest.fixture(scope="module")
def env(guest_72: Guest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return ssh_to(guest_72, tmp_path_factory.mktemp("ssh"))


@pytest.fixture(scope="module")
def recording(guest_72: Guest, env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made by `record`, of `ENOUGH` events at least."""
    path = tmp_path_factory.mktemp("recording") / "made.pwr"
    guest_72.workload(True)
    words = ["--target", address(guest_72), "--json", "--count", str(ENOUGH), "-o", str(path)]
    done = run("record", *words, SPEC, "f do_sys_openat2 filename:ustring", env=env)
    guest_72.workload(False)
    assert done.status == 0, done
    (told,) = done.objects
    held = run(str(path), "--export", "jsonl")
    assert told == {"file": str(path), "events": len(held.objects), "bytes": path.stat().st_size}
    assert told["events"] >= ENOUGH
    assert is_clean(guest_72), left(guest_72)
    return path


@pytest.fixture
def here(where: str, guest_72: Guest, env: dict[str, str], recording: Path) -> list[str]:
    """Words that name the target."""
    return ["--target", address(guest_72) if where == "guest" else str(recording)]


@TARGETS
def test_list(here: list[str], env: dict[str, str]) -> None:
    found = run("list", "vfs_read", *here, "--json", env=env)
    assert found.status == 0, found
    place = {"place": "function", "name": "vfs_read", "module": "", "kinds": ["f", "p", "r"], "reason": None}
    assert found.objects[0] == place
    assert {"vfs_readv", "vfs_readlink"} < {one["name"] for one in found.objects}
    every = run("list", *here, "--json", env=env)
    assert len(every.objects) > 40_000
    assert any(one["reason"] and not one["kinds"] for one in every.objects)


def test_list_of_few_and_of_none(recording: Path, command: Callable[..., Done]) -> None:
    here = ["--target", str(recording)]
    few = command("list", "--limit", "7", *here)
    assert (few.status, len(few.out.splitlines())) == (0, 7), few
    nothing = command("list", "no_such_thing_at_all", *here)
    assert (nothing.status, nothing.out) == (1, ""), nothing


@TARGETS
def test_show(here: list[str], env: dict[str, str]) -> None:
    plain = run("show", "vfs_read", *here, env=env)
    assert plain.status == 0, plain
    assert plain.out.splitlines()[0].startswith("ssize_t vfs_read(struct file *file, char *buf, size_t count,")


def test_show_as_json_and_of_a_type(recording: Path, command: Callable[..., Done]) -> None:
    here = ["--target", str(recording)]
    (told,) = command("show", "vfs_read", *here, "--json").objects
    assert [one["label"] for one in told["fetchargs"]][:5] == ["file", "buf", "count", "pos", "$retval"]
    (kind,) = command("show", "file", *here, "--json").objects
    assert "f_pos" in kind["definition"] and "vfs_read" in kind["takes"]
    nothing = command("show", "vfs_reed", *here)
    assert nothing.status == 1
    assert "did you mean vfs_read" in nothing.err


@TARGETS
def test_check(here: list[str], env: dict[str, str]) -> None:
    good = run("check", SPEC, *here, "--json", env=env)
    assert good.status == 0, good
    (told,) = good.objects
    assert (told["spec"], told["ok"], told["error"]) == (SPEC, True, None)
    assert re.fullmatch(
        r"f:\w+/vfs_read__exit vfs_read%return f_pos=file->f_pos count ret=\$retval", told["lowered"][0]
    )
    wrong = b"f vfs_read file->f_poss\n\nf vfs_read count\np no_such_function\nf vfs_read%return $$args\n"
    some = run("check", "--stdin", *here, "--json", env=env, stdin=wrong)
    assert some.status == 1, some
    field, fine, function, every = some.objects
    assert set(field) == {"spec", "ok", "error", "lowered", "notes"}
    assert set(field["error"]) == {"code", "message", "column", "token", "why", "nearest", "corrected"}
    assert field["error"]["corrected"] == "f vfs_read file->f_pos"
    assert "f_pos" in field["error"]["nearest"] and "did you mean" not in field["error"]["why"]
    assert (field["ok"], field["error"]["code"], field["error"]["message"]) == (
        *(False, "NO_BTF_FIELD"),
        "This field is not found.",
    )
    assert field["spec"][field["error"]["column"] :] == "f_poss"
    assert (fine["ok"], every["ok"]) == (True, True)
    assert function["error"]["code"] == "BAD_PROBE_ADDR"
    plain = run("check", "f vfs_read file->f_poss", *here, env=env)
    first, caret, *hints = plain.out.splitlines()
    assert first == "no  f vfs_read file->f_poss"
    assert first[caret.index("^") :] == "f_poss"
    assert "NO_BTF_FIELD" in caret and "f_pos" in " ".join(hints)


def test_what_check_says_is_what_the_kernel_says(guest_72: Guest, env: dict[str, str]) -> None:
    """Code, message and column of error_log, for the same lines written by hand."""
    specs = (
        "f vfs_read file->f_poss",
        "p vfs_read %nope",
        "f vfs_read%return count $retval:u7",
        "p no_such_one",
    )
    words = ("check", "--stdin", "--target", address(guest_72), "--json")
    told = run(*words, env=env, stdin="\n".join(specs).encode()).objects
    for spec, one in zip(specs, told, strict=True):
        by_hand = f"echo '{spec}' 2>/dev/null >>dynamic_events && exit 1"
        log = guest_72.run(f"cd /sys/kernel/tracing; echo >error_log; {by_hand}; cat error_log")
        head, command, caret = log.decode().splitlines()[-3:]
        assert head.partition(": error: ")[2] == one["error"]["message"]
        assert command == f"  Command: {spec}"
        assert caret.index("^") - len("  Command: ") == one["error"]["column"]


def _check_events(done: Done, number: int) -> None:
    events = done.objects
    assert len(events) == number
    assert [one["ts"] for one in events] == sorted(one["ts"] for one in events)
    reads = [one for one in events if one["event"] == "vfs_read__exit"]
    assert reads
    for one in reads:
        assert set(one) == {"ts", "cpu", "pid", "comm", "event", "values", "text"}
        assert {"f_pos", "count", "ret"} <= set(one["values"])
        assert [name for name in one["text"] if not name.startswith("__probe_")] == ["f_pos", "count", "ret"]
        assert one["text"]["__probe_func"].partition("+")[0] == "vfs_read"
        assert -40 < one["values"]["ret"] <= one["values"]["count"]
        assert one["pid"] > 0
    assert any((one["values"]["f_pos"], one["values"]["ret"]) == (2048, 1024) for one in reads)


def test_run_for_a_number_of_events(guest_72: Guest, env: dict[str, str]) -> None:
    guest_72.workload(True)
    done = run("run", SPEC, "--target", address(guest_72), "--count", "40", "--json", env=env)
    assert done.status == 0, done
    _check_events(done, 40)
    plain = run("run", SPEC, "--target", address(guest_72), "--count", "3", env=env)
    guest_72.workload(False)
    assert plain.status == 0
    for line in plain.out.splitlines():
        assert re.fullmatch(r"\d+\.\d{6} \[00[01]\] \S+-\d+ vfs_read__exit f_pos=\d+ count=\d+ ret=-?\w+", line), line
    assert len(plain.out.splitlines()) == 3
    assert is_clean(guest_72), left(guest_72)


def test_a_measured_time_is_printed_with_the_fields_of_both_ends(
    guest_72: Guest, env: dict[str, str], tmp_path: Path, command: Callable[..., Done]
) -> None:
    spec = "lat:x {f vfs_read count} to {f vfs_read%return $retval} by common_pid with count,ret"
    calls = "on raw_syscalls/sys_exit if ret < 0 && ret > -4096"
    where = ["--target", str(tmp_path / "made.pwr")]
    guest_72.workload(True)
    made = run("record", spec, calls, "--target", address(guest_72), "--count", "60", "-o", where[1], env=env)
    guest_72.workload(False)
    assert made.status == 0, made
    done = command("run", spec, *where, "--json")
    lines = command("run", spec, *where)
    table = command("run", spec, *where, "--export", "csv")
    failed = command("run", calls, *where)
    assert (done.status, lines.status, table.status, failed.status) == (0, 0, 0, 0), (done, lines, table, failed)
    assert len(done.objects) == len(lines.out.splitlines()) == len(table.out.splitlines()) - 1 > 5
    for one in done.objects:
        assert list(one["values"]) == ["lat", "count", "ret"]
        assert one["values"]["lat"] > 0 and one["values"]["ret"] <= one["values"]["count"]
    for line in lines.out.splitlines():
        assert re.search(r"__x lat=\d+ count=\d+ ret=-?\w+$", line), line
    assert table.out.splitlines()[0].split(",")[5:] == ['"lat"', '"count"', '"ret"', '"ret.name"']
    for line in failed.out.splitlines():
        assert re.search(r" sys_exit id=\d+( [a-z]\w+)? ret=-(E[A-Z0-9]+|\d{3})$", line), line
    assert re.search(r" id=\d+ [a-z]\w+ ret=-E", failed.out)
    assert is_clean(guest_72), left(guest_72)


def test_a_time_is_measured_where_the_conditions_of_its_ends_hold(guest_72: Guest, env: dict[str, str]) -> None:
    begin = "f vfs_read count if count == 4242 || count == 4243"
    spec = f"lat:x {{{begin}}} to {{f vfs_read%return $retval if ret == 4242}} by common_pid with count"
    process = start("run", spec, "--json", "--target", address(guest_72), env=env)
    session = "/sys/kernel/tracing/instances/probewright-*"
    states = f"cat {session}/tracing_on {session}/events/synthetic/pw_*/enable 2>/dev/null || true"
    assert until(lambda: guest_72.run(states).split() == [b"1", b"1"])
    for size, number in ((999, 9), (4243, 5), (4242, 3)):
        guest_72.run(f"dd if=/dev/zero of=/dev/null bs={size} count={number}")
    assert process.stdout is not None
    counts = [json.loads(process.stdout.readline())["values"]["count"] for _ in range(3)]
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert (counts, done.status, done.out) == ([4242] * 3, 0, ""), done
    assert is_clean(guest_72), left(guest_72)


def test_a_graph_of_nothing_says_so(guest_72: Guest, env: dict[str, str]) -> None:
    where = ["--target", address(guest_72), "--for", "1"]
    slow = run("graph", "vfs_read", "--depth", "1", "--slower", "60000000", *where, env=env)
    assert (slow.status, slow.out) == (1, ""), slow
    assert slow.err.endswith("probewright: no call of vfs_read that took 60,000,000 us was seen\n"), slow
    assert is_clean(guest_72), left(guest_72)


def test_run_for_a_time(guest_72: Guest, env: dict[str, str]) -> None:
    done = run("run", "p no_such_function", "--target", address(guest_72), "--for", "1", env=env)
    assert (done.status, done.out) == (1, "")
    assert "Invalid probed address or symbol" in done.err
    done = run("run", "f vfs_rename", "--target", address(guest_72), "--for", "1s", env=env)
    assert (done.status, done.out) == (0, ""), done
    assert is_clean(guest_72), left(guest_72)


def test_one_refused_probe_and_none_is_armed(guest_72: Guest, env: dict[str, str]) -> None:
    done = run("run", SPEC, "f vfs_read file->f_poss", "--target", address(guest_72), "--for", "1", env=env)
    assert (done.status, done.out) == (1, "")
    assert "This field is not found." in done.err and "f_pos" in done.err
    assert is_clean(guest_72), left(guest_72)


@pytest.mark.parametrize(
    "sign",
    [signal.SIGINT, *(pytest.param(sign, marks=pytest.mark.matrix) for sign in (signal.SIGTERM, signal.SIGHUP))],
)
def test_signals_take_the_probes_away(guest_72: Guest, env: dict[str, str], sign: signal.Signals) -> None:
    guest_72.workload(True)
    process = start("run", SPEC, "--target", address(guest_72), "--json", env=env)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["event"] == "vfs_read__exit"
    guest_72.workload(False)
    assert "pw_" in left(guest_72)
    below = descendants(process.pid)
    # As a terminal does it: the whole group hears the interrupt, ssh too.
    process.send_signal(sign)
    for pid in below:
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            os.kill(pid, signal.SIGINT)
    done = finish(process)
    assert done.status == 0, done
    assert "Traceback" not in done.err
    assert is_clean(guest_72), left(guest_72)
    assert remains(process.pid, below) == []


def catches(pid: int, sign: signal.Signals) -> bool:
    """Whether a process has a handler of its own for a signal: before that, it has not begun."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"^SigCgt:\s*([0-9a-f]+)", status, re.MULTILINE)
    return bool(found and int(found[1], 16) >> sign - 1 & 1)


@pytest.mark.parametrize(
    ("sign", "moments"),
    [
        (signal.SIGINT, (0.0, 0.5, 1.1)),
        pytest.param(signal.SIGTERM, (0.2, 0.8, 1.4), marks=pytest.mark.matrix),
    ],
)
def test_signals_before_the_first_event(
    guest_72: Guest, env: dict[str, str], sign: signal.Signals, moments: tuple[float, ...]
) -> None:
    """Also while probes are being armed."""
    for seconds in moments:
        process = start("run", SPEC, "f vfs_open%both $$args", "--target", address(guest_72), env=env)
        assert until(lambda: catches(process.pid, signal.SIGTERM))  # noqa: B023
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(seconds)
        below = descendants(process.pid)
        process.send_signal(sign)
        done = finish(process)
        # 130: it was stopped before probes were armed, while it connected.
        assert done.status in (0, 130), done
        assert "Traceback" not in done.err, done
        assert remains(process.pid, below) == []
        assert is_clean(guest_72), left(guest_72)


@pytest.mark.parametrize("form", [[], pytest.param(["--json"], marks=pytest.mark.matrix)])
def test_an_event_is_given_out_as_it_comes(guest_72: Guest, env: dict[str, str], form: list[str]) -> None:
    """Into a pipe too, and though nothing comes behind it."""
    process = start("run", "f vfs_read count if count == 4242", *form, "--target", address(guest_72), env=env)
    assert process.stdout is not None
    assert until(lambda: is_recording(guest_72))
    guest_72.run("dd if=/dev/zero of=/dev/null bs=4242 count=1")
    assert b"4242" in process.stdout.readline()
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert done.status == 0, done
    assert is_clean(guest_72), left(guest_72)


def test_a_reader_that_has_seen_enough(guest_72: Guest, env: dict[str, str]) -> None:
    """`probewright run … | head -1`."""
    guest_72.workload(True)
    process = start("run", SPEC, "--target", address(guest_72), env=env)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read()
    assert process.wait(PATIENCE) == 0
    process.stderr.close()
    guest_72.workload(False)
    assert b"Traceback" not in said and b"Error" not in said
    assert is_clean(guest_72), left(guest_72)


def test_recording_gives_what_was_recorded(recording: Path, command: Callable[..., Done]) -> None:
    done = command("run", SPEC, "--target", str(recording), "--json")
    assert done.status == 0, done
    _check_events(done, len(done.objects))
    opens = command("run", "f do_sys_openat2 filename:ustring", "--target", str(recording), "--json")
    held = command(str(recording), "--export", "jsonl")
    assert len(done.objects) + len(opens.objects) == len(held.objects) >= ENOUGH
    assert "/proc/kallsyms" in {one["values"]["filename"] for one in opens.objects}
    other = command("run", "f vfs_unlink", "--target", str(recording), "--json", "--for", "1")
    assert other.status != 0, other
    assert "record" in other.err


def test_recording_is_not_written_over(recording: Path, guest_72: Guest, env: dict[str, str]) -> None:
    before = recording.read_bytes()
    done = run("record", SPEC, "-o", str(recording), "--count", "1", "--target", address(guest_72), env=env)
    assert done.status == 2
    assert recording.read_bytes() == before


@TARGETS
def test_doctor(here: list[str], where: str, env: dict[str, str], guest_72: Guest) -> None:
    done = run("doctor", *here, "--json", env=env)
    assert done.status == (0 if where == "guest" else 3), done
    (told,) = done.objects
    assert told["release"] == guest_72.kernel.release
    assert told["functions"] > 20_000
    assert (told["leftovers"], told["usable"]) == ([], where == "guest")
    plain = run("doctor", *here, env=env)
    assert plain.status == done.status
    assert re.search(r"^  yes  fprobe events|^  yes  fprobe_events", plain.out, re.MULTILINE), plain
    assert ("probes can be armed here" if where == "guest" else "no probe can be armed here") in plain.out


def test_clean(guest_72: Guest, env: dict[str, str], recording: Path) -> None:
    """Removes what the dead left, never what belongs to others."""
    guest_72.run(
        "cd /sys/kernel/tracing; mkdir instances/probewright-4000000_1 instances/mine; "
        "echo 'p:pw_4000000_1/one vfs_read' >>dynamic_events; echo 'p:pw_4000000_1/two vfs_write' >>dynamic_events; "
        "echo 'p:mine/three vfs_read' >>dynamic_events; "
        "echo 1 >instances/probewright-4000000_1/events/pw_4000000_1/enable"
    )
    try:
        done = run("clean", "--target", address(guest_72), "--json", env=env)
        assert done.status == 0, done
        assert done.objects == [{"group": "pw_4000000_1", "removed": True, "errors": []}]
        after = guest_72.run("cd /sys/kernel/tracing; cat dynamic_events; ls instances").decode()
        assert after == "p:mine/three vfs_read\nmine\n"
    finally:
        guest_72.run("cd /sys/kernel/tracing; rmdir instances/mine; echo >dynamic_events")
    assert run("clean", "--target", address(guest_72), env=env).out == "nothing was left behind\n"
    assert run("clean", "--target", str(recording)).status == 0


def test_clean_says_what_it_could_not_remove(guest_72: Guest, env: dict[str, str]) -> None:
    guest_72.run(
        "cd /sys/kernel/tracing; mkdir instances/mine; echo 'p:pw_4000000_2/one vfs_read' >>dynamic_events; "
        "echo 1 >instances/mine/events/pw_4000000_2/one/enable"
    )
    try:
        done = run("clean", "--target", address(guest_72), "--json", env=env)
        assert done.status == 1, done
        (told,) = done.objects
        assert not told["removed"] and "in use by someone else" in told["errors"][0]
    finally:
        guest_72.run("cd /sys/kernel/tracing; echo 0 >instances/mine/events/enable; rmdir instances/mine")
    assert run("clean", "--target", address(guest_72), "--json", env=env).objects[0]["removed"]


def usage() -> list[list[str]]:
    return [
        ["run"],
        ["check"],
        ["run", SPEC, "--for", "0"],
        ["run", SPEC, "--count", "x"],
        ["list", "a", "b"],
        ["--no"],
    ]


@pytest.mark.parametrize("words", usage(), ids=" ".join)
def test_usage(command: Callable[..., Done], words: list[str]) -> None:
    done = command(*words)
    assert (done.status, done.out) == (2, ""), done
    assert "Traceback" not in done.err


NONE = ("ssh://root@127.0.0.1:1", "/no/such/file.pwr", "ssh://-x", "lab:/no/such/image", "lab:6.12,odd")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        *((target, ("list",)) for target in NONE),
        *((NONE[0], words) for words in (("run", SPEC), ("doctor",), ("clean",))),
    ],
)
def test_targets_that_are_none(command: Callable[..., Done], target: str, words: tuple[str, ...]) -> None:
    done = command(*words, "--target", target)
    assert (done.status, done.out) == (3, ""), done
    assert done.err.startswith("probewright: ") and "Traceback" not in done.err
    assert len(done.err.splitlines()) >= 2, "a way out"


def test_damaged_recording(recording: Path, tmp_path: Path, command: Callable[..., Done]) -> None:
    data = recording.read_bytes()
    bad = tmp_path / "bad.pwr"
    bad.write_bytes(b"no recording" + data[12:])
    assert command("list", "--target", str(bad)).status == 3
    bad.write_bytes(data[: len(data) * 2 // 3])
    cut: Any = command("list", "vfs_read", "--target", str(bad))
    assert "Traceback" not in cut.err
    assert cut.status in (0, 3)
