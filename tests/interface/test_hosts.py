"""Several hosts on the screen: their states, their events in one list, a host that dies while the others go on."""

from __future__ import annotations

import csv
import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from events.loss_counts import LossTotals
from kernel.errors import TargetUnusable
from kernel.hosts.arm_request import ArmRequest
from kernel.hosts.fleet import Fleet
from kernel.hosts.host import HostState
from kernel.watch import reconnect
from tests.fake_hist import HistKernel
from tests.interface.test_help import held
from tests.interface.widget_host import screen_text, until
from tests.pure.fake_hosts import FakeHost, Lan, ReturningHost, is_clean
from tui.app.app import Probewright
from tui.hosts.control import opening_of_fleet
from tui.hosts.screen import HostsScreen
from tui.hosts.table_export import HostsExportScreen
from tui.hosts.triggers import HostsTriggerScreen
from tui.live.details.detail_screen import DetailScreen
from widgets.dialogs.confirm import ConfirmDialog
from widgets.dialogs.help import HelpScreen
from widgets.events.host_table import HostLine, HostTable, detail_lines
from widgets.lists.tail_table import TailTable
from widgets.search_line import SearchLine
from widgets.spec.spec_editor import SpecEditor

SECOND = 10**9
SMALL = (80, 24)


@pytest.fixture
def lan() -> Lan:
    return Lan(
        FakeHost("web1", behind=100 * SECOND),
        FakeHost("web2.example.com", behind=-3 * SECOND, release="7.2.13-no_vfs_open"),
        FakeHost("slow"),
    )


@asynccontextmanager
async def running(lan: Lan, *specs: str, size: tuple[int, int] = SMALL) -> AsyncIterator[Any]:
    fleet = Fleet(specs, window=0, opener=lan.open)
    opening = opening_of_fleet(fleet)
    opening.start()
    app = Probewright(opening, None, fleet)
    try:
        async with app.run_test(size=size) as pilot:
            await until(lambda: isinstance(app.screen, HostsScreen), pilot)
            yield app, pilot
    finally:
        if app.current_watch is not None:
            app.current_watch.close()
        fleet.close()
    for host in lan.hosts.values():
        assert host.lost or is_clean(host), host.name


def text(app) -> str:
    return "\n".join(screen_text(app))


def has_rows(fleet: Fleet, number: int) -> bool:
    return fleet.events.next_seq == number


async def test_states_side_by_side_and_one_list(lan, monkeypatch):
    async with running(lan, "web1", "web2.example.com", "ssh://gone") as (app, pilot):
        fleet = app.hosts.fleet
        fleet.arm(ArmRequest(("f vfs_read",)))
        await until(lambda: "2 of 3 armed, 1 failed" in text(app), pilot)
        rows = text(app).splitlines()
        assert re.search(r"web1 +6\.12\.0 +● armed", rows[1]), rows
        assert re.search(r"web2\.ex\S* +7\.2\.13 +● armed", rows[2]), rows
        assert re.search(r"gone +✗ unreachable", rows[3]), rows
        assert all(len(row) <= 80 for row in rows)
        assert re.search(r"±\d\S*[µm]?s *$", rows[1]), "the clock"
        before = fleet.clock() - SECOND
        lan.hosts["web1"].event(fleet.clock(), pid=11)
        await until(lambda: re.search(r"\d\d:\d\d:\d\d\.\d{6} +web1 +0 +pid 11 +vfs_read", text(app)), pilot)
        lan.hosts["web2.example.com"].event(before, pid=22)
        await until(lambda: re.search(r"web2.*\(late\) +0 +pid 22", text(app)), pilot)
        await until(lambda: app.screen._line.state.row_count == 2, pilot)
        with monkeypatch.context() as patch:
            patch.setattr(type(fleet.events), "first_seq", 1)
            app.screen.tick()
            assert app.screen._line.state.row_count == 1, "the other one was dropped"
        # What is said of the one that is not there, with the way out.
        await pilot.press("shift+tab")
        assert app.focused is app.screen.query_one(HostTable)
        await pilot.press("down", "down")
        await until(lambda: "Connection refused" in text(app) and "check that sshd runs there" in text(app), pilot)


async def test_a_filter_holds_for_the_events_of_all_hosts_also_of_those_that_come(lan):
    async with running(lan, "web1", "web2.example.com") as (app, pilot):
        fleet = app.hosts.fleet
        fleet.arm(ArmRequest(("f vfs_read",)))
        await until(lambda: "2 of 2 armed" in text(app), pilot)
        for number, host in enumerate(("web1", "web2.example.com", "web1", "web2.example.com")):
            lan.hosts[host].event(fleet.clock(), pid=5 + number % 3)
            await until(partial(has_rows, fleet, number + 1), pilot)
        shown = app.screen._shown
        await pilot.press("f", *"pid == 5")
        await until(lambda: "2 of 4 events" in text(app), pilot)
        assert shown.filtered.passing == 4, "it is only typed"
        await pilot.press("escape")
        await until(lambda: app.focused is app.screen._events.table, pilot)
        assert "filter" not in text(app).splitlines()[-2]
        await pilot.press("f", *"pid == 5", "enter")
        await until(lambda: shown.filtered.passing == 2, pilot)
        await until(lambda: "2 of 4 events" in text(app).splitlines()[-2], pilot)
        assert {shown.item(row).pid for row in range(shown.first, shown.next)} == {5}
        assert {shown.item(row).host for row in range(shown.first, shown.next)} == {
            "web1",
            "web2.example.com",
        }
        lan.hosts["web1"].event(fleet.clock(), pid=6)
        lan.hosts["web2.example.com"].event(fleet.clock(), pid=5)
        await until(lambda: "3 of 6 events" in text(app).splitlines()[-2], pilot)
        found = shown.find("web2", shown.next - 1, -1, 60)
        assert found.seq == shown.next - 1 and shown.find("-6 ", 0, 1, 60).seq is None
        await pilot.press("f", "ctrl+u", *"nosuch == 1", "enter")
        await until(lambda: "no field nosuch" in text(app), pilot)
        await pilot.press("escape", "f", "ctrl+u", "enter")
        await until(lambda: shown.filtered.passing == 6, pilot)
        table = app.screen._events.table
        table.go_to(shown.first)
        await pilot.press("f", *"pid == 5", "enter")
        await until(lambda: shown.filtered.passing == 3, pilot)
        await until(lambda: not table.follow.following and table.cursor == shown.first, pilot)


async def test_a_host_that_dies_is_marked_and_the_others_go_on(lan):
    async with running(lan, "web1", "web2.example.com") as (app, pilot):
        fleet = app.hosts.fleet
        fleet.arm(ArmRequest(("f vfs_read",)))
        await until(lambda: "2 of 2 armed" in text(app), pilot)
        lan.hosts["web1"].event(fleet.clock(), pid=1)
        await until(lambda: "pid 1 " in text(app), pilot)
        lan.hosts["web1"].lost = True
        await until(lambda: "✗ lost" in text(app) and "the connection was lost" in text(app), pilot)
        assert "web1 is lost: the connection was lost; r tries again, the others go on" in " ".join(text(app).split())
        lan.hosts["web2.example.com"].event(fleet.clock(), pid=2)
        await until(
            lambda: re.search(r"web2\S+(?: \(late\))? +0 +pid 2 ", text(app)) and "pid 1 " in text(app), pilot
        )
        dead, lan.hosts["web1"] = lan.hosts["web1"], FakeHost("web1")
        await pilot.press("r")
        await until(lambda: "2 of 2 armed" in text(app), pilot)
        assert dead.closed


async def test_a_host_whose_line_is_cut_is_tried_again_and_its_gap_is_a_row(lan, monkeypatch):
    monkeypatch.setattr(reconnect, "PAUSES", (3600.0,))
    web1 = lan.hosts["web1"] = ReturningHost("web1")
    async with running(lan, "web1", "web2.example.com") as (app, pilot):
        fleet = app.hosts.fleet
        fleet.arm(ArmRequest(("f vfs_read",)))
        await until(lambda: "2 of 2 armed" in text(app), pilot)
        assert not app.check_action("reconnect", ())
        web1.cut(TargetUnusable("no route to web1"))
        await until(lambda: re.search(r"web1 .*… cut \d+ s", text(app)), pilot)
        await until(lambda: "1 of 2 armed, 1 disconnected" in text(app), pilot)
        await pilot.press("shift+tab")
        await until(lambda: "again in 3" in text(app) and "F8 gives up: no route to web1" in text(app), pilot)
        assert all(len(row) <= 80 for row in text(app).splitlines())
        lan.hosts["web2.example.com"].event(fleet.clock(), pid=2)
        await until(lambda: re.search(r"web2\S+(?: \(late\))? +0 +pid 2 ", text(app)), pilot)
        web1.refuse = None
        await pilot.press("f7")
        await until(lambda: "2 of 2 armed" in text(app) and "line_cut" in text(app), pilot)
        web1.event(fleet.clock(), pid=3)
        await until(lambda: re.search(r"web1 +0 +pid 3 ", text(app)), pilot)
        assert "! gap " in text(app) and not app.check_action("give_up", ()), text(app)
        web1.cut(TargetUnusable("no route to web1"))
        await until(lambda: web1.tried == 3 and app.check_action("give_up", ()), pilot)
        await pilot.press("f8")
        await until(lambda: "✗ lost" in text(app) and "1 of 2 armed, 1 failed" in text(app), pilot)


async def test_a_host_that_owes_an_answer_is_silent_while_the_others_go_on(lan):
    web1 = lan.hosts["web1"] = ReturningHost("web1")
    async with running(lan, "web1", "web2.example.com") as (app, pilot):
        app.hosts.fleet.arm(ArmRequest(("f vfs_read",)))
        await until(lambda: "2 of 2 armed" in text(app) and text(app).count("● armed") == 2, pilot)
        web1.last_received = web1.unanswered = time.monotonic() - 120
        await until(lambda: re.search(r"web1 .*✗ silent 12\d s +0", text(app)), pilot)
        await until(lambda: "2 of 2 armed, 1 silent" in text(app) and "● armed" in text(app), pilot)
        await pilot.press("shift+tab")
        await until(lambda: re.search(r"last heard 12\d s ago", text(app)), pilot)
        assert all(len(row) <= 80 for row in text(app).splitlines())
        web1.last_received, web1.unanswered = time.monotonic(), None
        await until(lambda: text(app).count("● armed") == 2 and "silent" not in text(app), pilot)


async def test_what_was_built_is_armed_on_all_and_each_kernel_says_its_own(lan, monkeypatch):
    from probes.command import parse_armable
    from tui.compose.specification_control import SpecificationControl

    monkeypatch.setattr(SpecificationControl, "current", property(lambda self: parse_armable("f vfs_open")))
    async with running(lan, "web1", "web2.example.com") as (app, pilot):
        await until(lambda: text(app).count("○ open") == 2, pilot)
        await pilot.press("a")
        await until(lambda: "1 of 2 armed, 1 failed: f vfs_open" in text(app), pilot)
        assert re.search(r"✗ refused", text(app))
        await pilot.press("a")
        await until(lambda: "arming on 1 host: f vfs_open; the others have it" in text(app), pilot)
        await until(lambda: "1 of 2 armed, 1 failed: f vfs_open" in text(app), pilot)
        assert lan.hosts["web1"].files["/sys/kernel/tracing/dynamic_events"].decode().count("f:") == 1
        await pilot.press("shift+tab", "down")
        await until(lambda: "vfs_open is not there" in text(app), pilot)
        await pilot.press("D")
        await until(lambda: isinstance(app.screen, ConfirmDialog), pilot)
        await pilot.press("y")
        await until(lambda: text(app).count("○ open") == 2, pilot)
        assert "f:" not in lan.hosts["web1"].files["/sys/kernel/tracing/dynamic_events"].decode()


class HistHost(HistKernel, FakeHost):
    """A host with hist triggers."""


async def test_a_trigger_for_all_makes_the_histograms_of_all_and_they_are_given_out(tmp_path):
    lan = Lan(HistHost("web1"), HistHost("web2"))
    async with running(lan, "web1", "web2") as (app, pilot):
        fleet = app.hosts.fleet

        async def given_out(title: str) -> str:
            await pilot.press("o")
            await until(lambda: isinstance(app.screen, HostsExportScreen), pilot)
            dialog = app.screen
            place = [one.title for one in dialog._offered].index(title)
            dialog.query_one(SearchLine).value = str(tmp_path / title.replace(":", ""))
            await pilot.press(*["down"] * place)
            await until(lambda: dialog._list.cursor == place, pilot)
            path = Path(dialog.query_one(SearchLine).value)
            await pilot.press("enter")
            await until(lambda: isinstance(app.screen, HostsScreen) and path.exists(), pilot)
            return path.read_bytes().decode()

        await pilot.press("b")
        await until(lambda: "[histograms]" in text(app) and "T gives all one" in text(app), pilot)
        await pilot.press("T")
        await until(lambda: any("no host has a probe" in one.text for one in app.notice_lines), pilot)
        fleet.arm(ArmRequest(("f vfs_read",)))
        await until(lambda: "2 of 2 armed" in text(app), pilot)
        await pilot.press("T")
        await until(lambda: isinstance(app.screen, HostsTriggerScreen), pilot)
        await pilot.press(*"hist:keys=nosuch", "enter")
        await until(lambda: "✗" in text(app) or "nosuch" in text(app), pilot)
        assert isinstance(app.screen, HostsTriggerScreen), "no kernel takes it"
        await pilot.press("ctrl+u", *"hist:keys=common_pid", "enter")
        await until(lambda: text(app).count("hist:keys=common_pid:vals=hitcount") == 2, pilot)
        for host, hits in zip(fleet.hosts, (3, 4), strict=True):
            for _ in range(hits):
                lan.hosts[host.name].hit(host.watch.armed.probes[0].plan.events[0].path)
        await until(lambda: "3 hits, 1 entry" in text(app) and "4 hits, 1 entry" in text(app), pilot)
        assert "not filtered" not in text(app), "there is no filter"
        found = [json.loads(line) for line in (await given_out("histograms: JSON lines")).splitlines()]
        assert [(one["host"], one["hits"]) for one in found] == [("web1", 3), ("web2", 4)]
        lan.hosts["web2"].event(fleet.clock(), pid=1)
        await until(partial(has_rows, fleet, 1), pilot)
        rows = list(csv.DictReader((await given_out("hosts: CSV")).splitlines()))
        assert [(row["host"], row["state"], row["events"]) for row in rows] == [
            ("web1", "armed", "0"),
            ("web2", "armed", "1"),
        ]
        await pilot.press("e")
        await until(lambda: "[histograms]" not in text(app) and app.focused is app.screen._events.table, pilot)
        assert not fleet.wants_tables


async def test_the_trigger_of_a_pasted_program_is_offered_to_all_hosts(monkeypatch):
    lan = Lan(HistHost("web1"), HistHost("web2"))
    async with running(lan, "web1", "web2") as (app, pilot):
        fleet, wanted = app.hosts.fleet, "hist:keys=common_pid"
        meant = {"vfs_read": ("hist:keys=nosuch", wanted)}
        monkeypatch.setattr(
            app.places.compose.specification.triggers, "translated", lambda probe: meant.get(probe.subject, ())
        )
        fleet.arm(ArmRequest(("f vfs_read",)))
        await until(lambda: "2 of 2 armed" in text(app), pilot)
        await pilot.press("T")
        await until(lambda: isinstance(app.screen, HostsTriggerScreen), pilot)
        assert app.screen.query_one(SearchLine).value == wanted, "what no kernel takes is not offered"
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, HostsScreen), pilot)
        await until(lambda: all(has_trigger(host, wanted) for host in fleet.hosts), pilot)
        await pilot.press("T")
        await until(lambda: isinstance(app.screen, HostsTriggerScreen), pilot)
        assert app.screen.query_one(SearchLine).value == ""
        await pilot.press(*wanted)
        await until(lambda: "They have this trigger already" in text(app), pilot)


def has_trigger(host, wanted):
    """Whether the probe of a host has a trigger."""
    watch = host.watch
    return any(there == wanted for armed in watch.armed.probes for _, there in watch.session.probes.triggers(armed))


async def test_keys_hold_the_list_search_it_and_lead_away(lan):
    async with running(lan, "web1", "web2.example.com") as (app, pilot):
        fleet = app.hosts.fleet
        fleet.arm(ArmRequest(("f vfs_read",)))
        await until(lambda: "2 of 2 armed" in text(app), pilot)
        for pid in range(1, 22):
            name = "web1" if pid % 10 else "web2.example.com"
            lan.hosts[name].event(fleet.clock() - SECOND + pid, pid=pid)
            await until(partial(has_rows, fleet, pid), pilot)
        table = app.screen.query_one(TailTable)
        await pilot.press("space")
        assert not table.follow.following
        await pilot.press("slash", *"web2", "enter")
        await until(lambda: table.cursor == 19, pilot)
        await pilot.press("N")
        await until(lambda: table.cursor == 9, pilot)
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, DetailScreen) and "─ web2.example.com" in text(app), pilot)
        await pilot.press("escape")
        await until(lambda: isinstance(app.screen, HostsScreen), pilot)
        held(app.screen)
        await pilot.press("escape", "f1")
        await until(lambda: isinstance(app.screen, HelpScreen), pilot)
        assert "Several hosts" in text(app)
        await pilot.press("escape", "escape")
        await until(lambda: app.current_mode == "compose", pilot)
        await pilot.press("f9")
        assert app.current_mode == "hosts"


@pytest.mark.parametrize("rows", [4, 24])
async def test_f6_leads_from_the_hosts_to_the_text_of_a_probe(lan, rows):
    """Nobody was there before."""
    async with running(lan, "web1", "web2", size=(80, rows)) as (app, pilot):
        await until(lambda: app.planner is not None, pilot)
        await pilot.press("f6")
        await until(lambda: isinstance(app.focused, SpecEditor), pilot)
        assert app.current_mode == "compose"


async def test_the_workbench_has_the_first_host_that_could_be_opened(lan):
    async with running(lan, "ssh://gone", "web1", "web2.example.com") as (app, pilot):
        await until(lambda: app.planner is not None, pilot)
        assert app.planner.info.target.name == "web1"
        app.planner.info.close()
        assert not lan.hosts["web1"].closed, "it is only lent"


async def test_a_pause_holds_a_picture_that_has_room_below_its_rows(lan):
    async with running(lan, "web1") as (app, pilot):
        fleet = app.hosts.fleet
        fleet.arm(ArmRequest(("f vfs_read",)))
        await until(lambda: "1 of 1 armed" in text(app), pilot)
        lan.hosts["web1"].event(fleet.clock(), pid=11)
        await until(lambda: "pid 11 " in text(app), pilot)
        await pilot.press("space")
        lan.hosts["web1"].event(fleet.clock(), pid=22)
        table = app.screen.query_one(TailTable)
        await until(lambda: table.follow.new == 1, pilot)
        assert "pid 22 " not in text(app) and "pid 11 " in text(app)
        with pytest.MonkeyPatch.context() as patch:  # a field comes with the first probe that records one
            patch.setattr(app.screen._shown, "fields", lambda: ("count",))
            app.screen.tick()
        assert not table.follow.following and table.follow.new == 1 and "pid 22 " not in text(app)
        await pilot.press("down")
        await until(lambda: "pid 22 " in text(app), pilot)
        await pilot.press("up")
        assert "pid 22 " in text(app), "once seen it stays"
        await pilot.press("space")
        assert table.follow.following


async def test_the_other_places_say_that_hosts_have_probes_and_what_was_armed_on_one_only(lan, monkeypatch):
    from probes.command import parse_armable
    from tui.compose.specification_control import SpecificationControl
    from tui.messages import ProbeArmed

    async with running(lan, "web1", "web2.example.com") as (app, pilot):
        await until(lambda: app.current_watch is not None, pilot)
        await pilot.press("f3")
        await until(lambda: "nothing is armed: F2, a function, Enter, Enter arms one" in text(app), pilot)
        app.hosts.fleet.arm(ArmRequest(("f vfs_read",)))
        await pilot.press("f9")
        await until(lambda: "2 of 2 armed" in text(app), pilot)
        await pilot.press("o")
        await until(lambda: "run … -t A -t B -o FILE" in text(app), pilot)
        await pilot.press("escape", "f3")
        await until(lambda: "2 hosts have probes; F9 shows the hosts" in text(app), pilot)
        built = parse_armable("f vfs_open")
        monkeypatch.setattr(SpecificationControl, "current", property(lambda self: built))
        app.post_message(ProbeArmed(built, ()))
        await until(lambda: "armed on web1 only; F9, a arms on all hosts" in text(app), pilot)
        app.post_message(ProbeArmed(parse_armable("f vfs_read"), ()))
        await until(lambda: "armed on web1 only; F9, F5 arms on all hosts" in text(app), pilot)


async def test_a_preset_is_chosen_for_all_while_the_workbench_waits(lan):
    from tui.dialogs.preset_screen import PresetScreen

    async with running(lan, "slow", "web1") as (app, pilot):
        await until(lambda: "○ open" in text(app), pilot)
        assert app.planner is None, "the first host is waited for"
        await pilot.press("f5")
        await until(lambda: isinstance(app.screen, PresetScreen), pilot)
        await pilot.press(*"who-kills")
        await until(lambda: "accepted by Linux 6.12.0-fake" in text(app), pilot)
        lan.held.set()
        await until(lambda: app.planner is not None, pilot)
        assert isinstance(app.screen, PresetScreen), "nobody takes it from who chooses"
        await pilot.press("escape")


async def test_the_verdict_on_a_preset_comes_when_a_host_is_open(lan):
    from tui.dialogs.preset_screen import PresetScreen

    async with running(lan, "slow") as (app, pilot):
        await pilot.press("f5")
        await until(lambda: isinstance(app.screen, PresetScreen), pilot)
        await pilot.press(*"who-kills")
        await until(lambda: "✗ no target is open yet" in text(app), pilot)
        await pilot.press("enter")
        await until(lambda: any("no target is open yet" in one.text for one in app.notice_lines), pilot)
        lan.held.set()
        await until(lambda: "✓ accepted by Linux 6.12.0-fake" in text(app), pilot)
        assert "no target is open yet; " not in text(app)
        await pilot.press("escape")


async def test_it_ends_while_a_host_is_being_opened(lan):
    async with running(lan, "web1", "slow") as (app, pilot):
        await until(lambda: "… opening" in text(app) and "○ open" in text(app), pilot)
        await pilot.press("ctrl+q")
    assert [host.state for host in app.hosts.fleet.hosts] == [HostState.CLOSED, HostState.UNREACHABLE]


def test_nothing_hostile_reaches_the_screen():
    bad = "\x1b[31m[red]\n"
    host = HostLine(
        bad, bad, "refused", bad, reason=bad, remedy=bad, notes=(bad,), losses=LossTotals(1), lowered=(bad,)
    )
    for line in (*detail_lines(host), *detail_lines(HostLine("x", notes=(bad,), lowered=(bad, bad)))):
        assert "\x1b" not in line[0] and "\n" not in line[0]


async def test_who_reads_an_event_stays_there_when_tasks_get_names():
    lan = Lan(FakeHost("web1"), FakeHost("web2"))
    async with running(lan, "web1", "web2") as (app, pilot):
        fleet, table = app.hosts.fleet, app.screen._events.table
        fleet.arm(ArmRequest(("f vfs_read",)))
        await until(lambda: "2 of 2 armed" in text(app), pilot)
        for n in range(60):
            lan.hosts[("web1", "web2")[n % 2]].event(fleet.clock(), pid=812 if n % 3 else 4242)
            if n % 10 == 9:
                await until(partial(has_rows, fleet, n + 1), pilot)
        comm = fleet.events.record(1).comm
        await pilot.press("f", *f"comm == {comm}", "enter")
        await until(lambda: app.screen._shown.filtered.passing == 40, pilot)
        await pilot.press(*["up"] * 8)
        held, above = app.screen._shown.item(table.cursor).ts, table.cursor - table.window.top
        for host in lan.hosts.values():
            for name in list(host.files):
                if name.endswith("saved_cmdlines"):
                    host.files[name] += f"4242 {comm}\n".encode()
        await until(lambda: app.screen._shown.filtered.passing == 60, pilot)
        assert not table.follow.following and app.screen._shown.item(table.cursor).ts == held
        assert table.cursor - table.window.top == above
