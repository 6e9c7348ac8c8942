"""Tables of hist triggers of several hosts: each's at the end of `run`, as text and objects, after a cut too."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tui.cli.commands.hosts
from kernel.errors import FileRefused, TargetUnusable
from kernel.hosts.arm_request import ArmRequest
from kernel.hosts.fleet import Fleet
from kernel.hosts.host import HostState
from kernel.watch import reconnect
from kernel.watch.hist_tables import events_with_tables
from tests.pure.fake_hosts import FakeHost, Lan, ReturningHost
from tests.pure.kernel.test_hosts import until
from tui.cli.args.parser import parse
from tui.cli.commands.hosts import order_of
from tui.cli.main import run
from tui.cli.tables.hist_printer import print_host_tables
from tui.hosts.tables import lines_of_hosts

TRIGGER = "hist:keys=common_pid"
FILE = """# event histogram
#
# trigger info: hist:keys=common_pid:vals=hitcount:sort=hitcount:size=2048 [active]
#

{ common_pid:        812 } hitcount:          %d

Totals:
    Hits: %d
    Entries: 1
    Dropped: 0
"""


class Counted:
    """Kernel whose histograms have counted so many hits; negative: it does not let them be read."""

    hits = 0

    def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        if path.endswith("/hist"):
            if self.hits < 0:
                raise FileRefused(path, 5)
            return (FILE % (self.hits, self.hits)).encode()
        return super().read(path, limit, offset)  # type: ignore[misc, no-any-return]


class CountingHost(Counted, FakeHost):
    pass


class ReturningCountingHost(Counted, ReturningHost):
    pass


@pytest.fixture
def lan(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lan]:
    made = Lan(CountingHost("one"), CountingHost("two"), ReturningCountingHost("three"))
    monkeypatch.setattr(tui.cli.commands.hosts, "Fleet", partial(Fleet, opener=made.open))
    monkeypatch.setattr(reconnect, "PAUSES", (0.01,))
    for number, host in enumerate(made.hosts.values(), 3):
        host.hits = number  # type: ignore[attr-defined]
    yield made
    made.over.set()


def arguments(*more: str) -> list[str]:
    return ["run", "f vfs_read", "-t", "ssh://one", "-t", "ssh://two", "--trigger", TRIGGER, "--for", "0.1", *more]


def tables(text: str) -> list[dict[str, Any]]:
    return [one for one in map(json.loads, text.splitlines()) if one.get("summary") == "hist"]


def test_each_hosts_tables_are_objects_with_its_name(lan, capsys):
    assert run(parse(arguments("--json"))) == 0
    found = tables(capsys.readouterr().out)
    assert [(one["host"], one["event"], one["hits"], one["cuts"]) for one in found] == [
        ("one", "vfs_read", 3, 0),
        ("two", "vfs_read", 4, 0),
    ]
    assert found[0]["entries"] == [
        {"keys": [{"name": "common_pid", "text": "812", "number": 812}], "values": {"hitcount": 3}}
    ]


def test_as_text_each_stands_below_its_host(lan, capsys):
    assert run(parse(arguments())) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "one:" and lines[1].startswith(f"vfs_read {TRIGGER}")
    assert [line for line in lines if "hits" in line] == ["3 hits, 1 entry", "4 hits, 1 entry"]
    assert lines.index("two:") > lines.index("3 hits, 1 entry")


def test_one_that_cannot_be_read_is_told(lan, capsys):
    fleet = Fleet(["ssh://one"], opener=lan.open)
    fleet.open()
    fleet.arm(order_of(parse(arguments())))
    assert fleet.wait(60)
    assert fleet.hosts[0].state is HostState.ARMED, fleet.hosts[0].reason
    lan.hosts["one"].hits = -1
    fleet.close()
    print_host_tables(fleet.hosts[0], as_json=True)
    told = capsys.readouterr()
    assert not told.out and "one: the tables of hist triggers can't be read: " in told.err


def test_what_was_counted_before_a_cut_is_said_to_be_gone(lan, capsys):
    fleet = Fleet(["ssh://three"], opener=lan.open)
    (host,) = fleet.hosts
    fleet.open()
    fleet.arm(order_of(parse(arguments())))
    assert fleet.wait(60)
    lan.hosts["three"].cut()
    until(fleet, lambda: host.watch is not None and len(host.watch.outages) == 1 and host.trying is None)
    fleet.close()
    print_host_tables(host, as_json=True)
    assert [(one["host"], one["hits"], one["cuts"]) for one in tables(capsys.readouterr().out)] == [("three", 5, 1)]
    print_host_tables(host, as_json=False)
    assert "counted since the reconnection" in capsys.readouterr().out


def test_of_a_host_that_is_lost_nothing_is_read_and_that_is_said(lan, capsys):
    fleet = Fleet(["ssh://three"], opener=lan.open, patience=0)
    (host,) = fleet.hosts
    fleet.open()
    fleet.arm(order_of(parse(arguments())))
    assert fleet.wait(60)
    lan.hosts["three"].cut(TargetUnusable("no route"))
    until(fleet, lambda: host.state.failed)
    fleet.close()
    print_host_tables(host, as_json=True)
    told = capsys.readouterr()
    assert not told.out and "three: the tables of hist triggers can't be read: " in told.err


def given_out(tmp_path: Path, view: str, form: str) -> str:
    path = tmp_path / f"{view}.{form}"
    assert run(parse(arguments("--view", view, "--export", f"{form}:{path}"))) == 0
    return path.read_bytes().decode()


def test_the_tables_of_all_are_one_file_that_has_what_json_prints(lan, capsys, tmp_path):
    assert run(parse(arguments("--json"))) == 0
    printed = tables(capsys.readouterr().out)
    assert tables(given_out(tmp_path, "histograms", "jsonl")) == printed
    told = capsys.readouterr()
    assert not told.out and "2 histograms, 2 entries" in told.err and "3 hits" not in told.err
    rows = list(csv.DictReader(io.StringIO(given_out(tmp_path, "histograms", "csv"), newline="")))
    assert [(row["host"], row["key.common_pid"], row["hits"]) for row in rows] == [
        ("one", "812", ""),
        ("one", "", "3"),
        ("two", "812", ""),
        ("two", "", "4"),
    ]


def test_how_each_host_was_is_a_table_too(lan, capsys, tmp_path):
    objects = [json.loads(line) for line in given_out(tmp_path, "hosts", "jsonl").splitlines()]
    assert [(one["host"], one["state"], one["lost"]) for one in objects] == [
        ("one", "closed", 0),
        ("two", "closed", 0),
    ]
    told = capsys.readouterr()
    assert "hosts.jsonl: 2 hosts, " in told.err and "3 hits, 1 entry" in told.err, "the tables are told beside it"
    (first, _) = csv.DictReader(io.StringIO(given_out(tmp_path, "hosts", "csv"), newline=""))
    assert (first["target"], first["events"], first["cuts"], first["gap"]) == ("ssh://one", "0", "0", "0.000")
    assert first["lowered"].startswith("f:pw_") and int(first["uncertainty"]) >= 0


def test_where_nothing_was_armed_there_is_no_file(lan, capsys, tmp_path):
    path = tmp_path / "x.csv"
    words = ["run", "f vfs_read", "-t", "ssh://gone", "-t", "ssh://away", "--view", "hosts", "-o", str(path)]
    assert run(parse(words)) == 3
    assert not path.exists() and "Connection refused" in capsys.readouterr().err


def test_a_trigger_can_be_ordered_for_what_is_armed_and_goes_with_it(lan):
    trigger = ArmRequest((), triggers=(TRIGGER,))
    assert trigger.title == TRIGGER
    fleet = Fleet(["ssh://one", "ssh://three"], opener=lan.open)
    one, three = fleet.hosts
    fleet.open()
    fleet.arm(ArmRequest(("f vfs_read",)))
    assert fleet.arm(trigger) == 2 and fleet.wait(60)
    assert fleet.arm(trigger) == 0, "they have it"
    for host in fleet.hosts:
        assert host.state is HostState.ARMED and host.done.notes == (f"{TRIGGER} on vfs_read",), host.reason
    fleet.look()
    until(fleet, lambda: one.counts is not None and three.counts is not None)
    assert not one.tables, "nobody looks at them"
    fleet.wants_tables = True
    until(fleet, lambda: looked(fleet) and one.tables and three.tables)
    lan.hosts["three"].cut()
    until(fleet, lambda: three.watch is not None and len(three.watch.outages) == 1 and three.trying is None)
    assert three.watch is not None
    assert len(events_with_tables(three.watch.armed)) == 1, "it came back with its trigger"
    until(fleet, lambda: looked(fleet) and any("since the reconnection" in text for text in lines(fleet)))
    lan.hosts["one"].hits = -1
    until(fleet, lambda: looked(fleet) and any("one: can't be read: " in text for text in lines(fleet)))
    assert one.tables, "those of before stay"
    fleet.disarm()
    until(fleet, lambda: fleet.settled and one.state is HostState.OPEN)
    fleet.arm(trigger)
    until(fleet, lambda: one.state is HostState.REFUSED)
    assert "no probe is armed here that could take the trigger" in one.reason
    fleet.close()


def test_a_trigger_that_no_event_takes_is_refused_and_the_probe_goes_on(lan):
    fleet = Fleet(["ssh://one"], opener=lan.open)
    (host,) = fleet.hosts
    fleet.open()
    fleet.arm(ArmRequest(("f vfs_read",)))
    fleet.arm(ArmRequest((), triggers=("hist:keys=nosuch",)))
    assert fleet.wait(60)
    assert (
        host.state is HostState.ARMED
        and "nosuch" in host.reason
        and host.watch is not None
        and host.watch.armed.probes
    )
    fleet.close()


def looked(fleet: Fleet) -> bool:
    fleet.look()
    return True


def lines(fleet: Fleet) -> list[str]:
    return [one.text for one in lines_of_hosts(fleet.hosts)]
