"""What a killed process would have put back stands in a file; the next start puts it back where nobody else did."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.agent import journal
from kernel.agent.journal import Journal
from kernel.agent.main import Agent, PeerGone
from kernel.cleanup import leftovers
from kernel.cleanup.owner import base36
from kernel.cleanup.undo import UndoList
from kernel.errors import FileRefused, ProbeRefused, SettingChanged
from kernel.graph.function_graph import open_graph
from kernel.graph.shared_settings import parse_functions
from kernel.local import target as local
from kernel.session.start import open_session
from kernel.target import Effect, Step
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbePlace
from tests.fake_target import ROOT, FakeTarget
from tests.pure.kernel.test_graph import PLAN, GraphTarget, settings

BOOT = "0c0ffee0-1234"
PROCESS = "100-" + str(int("abc", 36))
FILE = f"/run/probewright/{PROCESS}"
BEFORE = {"max_graph_depth": b"7\n", "set_graph_function": b"vfs_write\n"}

ENTRIES = st.lists(st.tuples(*[st.binary(max_size=30)] * 4), max_size=6)


@given(ENTRIES, st.data())
def test_what_was_written_is_read_whatever_it_holds(entries, data):
    content = f"{journal.FIRST_LINE}{BOOT}\n".encode() + b"".join(journal.line_of("+", entry) for entry in entries)
    left = list(entries)
    for _ in range(data.draw(st.integers(0, len(entries)))):
        gone = data.draw(st.sampled_from(left))
        del left[len(left) - 1 - left[::-1].index(gone)]
        content += journal.line_of("-", gone)
    assert journal.parse(content) == (BOOT, left)


def test_a_large_journal_is_read_in_one_pass():
    """A search for each line would take half a minute, and a machine's start waits for it."""
    step, other = (b"write", b"/a", b"b", b"c"), (b"write", b"/a", b"b", b"d")
    lines = [journal.line_of("+", step)] * 190_000 + [
        journal.line_of("-", other),
        journal.line_of("-", step),
    ] * 95_000
    boot, left = journal.parse(f"{journal.FIRST_LINE}{BOOT}\n".encode() + b"".join(lines))
    assert (boot, left) == (BOOT, [step] * 95_000)


@given(st.binary(max_size=200))
def test_what_is_no_journal_says_nothing(content):
    assert journal.parse(content)[1] == []


@given(ENTRIES.filter(len))
def test_a_line_that_was_cut_off_is_none(entries):
    """Its effect has not begun."""
    lines = [journal.line_of("+", entry) for entry in entries]
    content = f"{journal.FIRST_LINE}{BOOT}\n".encode() + b"".join(lines)
    for cut in range(1, len(lines[-1])):
        assert journal.parse(content[:-cut]) == (BOOT, entries[:-1])


@pytest.mark.parametrize(
    ("path", "data", "answer"),
    [
        ("instances/probewright-1_2/current_tracer", b"nop", False),
        ("dynamic_events", b"-:pw_12_9a/read\n", False),
        ("dynamic_events", b"-:synthetic/pw_12_9a__took\n", False),
        ("dynamic_events", b"-:synthetic/pw_latency\n", True),
        ("dynamic_events", b"-:synthetic/lat\n", True),
        ("max_graph_depth", b"0\n", True),
        ("options/sleep-time", b"1", True),
    ],
)
def test_what_no_name_leads_to_is_written_down(path, data, answer):
    assert journal.needs_journal(f"{ROOT}/{path}".encode(), data) is answer


@pytest.mark.parametrize(
    ("now", "expects", "answer"),
    [
        (b"3\n", b"3", True),
        (b"4\n", b"3", False),
        (b"vfs_open\nvfs_read\n", b"vfs_read\nvfs_open\n", True),
        (b"vfs_open\nvfs_read\n", b"vfs_*\n", True),
        (b"vfs_open\next4_sync [ext4]\n", b"vfs_open\next4_sync\n", True),
        (b"vfs_open\nksys_read\n", b"vfs_*\n", False),
        (b"vfs_open\n", b"vfs_open\nvfs_read\n", False),
        (b"#### all functions enabled ####\n", b"vfs_read\n", False),
        (b"#### all functions enabled ####\n", b"\n", True),
    ],
)
def test_whether_a_setting_is_as_we_made_it(now, expects, answer):
    assert journal.is_untouched(b"write", now, expects) is answer


def test_the_file_is_there_as_long_as_it_says_something(tmp_path):
    made = Journal([str(tmp_path / "no" / "such"), str(tmp_path)], "5-6")
    entry = (b"write", b"/t/max_graph_depth", b"0\n", b"3")
    made.add(b"rmdir", b"/t/instances/probewright-5_6", b"", b"")
    assert not made.path
    made.add(*entry)
    made.add(*entry)
    file = Path(made.path)
    assert file.parent.stat().st_mode & 0o777 == 0o700 and file.stat().st_mode & 0o777 == 0o600
    boot = Path(journal.BOOT_ID).read_text().strip()
    assert journal.parse(file.read_bytes()) == (boot, [entry, entry])
    made.drop(*entry)
    assert journal.parse(file.read_bytes()) == (boot, [entry])
    made.drop(*entry)
    made.drop(*entry)
    assert not file.exists()
    made.add(*entry)
    assert journal.parse(file.read_bytes()) == (boot, [entry])


def test_no_place_for_it_keeps_nobody_from_work(tmp_path):
    (tmp_path / "file").write_text("")
    made = Journal([str(tmp_path / "file" / "below")], "5-6")
    made.add(b"write", b"/t/max_graph_depth", b"0\n", b"3")
    made.drop(b"write", b"/t/max_graph_depth", b"0\n", b"3")
    assert [path.name for path in tmp_path.rglob("*")] == ["file"]


class Journaled(GraphTarget):
    """Its process keeps a journal, as a local one and the agent do."""

    def __init__(self, **more: bytes) -> None:
        super().__init__(**more)
        self.files[journal.BOOT_ID] = BOOT.encode() + b"\n"

    def guard(self, undo: Step) -> None:
        super().guard(undo)
        self._write("+", undo)

    def unguard(self, undo: Step) -> None:
        super().unguard(undo)
        self._write("-", undo)

    def die(self) -> None:
        """kill -9; whoever looks next is another process."""
        self.held.clear()
        self.guarded.clear()
        self.before = self.after = lambda step: None
        self.owner = "200_def"

    def _write(self, sign: str, step: Step) -> None:
        entry = (step.effect.value.encode(), step.path.encode(), step.data, step.expects)
        if journal.needs_journal(*entry[1:3]):
            self.files.setdefault(FILE, f"{journal.FIRST_LINE}{BOOT}\n".encode())
            self.files[FILE] += journal.line_of(sign, entry)


def test_the_name_of_the_file_is_that_of_the_process():
    target = Journaled()
    open_graph(target, PLAN)
    (found,) = leftovers.read_journals(target, ROOT)
    assert found.process == target.owner == f"100_{base36(int(PROCESS.split('-')[1]))}"


def steps_of_a_life() -> int:
    target = Journaled(**BEFORE)
    open_graph(target, PLAN).close()
    return len(target.steps)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("number", range(1, steps_of_a_life() + 1))
def test_whenever_it_is_killed_the_next_start_puts_all_back(number, moment):
    class Killed(BaseException):
        pass

    target = Journaled(**BEFORE)
    before, left = settings(target), number

    def kill(step: Step) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            target.lost = True
            raise Killed

    setattr(target, moment, kill)
    with pytest.raises(Killed):
        open_graph(target, PLAN).close()
    target.lost = False
    target.die()
    told: list[SettingChanged] = []
    for leftover in leftovers.find(target):
        assert not leftovers.remove(target, leftover, told.append)
    assert settings(target) == before
    assert not told
    assert not target.traces
    assert not [journal for journal in leftovers.read_journals(target, ROOT) if journal.steps]


def test_what_someone_changed_since_is_left_alone_and_told():
    target = Journaled(**BEFORE)
    open_graph(target, PLAN)
    target.die()
    target.files[f"{ROOT}/max_graph_depth"] = b"11\n"
    target.files[f"{ROOT}/set_graph_function"] = b"vfs_read\nvfs_open\next4_sync\n"
    target.files[f"{ROOT}/set_graph_notrace"] = b"#### no ####\n"  # put back by hand
    told: list[SettingChanged] = []
    (leftover,) = leftovers.find(target)
    assert leftover.settings >= 4
    assert not leftovers.remove(target, leftover, told.append)
    assert target.files[f"{ROOT}/max_graph_depth"] == b"11\n"
    assert parse_functions(target.files[f"{ROOT}/set_graph_function"].decode()) == (
        "vfs_read",
        "vfs_open",
        "ext4_sync",
    )
    assert target.files[f"{ROOT}/tracing_thresh"] == b"0\n"
    assert sorted(str(one).split()[0].rpartition("/")[2] for one in told) == ["max_graph_depth", "set_graph_function"]
    assert leftovers.find(target) == []


def test_a_living_session_tells_it_too_and_does_not_try_again():
    target = GraphTarget(**BEFORE)
    tracing = open_graph(target, PLAN)
    target.files[f"{ROOT}/max_graph_depth"] = b"11\n"
    (failure,) = tracing.close()
    assert isinstance(failure.error, SettingChanged) and "max_graph_depth" in str(failure.error)
    assert target.files[f"{ROOT}/max_graph_depth"] == b"11\n"
    assert tracing.close() == []
    assert not target.guarded


def test_of_an_earlier_boot_nothing_is_put_back():
    target = Journaled(**BEFORE)
    open_graph(target, PLAN)
    target.die()
    target.files[journal.BOOT_ID] = b"another\n"
    (leftover,) = leftovers.find(target)
    depth = target.files[f"{ROOT}/max_graph_depth"]
    assert not leftover.settings
    assert not leftovers.remove(target, leftover)
    assert target.files[f"{ROOT}/max_graph_depth"] == depth != BEFORE["max_graph_depth"]


def test_only_files_of_tracefs_are_written_whatever_a_journal_says():
    target = Journaled()
    lines = [
        journal.line_of("+", (b"write", path, b"1", b""))
        for path in (b"/etc/passwd", f"{ROOT}/../x".encode(), ROOT.encode())
    ]
    lines.append(journal.line_of("+", (b"rmdir", f"{ROOT}/instances/theirs".encode(), b"", b"")))
    target.files[FILE] = f"{journal.FIRST_LINE}{BOOT}\n".encode() + b"".join(lines)
    target.die()
    assert [found.steps for found in leftovers.read_journals(target, ROOT)] == [()]


def test_the_settings_of_one_that_only_looks_dead_stay():
    """Its process is not to be seen, its instance is held."""
    target = Journaled(**BEFORE)
    open_graph(target, PLAN)
    target.owner = "200_def"
    (leftover,) = leftovers.find(target)
    (why,) = leftovers.remove(target, leftover)
    assert "in use" in why
    again = leftover._replace(instance="", name="100_abc_9")  # as of a second session of that process
    (why,) = leftovers.remove(target, again)
    assert "has an instance still" in why
    assert target.files[f"{ROOT}/max_graph_depth"] == b"3\n"


def synthetic(name: str = "lat") -> Plan:
    line = f"s:synthetic/{name} u64 took"
    return Plan(Probe(ProbePlace("x")), (PlannedEvent("synthetic", name, line, f"-:synthetic/{name}"),))


def test_an_event_under_a_name_of_someone_elses_goes_with_the_dead():
    target = Journaled()
    open_session(target).probes.arm(synthetic())
    target.die()
    (leftover,) = leftovers.find(target)
    assert leftover.settings == 1
    assert not leftovers.remove(target, leftover)
    assert not target.traces and FILE not in target.files


@pytest.mark.parametrize("dead", [True, False])
def test_the_same_name_made_anew_by_someone_else_stays(dead):
    target = Journaled()
    session = open_session(target)
    session.probes.arm(synthetic())
    target.files[f"{ROOT}/dynamic_events"] = b"s:synthetic/lat\tpid_t pid\n"
    if dead:
        target.die()
        told: list[SettingChanged] = []
        (leftover,) = leftovers.find(target)
        assert not leftovers.remove(target, leftover, told.append)
        assert len(told) == 1
    else:
        (failure,) = session.close()
        assert isinstance(failure.error, SettingChanged)
    assert target.traces == ["s:synthetic/lat\tpid_t pid"]


def test_amended_steps_replace_each_other():
    target = FakeTarget({"/t/x": b"2\n"})
    undo = UndoList(target)
    plain = Step(Effect.WRITE, "/t/x", b"1\n")
    undo.do(Step(Effect.WRITE, "/t/x", b"2\n"), plain)
    undo.amend(plain, replace_step := plain._replace(expects=b"2"))
    assert target.guarded == [replace_step]
    target.before = lambda step: (_ for _ in ()).throw(FileRefused(step.path, 5))
    assert len(undo.run()) == 1
    target.before = lambda step: None
    assert undo.run() == [] and not target.guarded
    assert target.files["/t/x"] == b"1\n"


def test_a_local_process_that_is_killed_leaves_its_journal(tmp_path):
    script = (
        "import sys, time\n"
        "from kernel.local import process_journal\nfrom kernel.local.target import LocalTarget\n"
        "from kernel.target import Effect, Step\n"
        "process_journal.folders = lambda uid, environment: [sys.argv[1]]\n"
        "target = LocalTarget()\n"
        "target.guard(Step(Effect.WRITE, '/sys/kernel/tracing/max_graph_depth', b'0\\n', b'3'))\n"
        "target.guard(Step(Effect.RMDIR, '/sys/kernel/tracing/instances/probewright-1_2'))\n"
        "print('there', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"there\n"
    process.kill()
    process.communicate()
    (file,) = tmp_path.iterdir()
    assert file.name.startswith(f"{process.pid}-")
    boot, entries = journal.parse(file.read_bytes())
    assert (boot, len(entries)) == (Path(journal.BOOT_ID).read_text().strip(), 1)
    assert entries[0][1:] == (b"/sys/kernel/tracing/max_graph_depth", b"0\n", b"3")


def test_root_trusts_no_environment():
    """`sudo -E` leaves it that of a user, who would choose what root writes."""
    theirs = {"HOME": "/home/eve", "XDG_STATE_HOME": "/home/eve/state"}
    assert journal.folders(0, theirs) == ["/run/probewright"]
    assert journal.folders(1000, theirs) == ["/home/eve/state/probewright/undo"]
    target = Journaled()
    forged = journal.line_of("+", (b"write", f"{ROOT}/max_graph_depth".encode(), b"99\n", b""))
    place = "/home/eve/.local/state/probewright/undo"
    target.files |= {
        "/proc/200/status": b"Name:\tx\nUid:\t0\t0\t0\t0\n",
        "/proc/200/environ": b"HOME=/home/eve\0",
        f"{place}/{PROCESS}": f"{journal.FIRST_LINE}{BOOT}\n".encode() + forged,
    }
    target.die()
    assert leftovers.find(target) == []
    target.files["/proc/200/status"] = b"Name:\tx\nUid:\t1000\t1000\t0\t0\n"  # who they are themselves
    assert [found.settings for found in leftovers.find(target)] == [1]


def refused(path: Path) -> bool:
    try:
        os.close(journal.open_own(str(path)))
    except OSError:
        return True
    return False


def test_a_file_that_others_may_have_written_is_not_read(tmp_path, monkeypatch):
    folder = tmp_path / "undo"
    folder.mkdir(mode=0o700)
    file = folder / "5-6"
    file.write_text("x")
    file.chmod(0o600)
    assert not refused(file)
    file.chmod(0o620)
    assert refused(file)
    file.chmod(0o600)
    folder.chmod(0o777)
    assert refused(file)
    folder.chmod(0o755)
    os.symlink(file, folder / "7-8")
    assert not refused(file) and refused(folder / "7-8")
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    assert refused(file)


def test_a_pipe_in_its_place_keeps_nobody_waiting(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "5-6", 0o600)
    assert refused(tmp_path / "5-6")
    monkeypatch.setattr(local, "folders", lambda uid, environment: [str(tmp_path)])
    with pytest.raises(FileRefused):
        local.LocalTarget().read(str(tmp_path / "5-6"))
    made = Journal([str(tmp_path)], "5-6")
    made.add(b"write", b"/t/max_graph_depth", b"0\n", b"3")
    assert made.fd < 0


@pytest.mark.parametrize("room", range(0, 140, 9))
def test_what_did_not_get_in_for_want_of_room_follows(tmp_path, monkeypatch, room):
    real, left = os.write, room

    def write(fd: int, data: bytes) -> int:
        nonlocal left
        if not left:
            raise OSError(errno.ENOSPC, "no room")
        done = real(fd, data[:left])
        left -= done
        return done

    monkeypatch.setattr(os, "write", write)
    made = Journal([str(tmp_path)], "5-6")
    entries = [(b"write", b"/t/max_graph_depth", b"%d\n" % number, b"3") for number in range(4)]
    for entry in entries[:3]:
        made.add(*entry)
    made.drop(*entries[1])
    boot, found = journal.parse(Path(made.path).read_bytes())
    assert (boot, found) in [("", []), *((Path(journal.BOOT_ID).read_text().strip(), entries[:n]) for n in range(4))]
    left = 10_000
    made.add(*entries[3])
    assert journal.parse(Path(made.path).read_bytes())[1] == [entries[0], *entries[2:]]


def test_a_write_that_takes_only_a_part_is_gone_on_with(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:7]))
    made = Journal([str(tmp_path)], "5-6")
    entry = (b"write", b"/t/max_graph_depth", b"0\n", b"3")
    made.add(*entry)
    assert journal.parse(Path(made.path).read_bytes())[1] == [entry]


MACHINE = "0123456789abcdef" * 2


def lying_at(place: str, name: str, boot: str = BOOT, machine: str = MACHINE) -> Journaled:
    """A user's kernel with one journal."""
    target = Journaled()
    line = journal.line_of("+", (b"write", f"{ROOT}/max_graph_depth".encode(), b"0\n", b""))
    target.files |= {
        "/proc/200/status": b"Uid:\t1000\t1000\t0\t0\n",
        "/proc/200/environ": f"XDG_STATE_HOME={place.removesuffix('/probewright/undo')}\0".encode(),
        journal.MACHINE_ID: machine.encode() + b"\n",
        f"{place}/{name}": f"{journal.FIRST_LINE}{boot}\n".encode() + line,
    }
    target.die()
    return target


@pytest.mark.parametrize(
    ("name", "boot", "machine", "steps", "stays"),
    [
        (f"{PROCESS}-{MACHINE}", BOOT, MACHINE, [1], True),
        (f"{PROCESS}-{MACHINE}", "before", MACHINE, [], False),
        (f"{PROCESS}-{MACHINE[::-1]}", "there", MACHINE, [], True),
        (PROCESS, "there", MACHINE, [], True),
        (PROCESS, "there", "uninitialized", [], True),
        (PROCESS, BOOT, "uninitialized", [1], True),
    ],
)
def test_in_a_shared_home_those_of_other_machines_stay(name, boot, machine, steps, stays):
    """Those of an earlier boot of this one go, without a question about nothing."""
    place = "/home/ann/state/probewright/undo"
    target = lying_at(place, name, boot, machine)
    assert [found.settings for found in leftovers.find(target)] == steps
    assert (f"{place}/{name}" in target.files) is stays


def test_the_machine_is_in_the_name(monkeypatch):
    real = journal.read_whole
    monkeypatch.setattr(
        journal, "read_whole", lambda path: MACHINE.encode() if path == journal.MACHINE_ID else real(path)
    )
    assert journal.own_name().split("-")[::2] == [str(os.getpid()), MACHINE]
    monkeypatch.setattr(journal, "read_whole", lambda path: b"" if path == journal.MACHINE_ID else real(path))
    assert len(journal.own_name().split("-")) == 2


@pytest.fixture
def agent(tmp_path, monkeypatch):
    monkeypatch.setattr("kernel.agent.steps.folders", lambda uid, environment: [str(tmp_path / "undo")])
    return Agent()


def test_a_signal_while_the_agent_takes_back_loses_no_step(agent, monkeypatch):
    done: list[bytes] = []

    def perform(effect: bytes, path: bytes, data: bytes) -> None:
        agent.leave()
        done.append(path)

    monkeypatch.setattr(agent.effects, "perform", perform)
    monkeypatch.setattr(agent, "send", lambda *words: None)
    for path in (b"/t/a", b"/t/b"):
        agent.guard(0, b"write", path, b"0\n")
    with pytest.raises(PeerGone):
        agent.bye(1)
    assert done == [b"/t/b", b"/t/a"]


def test_what_is_gone_is_taken_out_of_the_agents_journal(agent, tmp_path):
    agent.guard(0, b"write", os.fsencode(tmp_path / "nothing"), b"0\n")
    assert list((tmp_path / "undo").iterdir())
    assert agent.undo() == []
    assert not list((tmp_path / "undo").iterdir())


def test_the_agent_reads_no_journal_of_others(agent, tmp_path, monkeypatch):
    sent: list[bytes] = []
    monkeypatch.setattr(agent, "send", lambda ident, op, *fields: sent.extend(fields))
    agent.guard(0, b"write", b"/t/a", b"0\n")
    path = os.fsencode(agent.effects.journal.path)
    agent.read(1, path, b"4096")
    assert sent
    os.chmod(path, 0o666)
    with pytest.raises(PermissionError):
        agent.read(1, path, b"4096")


def test_a_name_that_someone_has_taken_is_never_guarded():
    """The connection may be lost before the kernel's refusal arrives; the remote host then undoes what it guards."""
    target = Journaled()
    theirs = b"s:synthetic/lat\tpid_t pid\n"
    target.files[f"{ROOT}/dynamic_events"] = theirs
    session = open_session(target)
    guarded: list[Step] = []
    guard = target.guard

    def watched(undo: Step) -> None:
        guarded.append(undo)
        guard(undo)

    target.guard = watched  # type: ignore[method-assign]
    with pytest.raises(ProbeRefused, match="EEXIST"):
        session.probes.arm(synthetic())
    assert not [step for step in guarded if b"synthetic" in step.data]
    assert target.files[f"{ROOT}/dynamic_events"] == theirs
    session.probes.arm(synthetic("other"))
    assert next(step.data for step in guarded if step.data).strip() == b"-:synthetic/other"


def test_a_second_line_of_the_same_name_is_no_error():
    """Its event has several probes; the newest is ours."""
    target = Journaled()
    session = open_session(target)
    line = "p:lat/read vfs_read"
    target.perform(Step(Effect.APPEND, f"{ROOT}/dynamic_events", b"p:lat/read vfs_write\n"))
    session.probes.arm(Plan(Probe(ProbePlace("vfs_read")), (PlannedEvent("lat", "read", line, "-:lat/read"),)))
    assert [step.expects for step in target.guarded if step.expects] == [line.encode()]
