"""`run` on several hosts, which are dicts: one stream, each host accounted for, and the exit status."""

from __future__ import annotations

import csv
import json
import re
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

import tui.cli.commands.hosts
import tui.cli.host_stream.stream
from events.loss_counts import LossTotals
from events.store.outage_mark import Outage
from kernel.errors import TargetLost, TargetUnusable
from kernel.guards.limits import Limits
from kernel.guards.row_bounds import HEADLESS
from kernel.hosts.arm_request import ArmRequest
from kernel.hosts.fleet import Fleet
from kernel.hosts.host import Host
from kernel.target import Step
from kernel.watch import reconnect
from tests.json_reader import read_line
from tests.pure.fake_hosts import FakeHost, Lan, ReturningHost, is_clean
from tests.pure.tui.test_otlp import Collector, value_of
from tui.cli.args.parser import parse
from tui.cli.main import run
from tui.hosts.host_text import HostAccount
from tui.present.loss_totals import hit_lines

SECOND = 10**9
RELEASE = "7.2.0-no_vfs_open"


@pytest.fixture
def lan(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lan]:
    made = Lan(FakeHost("one", behind=50 * SECOND), FakeHost("two", release=RELEASE))
    monkeypatch.setattr(tui.cli.commands.hosts, "Fleet", partial(Fleet, opener=made.open))
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield made
    made.over.set()
    for number, handler in before.items():
        signal.signal(number, handler)
    assert all(is_clean(host) and (host.closed or not host.steps) for host in made.hosts.values())


def feed(lan: Lan, *events: tuple[str, int]) -> None:
    """Events as soon as their hosts are armed: name of the host, number of the task."""

    def put() -> None:
        for name, pid in events:
            host = lan.hosts[name]
            while not any("/instances/" in path and path.endswith("vfs_read/enable") for path in list(host.files)):
                if lan.over.wait(0.01):  # nothing was to be armed
                    return
            host.event(time.time_ns(), pid=pid)

    threading.Thread(target=put, daemon=True).start()


def objects(text: str) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Events, and what is said of each host."""
    found = [read_line(line) for line in text.splitlines()]
    return [one for one in found if "event" in one], {one["host"]: one for one in found if "state" in one}


def targets(*names: str) -> list[str]:
    return [word for name in names for word in ("-t", f"ssh://{name}")]


def test_one_stream_with_the_host_in_each_object(lan, capsys):
    feed(lan, ("one", 1), ("two", 2), ("one", 3))
    status = run(parse(["run", "f vfs_read", *targets("one", "two"), "--json", "--count", "3", "--window", "1"]))
    events, hosts = objects(capsys.readouterr().out)
    assert status == 0
    assert [(one["host"], one["pid"]) for one in events] == [("one", 1), ("two", 2), ("one", 3)]
    for one in events:
        behind = lan.hosts[one["host"]].behind
        assert (
            abs(one["time"] - one["ts"] - behind) <= hosts[one["host"]]["clock"]["uncertainty"] + one["uncertainty"]
        )
    assert {name: (one["state"], one["events"], one["left"]) for name, one in hosts.items()} == {
        "one": ("closed", 2, []),
        "two": ("closed", 1, []),
    }


def test_text_has_the_host_as_a_column_and_says_what_became_of_each(lan, capsys):
    feed(lan, ("one", 1))
    status = run(parse(["run", "f vfs_read", *targets("one", "gone"), "--count", "1", "--window", "0.1"]))
    told = capsys.readouterr()
    assert status == 4
    (line,) = told.out.splitlines()
    assert line.split()[1:5] == ["one", "[000]", "pid", "1"]
    assert "probewright: gone: unreachable: ssh://gone: Connection refused\n  check that sshd runs there" in told.err
    assert "probewright: one: armed, Linux 6.12.0-fake x86-64, clock 0 at " in told.err
    assert "probewright: one: 1 event, lost 0, missed ?, dropped 0, unread 0" in told.err


def test_a_host_that_is_silent_as_all_ends_is_not_told_as_whole(lan, capsys):
    one = lan.hosts["one"]

    def vanish(step: Step) -> None:
        one.vanish()
        raise TargetLost("ssh://one: no answer for 10 s")

    def put() -> None:
        feed(lan, ("one", 1))
        while not one.pages.taken:
            time.sleep(0.01)
        one.before = vanish
        one.event(time.time_ns(), pid=1)

    threading.Thread(target=put, daemon=True).start()
    assert run(parse(["run", "f vfs_read", *targets("one", "two"), "--count", "2", "--window", "0.1"])) == 4
    told = capsys.readouterr().err
    assert "probewright: one: lost: ssh://one: no answer for 10 s" in told
    assert "losses and hits as of before it was lost" in next(
        line for line in told.splitlines() if "one: 2 events" in line
    )


@pytest.mark.parametrize(
    ("hosts", "spec", "status"),
    [
        (("gone", "away"), "f vfs_read", 3),
        (("two", "gone"), "f vfs_open", 1),
        (("two", "one"), "f vfs_open", 4),
        (("one", "two"), "nosuch probe", 1),
    ],
)
def test_the_status_says_whether_all_some_or_none_did_it(lan, capsys, hosts, spec, status):
    assert run(parse(["run", spec, *targets(*hosts), "--json", "--for", "0.3"])) == status
    capsys.readouterr()


@pytest.mark.parametrize("words", [["--summary"], ["--hist"]])
def test_what_is_for_one_host_is_said_to_be(lan, capsys, words):
    assert run(parse(["run", "f vfs_read", *targets("one", "two"), *words])) == 2
    assert "is for one host" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--export", "text"], "text: a kernel prints no host in its lines; of several hosts there are jsonl, csv, "),
        (["-o", "x.folded"], "folded: a line is a stack and a number, and has no place for a host"),
        (["--export", "nosuch"], "nosuch: no format of exports"),
    ],
)
def test_a_format_that_has_no_place_for_hosts_is_refused_before_any_is_opened(lan, capsys, words, why):
    assert run(parse(["run", "f vfs_read", *targets("one", "two"), *words])) == 2
    assert why in capsys.readouterr().err
    assert not any(host.steps for host in lan.hosts.values())


def exported(lan: Lan, *words: str) -> int:
    feed(lan, ("one", 1), ("two", 2), ("one", 3))
    asked = ["run", "f vfs_read", *targets("one", "gone", "two"), "--count", "3", "--window", "1"]
    return run(parse([*asked, *words]))


def test_a_table_of_all_hosts(lan, capsys, tmp_path):
    path = tmp_path / "all.csv"
    assert exported(lan, "-o", str(path)) == 4
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [(row["host"], row["pid"]) for row in rows] == [("one", "1"), ("two", "2"), ("one", "3")]
    for row in rows:
        behind = int(row["time"]) - int(row["ts"])
        assert abs(behind - lan.hosts[row["host"]].behind) <= 2 * int(row["uncertainty"])
    told = capsys.readouterr()
    assert f"{path}: 3 events, " in told.err and "probewright: one: 2 events, lost 0" in told.err
    assert not told.out


def test_what_goes_to_standard_output_is_nothing_but_the_events(lan, capfdbinary):
    assert exported(lan, "--export", "jsonl", "--json") == 4
    told = capfdbinary.readouterr()
    found = [json.loads(line) for line in told.out.splitlines()]
    assert [(one["host"], one["pid"]) for one in found] == [("one", 1), ("two", 2), ("one", 3)]
    assert b"probewright: gone: unreachable" in told.err and b"probewright: two: 1 event" in told.err


def test_with_json_the_file_and_the_hosts_are_told_as_objects(lan, capsys, tmp_path):
    path = tmp_path / "all.pftrace"
    assert exported(lan, "-o", str(path), "--json") == 4
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["host"] for one in found if "host" in one] == ["one", "gone", "two"]
    (file,) = (one for one in found if "file" in one)
    assert (file["format"], file["events"], file["bytes"]) == ("perfetto", 3, path.stat().st_size)


def test_a_row_of_files_is_of_all_hosts(lan, capsys, tmp_path):
    assert exported(lan, "--export", f"jsonl:{tmp_path}/") == 4
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("probewright-hosts-")
    assert [json.loads(line)["host"] for line in path.read_text().splitlines()] == ["one", "two", "one"]
    assert f"{tmp_path}: 3 events in 1 file" in capsys.readouterr().err


@pytest.fixture
def receiver() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.server.shutdown()
    made.server.server_close()
    made.thread.join()


def test_a_collector_gets_each_host_as_a_resource(lan, capsys, monkeypatch, receiver):
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "host.name=mine,deployment.environment=test")
    began = time.time_ns()
    assert exported(lan, "--export", f"otlp:{receiver.url}") == 4
    found = []
    while not receiver.requests.empty():
        for part in receiver.requests.get().resource_logs:
            where = {one.key: value_of(one.value) for one in part.resource.attributes}
            assert where["deployment.environment"] == "test"
            assert where["os.version"] == (RELEASE if where["host.name"] == "two" else "6.12.0-fake")
            for log in (log for scope in part.scope_logs for log in scope.log_records):
                values = {one.key: value_of(one.value) for one in log.attributes}
                found.append((where["host.name"], values["thread.id"]))
                assert began <= log.time_unix_nano <= time.time_ns(), "by the clock of this machine"
    assert sorted(found) == [("one", 1), ("one", 3), ("two", 2)]
    assert f"{receiver.url}/v1/logs: 3 events" in capsys.readouterr().err


def test_a_file_that_is_there_is_not_written_over_and_no_host_is_touched(lan, capsys, tmp_path):
    path = tmp_path / "all.csv"
    path.write_text("mine")
    assert exported(lan, "-o", str(path)) == 2
    told = capsys.readouterr().err
    assert "is there already; --overwrite" in told and "one:" not in told
    assert path.read_text() == "mine" and not any(host.steps for host in lan.hosts.values())


def test_columns_are_known_when_every_host_has_come_to_something(lan, capsys, tmp_path):
    """What came before that waits for it."""
    lan.hosts["slow"] = FakeHost("slow")
    path = tmp_path / "all.csv"
    feed(lan, ("one", 1))

    def open_slow() -> None:
        while not lan.hosts["one"].pages.taken:
            threading.Event().wait(0.01)
        feed(lan, ("slow", 2))
        lan.held.set()

    threading.Thread(target=open_slow, daemon=True).start()
    words = ["run", "f vfs_read", *targets("one", "slow"), "--count", "2", "--window", "0.1", "-o", str(path)]
    assert run(parse(words)) == 0
    assert [row["host"] for row in csv.DictReader(path.read_text().splitlines())] == ["one", "slow"]
    capsys.readouterr()


def test_a_group_that_is_not_there(lan, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert run(parse(["run", "f vfs_read", "-g", "nosuch"])) == 3
    assert "no group is named nosuch\n  write [hosts.nosuch] into" in capsys.readouterr().err


def test_other_commands_take_one_target(capsys):
    with pytest.raises(SystemExit) as ended:
        parse(["list", "-t", "local", "-t", "lab"])
    assert ended.value.code == 2 and "takes one --target" in capsys.readouterr().err


def test_a_host_whose_line_is_cut_is_told_and_the_status_says_so(lan, capsys):
    feed(lan, ("one", 1), ("two", 2))

    def cut() -> None:
        while not lan.hosts["two"].pages.taken:
            threading.Event().wait(0.01)
        lan.hosts["two"].lost = True

    threading.Thread(target=cut, daemon=True).start()
    status = run(parse(["run", "f vfs_read", *targets("one", "two"), "--json", "--for", "5", "--window", "0.1"]))
    told = capsys.readouterr()
    events, hosts = objects(told.out)
    assert status == 4 and {one["host"] for one in events} == {"one", "two"}
    assert (hosts["one"]["state"], hosts["two"]["state"]) == ("closed", "lost")
    assert "probewright: two: lost: the connection was lost" in told.err
    lan.hosts.pop("two")


def test_a_host_whose_line_is_cut_comes_back_and_the_gap_is_told(lan, capsys, monkeypatch):
    monkeypatch.setattr(reconnect, "PAUSES", (0.01,))
    two = lan.hosts["two"] = ReturningHost("two")
    feed(lan, ("one", 1), ("two", 2))
    told_of_cut = threading.Event()
    say = tui.cli.host_stream.stream._print_line

    def said(host: Host, text: str) -> None:
        say(host, text)
        if text.startswith("cut: "):
            told_of_cut.set()

    monkeypatch.setattr(tui.cli.host_stream.stream, "_print_line", said)

    def cut() -> None:
        while not two.pages.taken:
            threading.Event().wait(0.01)
        two.cut(TargetUnusable("no route to two"))
        assert told_of_cut.wait(60)
        two.refuse = None
        feed(lan, ("two", 3))

    threading.Thread(target=cut, daemon=True).start()
    words = ["run", "f vfs_read", *targets("one", "two"), "--json", "--count", "4", "--window", "0.1"]
    status = run(parse(words))
    told = capsys.readouterr()
    events, hosts = objects(told.out)
    assert status == 0
    assert [one["event"] for one in events if one["host"] == "two"] == ["vfs_read", "line_cut", "vfs_read"]
    (mark,) = (one for one in events if one["event"] == "line_cut")
    (seconds,) = hosts["two"]["gaps"]
    (gap,) = hosts["two"]["cuts"]
    assert gap["seconds"] == seconds == (gap["back"] - gap["lost"]) // 1_000_000 / 1000
    note = Outage(**gap).text
    assert note.startswith("disconnected for ") and note.endswith("; events of that time are lost")
    assert mark["values"] == {**gap, "note": note} and type(mark["values"]["seconds"]) is float
    assert {name: str(text) for name, text in mark["text"].items()} == {
        name: str(value) for name, value in mark["values"].items()
    }
    first = next(one["ts"] for one in events if one["host"] == "two")
    assert first <= gap["lost"] <= gap["back"]
    assert mark["comm"] == "" and "late" not in mark
    assert (hosts["one"]["gaps"], len(hosts["two"]["gaps"]), hosts["two"]["state"]) == ([], 1, "closed")
    assert told.err.count("probewright: two: cut: the connection was lost; trying again") == 1
    assert "probewright: two: disconnected for " in told.err


def test_a_host_that_falls_silent_is_told_once_and_so_is_its_answer(lan, capsys, monkeypatch):
    two = lan.hosts["two"] = ReturningHost("two")
    feed(lan, ("two", 2))
    said: list[str] = []
    silent, answered = threading.Event(), threading.Event()

    def say(host: Host, text: str) -> None:
        said.append(f"{host.name}: {text}")
        if "last heard" in text:
            silent.set()
        if "heard again" in text:
            answered.set()

    monkeypatch.setattr(tui.cli.host_stream.stream, "_print_line", say)

    def freeze() -> None:
        while not two.pages.taken:
            threading.Event().wait(0.01)
        two.last_received = two.unanswered = time.monotonic() - 7
        assert silent.wait(60)
        two.last_received, two.unanswered = time.monotonic(), None
        assert answered.wait(60)
        feed(lan, ("one", 1))

    threading.Thread(target=freeze, daemon=True).start()
    assert run(parse(["run", "f vfs_read", *targets("one", "two"), "--count", "2", "--window", "0.1"])) == 0
    about = [text for text in said if "heard" in text]
    assert len(about) == 2 and re.fullmatch(r"two: last heard \d+ s ago", about[0]), said
    assert about[1] == "two: heard again"
    capsys.readouterr()


def test_a_host_that_is_still_tried_at_the_end_is_lost_and_told_so(lan, capsys):
    two = lan.hosts["two"] = ReturningHost("two")
    feed(lan, ("two", 2))

    def cut() -> None:
        while not two.pages.taken:
            threading.Event().wait(0.01)
        two.cut(TargetUnusable("no route to two"))
        while not two.tried:
            threading.Event().wait(0.01)
        feed(lan, ("one", 1))

    threading.Thread(target=cut, daemon=True).start()
    words = ["run", "f vfs_read", *targets("one", "two"), "--json", "--count", "2", "--window", "0.1"]
    assert run(parse(words)) == 4
    told = capsys.readouterr()
    _, hosts = objects(told.out)
    assert {name: one["state"] for name, one in hosts.items()} == {"one": "closed", "two": "lost"}
    lost = "probewright: two: lost: given up after [0-9]+ s: no route to two\n  .*removes its probes by itself"
    assert len(re.findall(lost, told.err)) == 1, told.err


def test_nobody_tries_again_where_that_is_not_wanted(lan, capsys):
    two = lan.hosts["two"] = ReturningHost("two")
    feed(lan, ("two", 2))

    def cut() -> None:
        while not two.pages.taken:
            threading.Event().wait(0.01)
        two.cut()

    threading.Thread(target=cut, daemon=True).start()
    assert run(parse(["run", "f vfs_read", *targets("two", "gone"), "--json", "--reconnect", "0"])) == 3
    events, hosts = objects(capsys.readouterr().out)
    assert (hosts["two"]["state"], two.tried) == ("lost", 0)
    assert [one["event"] for one in events] == ["vfs_read", "line_cut"]
    assert "back" not in events[1]["values"] and events[1]["values"]["lost"] >= events[0]["ts"]
    assert "and not reconnected" in events[1]["values"]["note"]


def test_what_its_store_dropped_while_it_waited_is_counted_as_not_shown(lan, capsys):
    order = ArmRequest(("f vfs_read",))
    fleet = Fleet(["one"], window=100 * SECOND, opener=lan.open, bounds=HEADLESS._replace(rows=1))
    stream = tui.cli.host_stream.stream.HostStream(fleet, order, as_json=True, most=0)
    try:
        fleet.open()
        fleet.arm(order)
        assert fleet.wait(60)
        (host,) = fleet.hosts
        for waiting in range(3000, 24_001, 3000):
            for _ in range(10):
                lan.hosts["one"].event(fleet.clock(), times=300)
            end = time.monotonic() + 60
            while host.watch.store.next_seq < waiting:
                assert time.monotonic() < end
                fleet.tick()
        assert host.watch.store.first_seq > 3000, "older ones went to make room"
        stream.finish()
    finally:
        fleet.close()
    stream.account(as_json=True)
    events, hosts = objects(capsys.readouterr().out)
    assert hosts["one"]["unshown"] >= 3000
    assert len(events) + hosts["one"]["unshown"] == 24_000


def test_hits_of_all_hosts_are_by_one_name():
    names = []
    for group in ("pw_169_8p", "pw_136_a9"):
        hits = {f"{group}/read__entry": 7, f"synthetic/{group}__slow_open": 2, "sched/sched_switch": 1}
        account = HostAccount(0, LossTotals(), 0, 0, None, hits)
        names.append(account.json(Host("ssh://one", "one", Limits()))["hits"])
    told = HostAccount(0, LossTotals(), 0, 0, None, {"g/a": 3, "g/b": 9}, {"g/a": 1_111, "g/b": 9})
    assert list(hit_lines(told.hits, told.all_hits)) == ["a: 3 hits that pass the filter, of 1,111", "b: 9 hits"]
    assert told.json(Host("ssh://one", "one", Limits()))["all_hits"] == {"g/a": 1_111, "g/b": 9}
    assert names == [{"read__entry": 7, "slow_open": 2, "sched/sched_switch": 1}] * 2
