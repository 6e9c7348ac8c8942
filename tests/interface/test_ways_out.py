"""Each way out by a key that a message offers is taken, in a state in which it is offered; there are no others."""

from __future__ import annotations

import ast
import re
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from textual.widgets import Input

from kernel.errors import KernelError, TargetUnusable
from kernel.guards.limits import REMEDY
from kernel.hosts.arm_request import ArmRequest
from kernel.session.probe_steps import Mode
from probes import remedies
from probes.command import parse_armable
from probes.facts.program_support import ProgramSupport
from probes.plans.graph_plan import GraphPlan
from probes.plans.plan import Via
from tests.interface.test_app import SIZE, application, kernel_only, open_compose, recording, says
from tests.interface.test_guards import ask_for, living
from tests.interface.test_hosts import ReturningHost, lan, running
from tests.interface.test_reconnect import Side, keys, live
from tests.interface.widget_host import screen_text, until
from tui import kernel_jobs
from tui.app.typed_ahead import PAUSE
from tui.compose.screen import ComposeScreen
from tui.dialogs import dialogs
from tui.dialogs.preset_screen import PresetScreen
from tui.dialogs.target_screen import TargetScreen
from tui.hosts.host_row import host_line
from tui.hosts.screen import HostsScreen
from tui.hosts.triggers import HostsTriggerScreen
from tui.live.details.detail_screen import DetailScreen
from tui.live.losses import LossScreen
from tui.live.triggers import TriggerScreen
from tui.present import ways_out
from tui.present.option_keys import BEHIND_DIALOG, WHERE_BUILT, WHERE_SHOWN
from tui.present.ways_out import WAYS
from tui.views.graph.view import GraphView
from widgets.dialogs.choose import ChoiceDialog
from widgets.dialogs.confirm import ConfirmDialog
from widgets.dialogs.error_dialog import ErrorDialog
from widgets.dialogs.progress import ProgressDialog
from widgets.functions.function_list import FunctionList
from widgets.search_line import NameLine, SearchLine
from widgets.way_out import Way

__all__ = ["kernel_only", "lan", "living", "recording"]

ROOT = Path(__file__).parents[2]
TABLES = {
    *("tui/present/ways_out.py", "widgets/way_out.py", "tui/help.py", "tui/commands.py", "tui/docs/manpage.py"),
    *("tui/docs/keys.py", "probes/export/fleets/ansible_parts.py"),
}
"""Files that name keys and are held against the bindings elsewhere: `test_help`, `test_docs`."""
NAMES_KEY = re.compile(
    r"\bF[1-9]\b|\bEsc\b|\bTab\b|\^[A-Z]\b|"
    r"(?<![\w'])[a-zA-Z] (?:tries|takes|disarms|says|shows|opens|chooses|goes|traces|gives|arms)\b"
)
DRAWN = {
    "what is ticked forms a probe here; : or F6 to type one": "test_typed_spec, test_app_keys",
    "F6, tab": "test_enter",
    "Tab takes": "test_enter",
    "a time: t goes to one": "test_events_pane",
    "f chooses calls": "test_app_keys",
    "nothing fits; Esc goes back": "test_presets",
    "An fprobe sits where a function begins; p takes an offset": "the letter of a probe",
    "[^A-Za": "a set of characters",
    "-p gives the values": "an option",
    "-p takes NAME": "an option",
    "-o ": "an option",
}
"""What else names keys, beside the line where they are typed, and where those are pressed."""


async def take(pilot: Any, way: Way) -> None:
    for key in way.keys:
        if " " in key:
            await pilot.press(*"vfs_read")
        else:
            await pilot.press(key)
        if key == "enter":  # types are read, and the letters that follow are for what comes then
            await until(lambda: not isinstance(pilot.app.focused, SearchLine), pilot)
        await pilot.pause(PAUSE + 0.05)


def shows(app: Any, kind: type) -> Callable[[], bool]:
    return lambda: isinstance(app.screen, kind)


# -- with a kernel of a recording ----------------------------------------------------------------------------------


async def choose_target(app: Any, pilot: Any, way: Way) -> None:
    await take(pilot, way)
    await until(shows(app, TargetScreen), pilot)


async def running_kernel(app: Any, pilot: Any, way: Way) -> None:
    app.tracing.begin(app.planner, GraphPlan(("vfs_read",)))
    await until(lambda: says(app, str(way)), pilot)
    await choose_target(app, pilot, way)


async def other_target(app: Any, pilot: Any, way: Way) -> None:
    dialogs.show_trouble(app, "no", "why", "do this")
    await until(lambda: isinstance(app.screen, ErrorDialog) and says(app, str(way)), pilot)
    assert not says(app, "F7") and not says(app, "F9"), "neither can be done"
    await choose_target(app, pilot, way)


async def from_presets(app: Any, pilot: Any, way: Way) -> None:
    await pilot.press("f5")
    await until(shows(app, PresetScreen), pilot)
    await choose_target(app, pilot, way)


async def show_lines(app: Any, pilot: Any, way: Way) -> None:
    spec = app.places.compose.panes.spec
    await pilot.press("f6")
    spec.editor.put("f vfs_read count", 16)
    await take(pilot, way)
    assert spec.lowered


async def search_functions(app: Any, pilot: Any, way: Way) -> None:
    await pilot.press("f2", *"zzqq")
    functions = app.places.compose.query_one(FunctionList)
    await until(lambda: functions.query_text == "zzqq" and not functions.on_screen, pilot)
    app.places.compose.action_graph()
    await until(lambda: says(app, str(way)), pilot)
    await pilot.press("f6")
    await take(pilot, way)
    assert isinstance(app.focused, NameLine)


async def by_tracefs(app: Any, pilot: Any, way: Way) -> None:
    """While the text is typed that no program does."""
    await pilot.press("ctrl+t", "f6")
    spec = app.places.compose.panes.spec
    spec.editor.put("t sched_switch", 14)
    await until(lambda: says(app, str(way)), pilot)
    assert app.planner.via is Via.BPF and not says(app, "--via")
    await take(pilot, way)
    await until(lambda: app.planner.via is Via.TRACEFS and spec.shown.verdict.ok, pilot)


async def leave_dialog(app: Any, pilot: Any, way: Way) -> None:
    dialogs.show_trouble(app, "no", "why", "do this")
    await until(shows(app, ErrorDialog), pilot)
    await pilot.press("f6")
    await until(lambda: says(app, f"F6 leads out of this dialog: {way}"), pilot)
    await take(pilot, way)
    await until(lambda: app.screen is app.places.compose, pilot)


async def drop_held(app: Any, pilot: Any, way: Way) -> None:
    app.push_screen(ProgressDialog("arming", lambda: ("", None), lambda: None))
    await until(shows(app, ProgressDialog), pilot)
    await pilot.press("f6", *"cD")
    await until(lambda: says(app, str(way)) and len(app.keyboard._held) == 3, pilot)
    await take(pilot, way)
    assert not app.keyboard._held


OF_RECORDING = {
    "DROP_HELD": drop_held,
    "LEAVE_DIALOG": leave_dialog,
    "BY_TRACEFS": by_tracefs,
    "SEARCH_FUNCTIONS": search_functions,
    "OTHER_TARGET": other_target,
    "CHOOSE_TARGET": choose_target,
    "RUNNING_KERNEL": running_kernel,
    "OPEN_ANEW": choose_target,
    "LEAVE_FOR_TARGET": from_presets,
    "SHOW_LINES": show_lines,
}


async def test_a_recording_offers_what_can_be_done_there(recording):
    app = application(recording)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.places.live is not None and app.current_watch and app.current_watch.ended, pilot)
        await pilot.press("b")
        await until(lambda: says(app, f"no probe has a hist trigger: {ways_out.SUM_UP}"), pilot)
        await pilot.pause(PAUSE + 0.05)
        await take(pilot, ways_out.SUM_UP)
        await until(lambda: app.places.live.views.current.name == "summary", pilot)
        await pilot.press("U")
        await until(lambda: says(app, f"compare with was chosen: {ways_out.COMPARE_WITH}"), pilot)
        await choose_target(app, pilot, ways_out.COMPARE_WITH)


@pytest.mark.parametrize("name", ["BUILD_PROBE", "OPEN_KERNEL"])
async def test_a_recording_says_what_to_do_next(recording, name):
    app, way = application(recording), WAYS[name]
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: "■ recorded" in screen_text(app)[1] and str(way) in screen_text(app)[1], pilot)
        await until(lambda: app.places.live is not None and app.current_watch and app.current_watch.ended, pilot)
        assert str(way) in screen_text(app)[1] and "armed" not in screen_text(app)[0]
        await take(pilot, way)
        wanted = TargetScreen if name == "OPEN_KERNEL" else ComposeScreen
        await until(lambda: isinstance(app.screen, wanted), pilot)


async def test_what_a_view_lacks_is_read_whole_on_a_narrow_screen(living):
    _, app = living(10)
    async with app.run_test(size=(80, 24)) as pilot:
        await armed(app, pilot)
        for key, way in (("x", ways_out.BOTH_ENDS), ("g", ways_out.TRACE_CALLS), ("b", ways_out.GIVE_TRIGGER)):
            await pilot.pause(PAUSE + 0.05)
            await pilot.press(key)
            await until(partial(says, app, str(way)), pilot)


@pytest.mark.parametrize("name", sorted(OF_RECORDING))
async def test_where_nothing_is_armed(kernel_only, name):
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await OF_RECORDING[name](app, pilot, WAYS[name])


# -- with a kernel that runs ---------------------------------------------------------------------------------------


async def arm_one(app: Any, pilot: Any, way: Way) -> None:
    await open_compose(app, pilot)
    await pilot.press("f3")
    await until(lambda: says(app, f"nothing is armed: {way}"), pilot)
    await take(pilot, way)
    await until(lambda: len(app.current_watch.armed.probes) == 1, pilot)


async def both_ends(app: Any, pilot: Any, way: Way) -> None:
    await armed(app, pilot)
    await pilot.press("x")
    await until(lambda: says(app, f"no probe has both ends: {way}"), pilot)
    await take(pilot, way)
    await until(lambda: any("%both" in str(one.plan.probe) for one in app.current_watch.armed.probes), pilot)


async def trace_calls(app: Any, pilot: Any, way: Way) -> None:
    await armed(app, pilot)
    await take(pilot, way)
    await until(shows(app, ChoiceDialog), pilot)
    assert says(app, "Trace what vfs_read calls")


async def show_calls(app: Any, pilot: Any, way: Way) -> None:
    await armed(app, pilot)
    await pilot.press("p")
    await until(lambda: says(app, str(way)), pilot)
    await take(pilot, way)
    await until(lambda: isinstance(app.places.live.views.current, GraphView), pilot)


async def give_trigger(app: Any, pilot: Any, way: Way) -> None:
    await armed(app, pilot)
    await give_it(app, pilot, way)


async def give_it(app: Any, pilot: Any, way: Way) -> None:
    await take(pilot, way)
    await until(shows(app, TriggerScreen), pilot)


async def add_trigger(app: Any, pilot: Any, way: Way) -> None:
    """From where a probe is built: `test_histograms_view` has what is offered."""
    await armed(app, pilot)
    await pilot.press("f2")
    await until(lambda: app.places.compose.is_current, pilot)
    await give_it(app, pilot, way)


def shows_view(app: Any, name: str) -> bool:
    return app.places.live.views.current.name == name


async def search_events(app: Any, pilot: Any, way: Way) -> None:
    """From views without rows to search."""
    await armed(app, pilot)
    for key, view in (("s", "summary"), ("b", "histograms")):
        await until(lambda: app.places.live.is_current, pilot)
        await pilot.pause(PAUSE + 0.05)
        await pilot.press(key)
        await until(partial(shows_view, app, view), pilot)
        await pilot.press("/")
        await until(lambda: says(app, f"nothing to search in this view: {way}"), pilot)
    await take(pilot, way)
    await until(lambda: isinstance(app.focused, SearchLine), pilot)


async def disarm_all(app: Any, pilot: Any, way: Way) -> None:
    await armed(app, pilot)
    await pilot.press("f2")
    await take(pilot, way)
    await until(lambda: not app.current_watch.armed.probes or isinstance(app.screen, ConfirmDialog), pilot)


async def what_helps(app: Any, pilot: Any, way: Way) -> None:
    await armed(app, pilot)
    await pilot.press("f2")
    await take(pilot, way)
    await until(shows(app, LossScreen), pilot)


async def taken_back(app: Any, pilot: Any, way: Way) -> None:
    await armed(app, pilot)
    if way is ways_out.TAKE_BACK_ELSEWHERE:
        await pilot.press("f2")
        await until(lambda: app.places.compose.is_current, pilot)
    elif way is ways_out.TAKE_BACK_BEHIND:
        await pilot.press("T")
        await until(shows(app, TriggerScreen), pilot)
    done: list[str] = []
    app.undo.add("something", lambda: done.append("back"))
    await until(lambda: any(one.text == f"something; {way}" for one in app.notice_lines), pilot)
    await take(pilot, way)
    assert done == ["back"]


async def leave_end(app: Any, pilot: Any, way: Way) -> None:
    """While the kernel takes its time for the end of a call graph."""
    goes_on = threading.Event()
    closed = threading.Event()

    def close() -> tuple[()]:
        closed.set()
        return ()

    await armed(app, pilot)
    tracer = SimpleNamespace(live=True, queue=SimpleNamespace(settle=lambda: goes_on.wait(60)), close=close)
    app.tracing.current_watch = tracer
    app.tracing.end()
    await until(lambda: says(app, str(way)), pilot)
    await take(pilot, way)
    await until(lambda: any("quitting waits for that" in one.text for one in app.notice_lines), pilot)
    assert app.tracing.ends and not app.check_action("give_up", ()) and not says(app, str(way))
    app.tracing.current_watch = None
    goes_on.set()
    await until(closed.is_set, pilot)


async def by_tracefs_elsewhere(app: Any, pilot: Any, way: Way) -> None:
    """Triggers of a probe that programs record, ordered when it was armed; and in the dialog for them."""
    await armed(app, pilot)
    app.planner.info.__dict__["program_support"] = ProgramSupport()  # of a kernel that attaches them
    app.action_compose()
    await pilot.press("ctrl+t")
    await until(lambda: app.planner.via is Via.BPF, pilot)
    await pilot.press("f3")
    (one,) = app.current_watch.armed.probes
    plan = app.planner.lower(one.plan.probe, "")
    assert plan.programs
    of_programs = replace(one, plan=plan)
    if way is ways_out.BY_TRACEFS_BEHIND:
        app.push_screen(TriggerScreen(app, app.current_watch, of_programs))
    else:
        app.arming.remedied(kernel_jobs.add_trigger(app.current_watch, of_programs, plan.events[0], "stacktrace"))
    await until(lambda: says(app, "BPF programs have no triggers") and says(app, str(way)[:20]), pilot)
    assert not says(app, "--via")
    await take(pilot, way)
    await until(lambda: app.planner.via is Via.TRACEFS and app.places.compose.is_current, pilot)


async def with_stacks_elsewhere(app: Any, pilot: Any, way: Way) -> None:
    """From the view of stacks, where programs record a probe that was armed without; what is armed then has them."""
    await armed(app, pilot)
    await pilot.pause(PAUSE + 0.05)
    await pilot.press("F")
    await until(partial(shows_view, app, "stacks"), pilot)
    watch = app.current_watch
    app.planner.info.__dict__["program_support"] = ProgramSupport()  # of a kernel that attaches them
    app.planner.via = Via.BPF
    (one,) = watch.armed.probes
    plan = app.planner.lower(one.plan.probe, "")
    of_programs = SimpleNamespace(
        live=True, armed=SimpleNamespace(probes=[replace(one, plan=plan)]), event_fields=watch.event_fields
    )
    view = app.places.live.views.current
    view.tick(watch, watch.store, ())
    assert plan.programs and str(way) in view.empty_reason(of_programs)
    await take(pilot, way)
    specification = app.places.compose.specification
    await until(lambda: specification.triggers.with_stacks and says(app, "with stacktrace"), pilot)
    assert specification.triggers.of(one.plan.probe) == ("stacktrace",)
    assert all(program.has_stack for program in app.planner.with_triggers(plan, ("stacktrace",)).programs)
    app.planner.via = Via.TRACEFS
    app.arming.arm_all([parse_armable("f vfs_write")])
    await until(lambda: len(watch.armed.probes) == 2, pilot)
    assert watch.armed.probes[1].plan.events[0].triggers == ("stacktrace",)
    app.action_compose()
    await pilot.press("ctrl+s")
    await until(lambda: not specification.triggers.with_stacks, pilot)


async def filter_shown(app: Any, pilot: Any, way: Way) -> None:
    """Where the kernel compares no functions, or not as it was asked to."""
    await armed(app, pilot)
    if way is ways_out.FILTER_SHOWN_ELSEWHERE:
        await pilot.press("f2", "f6", "ctrl+u")
        app.places.compose.panes.spec.editor.put('f vfs_* if func ~ "vfs_r*"', 26)
    elif way is ways_out.FILTER_SHOWN_BEHIND:
        app.arming.arm_all([parse_armable("f id_sho*")])
        await until(lambda: says(app, "Arm it?"), pilot)  # the rate of several functions is shown before
        await pilot.press("a")
        await until(lambda: len(app.current_watch.armed.probes) == 2, pilot)
        app.push_screen(TriggerScreen(app, app.current_watch, app.current_watch.armed.probes[1]))
        await until(shows(app, TriggerScreen), pilot)
        await pilot.press(*"stacktrace if func == id_show")
    else:
        (one,) = app.current_watch.armed.probes
        app.arming.remedied(kernel_jobs.change_filter(app.current_watch, one, "latency > 4"))
    await until(lambda: says(app, str(way)[:20]), pilot)
    assert not says(app, "--filter")
    await take(pilot, way)
    await until(lambda: isinstance(app.focused, Input) and app.places.live.is_current, pilot)


async def count_hits(app: Any, pilot: Any, way: Way) -> None:
    await armed(app, pilot)
    await pilot.press("f2", "f6", "ctrl+u")
    app.places.compose.panes.spec.editor.put("kprobe:vfs_read { @ = count(); }", 32)
    await until(lambda: says(app, str(way)[:20]), pilot)
    assert not says(app, "--count-only")
    await take(pilot, way)
    watch = app.current_watch
    await until(lambda: watch.session.probes.mode(watch.armed.probes[0]) is Mode.COUNT, pilot)


async def count_recorded(app: Any, pilot: Any, way: Way) -> None:
    await armed(app, pilot)
    await take(pilot, way)
    await until(lambda: app.places.live.views.current.name == "aggregate" and says(app, "count by comm"), pilot)


async def hold_rows(app: Any, pilot: Any, way: Way) -> None:
    """While rows are followed there is no pane of details for P to hide."""
    await armed(app, pilot)
    await pilot.resize_terminal(120, 40)
    details = app.places.live.details
    await until(lambda: details.is_streaming and not details.is_shown, pilot)
    await pilot.pause(PAUSE + 0.05)
    await pilot.press("P")
    await until(lambda: says(app, str(way)), pilot)
    await take(pilot, way)
    await until(lambda: details.is_shown, pilot)


async def armed(app: Any, pilot: Any) -> None:
    await ask_for(app, pilot)
    await until(lambda: app.current_watch and app.current_watch.armed.probes, pilot)
    await until(lambda: app.places.live and app.places.live.is_current, pilot)


async def see_events(app: Any, pilot: Any, way: Way) -> None:
    """Behind a key that leads to a text line while a probe is armed."""
    await open_compose(app, pilot)
    app.keyboard.begins("arm")
    await pilot.press("f6")
    app.keyboard.ends("arm")
    app.places.show_armed(parse_armable("f vfs_read"))
    await until(lambda: says(app, f"armed: f vfs_read; {way}"), pilot)
    await take(pilot, way)
    await until(lambda: app.places.live is not None and app.places.live.is_current, pilot)


OF_KERNEL: dict[str, Callable[[Any, Any, Way], Awaitable[None]]] = {
    "ARM_ONE": arm_one,
    "SEE_EVENTS": see_events,
    "HOLD_ROWS": hold_rows,
    "BOTH_ENDS": both_ends,
    "TRACE_CALLS": trace_calls,
    "SHOW_CALLS": show_calls,
    "GIVE_TRIGGER": give_trigger,
    "ADD_TRIGGER": add_trigger,
    "SEARCH_EVENTS": search_events,
    "DISARM_ALL": disarm_all,
    "WHAT_HELPS": what_helps,
    "LEAVE_END": leave_end,
    "BY_TRACEFS_ELSEWHERE": by_tracefs_elsewhere,
    "BY_TRACEFS_BEHIND": by_tracefs_elsewhere,
    "WITH_STACKS_ELSEWHERE": with_stacks_elsewhere,
    "COUNT_HITS": count_hits,
    "COUNT_RECORDED": count_recorded,
    "FILTER_SHOWN": filter_shown,
    "FILTER_SHOWN_ELSEWHERE": filter_shown,
    "FILTER_SHOWN_BEHIND": filter_shown,
    "TAKE_BACK": taken_back,
    "TAKE_BACK_ELSEWHERE": taken_back,
    "TAKE_BACK_BEHIND": taken_back,
}


@pytest.mark.parametrize("name", sorted(OF_KERNEL))
async def test_where_a_kernel_runs(living, name):
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await OF_KERNEL[name](app, pilot, WAYS[name])


# -- with a lost connection, and several hosts --------------------------------------------------------------------

OF_LINE = {"RECONNECT", "TRY_AGAIN", "GIVE_UP"}


async def test_where_a_line_is_cut(monkeypatch):
    from kernel.watch import reconnect

    monkeypatch.setattr(reconnect, "PAUSES", (3600.0,))
    side = Side()
    side.refuse = TargetUnusable("no route to box")
    async with live(side) as (app, pilot):
        side.cut()
        await until(lambda: keys(app) == {"reconnect", "give_up"} and len(side.asked) == 1, pilot)
        await take(pilot, ways_out.RECONNECT)
        await until(lambda: len(side.asked) == 2, pilot)
        await take(pilot, ways_out.GIVE_UP)
        await until(shows(app, ErrorDialog), pilot)
        await until(lambda: says(app, str(ways_out.TRY_AGAIN)), pilot)
        side.refuse = None
        await take(pilot, ways_out.TRY_AGAIN)  # in the dialog that offers it
        await until(lambda: says(app, "armed 1"), pilot)
        assert not isinstance(app.screen, ErrorDialog)


async def test_what_cannot_be_tried_again_is_not_offered(monkeypatch):
    side = Side()
    async with live(side) as (app, pilot):
        monkeypatch.setattr(app.reconnect, "begin", lambda _: False)
        app.reconnect.lose(app.current_watch, KernelError("the lab has ended"))
        await until(shows(app, ErrorDialog), pilot)
        assert not says(app, "F7")
        assert says(app, str(ways_out.OTHER_TARGET))


OF_HOSTS = {
    "NEW_CONNECTION",
    "SEE_HOSTS",
    "HOSTS_TRY_AGAIN",
    "HOSTS_DISARM",
    "HOSTS_RECONNECT",
    "HOSTS_BUILD",
    "HOSTS_PRESET",
    "HOSTS_TRIGGER",
    "ARM_BUILT_EVERYWHERE",
    "ARM_PRESET_EVERYWHERE",
}


async def test_where_there_are_several_hosts(lan):
    async with running(lan, "web1", "web2.example.com") as (app, pilot):
        await until(lambda: app.current_watch is not None, pilot)
        await take(pilot, ways_out.HOSTS_BUILD)
        await until(lambda: app.places.compose.is_current, pilot)
        dialogs.show_trouble(app, "no", "why")
        await until(lambda: isinstance(app.screen, ErrorDialog) and says(app, str(ways_out.SEE_HOSTS)), pilot)
        await take(pilot, ways_out.SEE_HOSTS)
        await until(shows(app, HostsScreen), pilot)
        await take(pilot, ways_out.HOSTS_PRESET)
        await until(shows(app, PresetScreen), pilot)
        await pilot.press("escape", "f2")
        await take(pilot, ways_out.ARM_PRESET_EVERYWHERE)
        await until(shows(app, PresetScreen), pilot)
        await pilot.press("escape")
        await pilot.press("f2")
        app.places.compose.pick("vfs_read")
        await take(pilot, ways_out.ARM_BUILT_EVERYWHERE)
        await until(lambda: says(app, "2 of 2 armed"), pilot)
        await pilot.press("b")
        await until(lambda: says(app, str(ways_out.HOSTS_TRIGGER)), pilot)
        await take(pilot, ways_out.HOSTS_TRIGGER)
        await until(shows(app, HostsTriggerScreen), pilot)
        await pilot.press("escape", "e")
        app.screen.order(ArmRequest(("f vfs_read",)))
        await until(lambda: says(app, str(ways_out.HOSTS_DISARM)), pilot)
        await take(pilot, ways_out.HOSTS_DISARM)
        await until(shows(app, ConfirmDialog), pilot)
        await pilot.press("escape")
        tried: list[str] = []

        def again() -> int:
            tried.append("again")
            return 1

        app.hosts.fleet.try_now = lambda: tried.append("now")
        app.hosts.fleet.retry = again
        await take(pilot, ways_out.HOSTS_TRY_AGAIN)
        assert tried == ["again"]
        app.hosts.fleet.hosts[0].remedy = REMEDY
        remedy = host_line(app.hosts.fleet, app.hosts.fleet.hosts[0]).remedy
        assert "--force" not in remedy and "--max-rate" in remedy, "the application has no --force"
        app.action_reconnect()
        assert tried == ["again", "now"]


async def test_where_one_of_several_hosts_is_silent(lan):
    web1 = lan.hosts["web1"] = ReturningHost("web1")
    async with running(lan, "web1", "web2.example.com") as (app, pilot):
        fleet = app.hosts.fleet
        fleet.arm(ArmRequest(("f vfs_read",)))
        await until(lambda: says(app, "2 of 2 armed"), pilot)
        web1.last_received = web1.unanswered = time.monotonic() - 120
        await until(lambda: str(ways_out.NEW_CONNECTION) in host_line(fleet, fleet.hosts[0]).remedy, pilot)
        tried: list[str] = []
        fleet.try_now = lambda: tried.append("now")
        await take(pilot, ways_out.NEW_CONNECTION)
        await until(lambda: tried == ["now"], pilot)


async def test_an_application_that_ends_has_no_screen_for_what_comes_then(lan):
    web1 = lan.hosts["web1"] = ReturningHost("web1")
    async with running(lan, "web1", "web2.example.com") as (app, pilot):
        app.hosts.fleet.arm(ArmRequest(("f vfs_read",)))
        await until(lambda: says(app, "2 of 2 armed"), pilot)
        web1.last_received = web1.unanswered = time.monotonic() - 120
        stack = app._screen_stack
        screens = [*stack]
        stack.clear()
        app.hosts._tick()
        app.refresh_bindings()
        await app.keyboard._look()
        stack += screens


async def test_where_the_filter_hides_all_that_comes_of_a_probe(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        await until(lambda: app.current_watch and app.current_watch.ended, pilot)
        await pilot.press("f", *"comm == nobody", "enter")
        await until(lambda: app.places.live.filter.text == "comm == nobody", pilot)
        app.places.show_armed(app.current_watch.armed.probes[0].plan.probe)
        subject = app.current_watch.armed.probes[0].plan.probe.subject
        await until(lambda: says(app, f"hides {subject}: {ways_out.NO_FILTER}"), pilot)
        await take(pilot, ways_out.NO_FILTER)
        await until(lambda: not app.places.live.filter.text and not says(app, str(ways_out.NO_FILTER)), pilot)


async def test_details_open_by_the_key_that_a_narrow_screen_names(recording):
    app = application(recording)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        await pilot.press("P")
        await until(lambda: says(app, str(ways_out.SHOW_DETAILS)), pilot)
        await take(pilot, ways_out.SHOW_DETAILS)
        await until(lambda: isinstance(app.screen, DetailScreen), pilot)


OF_COMMAND = ("TO_COMMAND", "END_COMMAND", "CLOSE_COMMAND", "RUN_WITH_ALL")
"""Ways to a command that runs, or is to run: `test_command_area.py` takes them."""


def test_each_way_is_taken_somewhere():
    assert set(WAYS) == {
        *OF_RECORDING,
        *OF_KERNEL,
        *OF_LINE,
        *OF_HOSTS,
        "COMPARE_WITH",
        "NO_FILTER",
        "SHOW_DETAILS",
        "SUM_UP",
        "BUILD_PROBE",
        "OPEN_KERNEL",
        *OF_COMMAND,
    }


def test_no_other_message_names_a_key():
    """A message has a `Way` of `tui.present.ways_out`, which is tried above."""
    found = []
    for folder in ("tui", "widgets", "kernel", "probes", "events"):
        for path in (ROOT / folder).rglob("*.py"):
            name = str(path.relative_to(ROOT))
            if name not in TABLES:
                found += [
                    f"{name}: {text}" for text in messages(ast.parse(path.read_text())) if NAMES_KEY.search(text)
                ]
    assert not [one for one in found if not any(drawn in one for drawn in DRAWN)]


NAMES_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+[a-z]")
OF_OTHER_PROGRAMS = ("probes/export/", "probes/translation/translate.py", "kernel/lab/", "kernel/hosts/ansible.py")


def test_no_message_of_the_kernel_names_an_option_that_is_no_key_in_the_application():
    """They are in `probes.remedies`, for which the application has keys: `tui.present.option_keys`."""
    found = []
    for folder in ("kernel", "probes", "events"):
        for path in (ROOT / folder).rglob("*.py"):
            name = str(path.relative_to(ROOT))
            if name != "probes/remedies.py" and not name.startswith(OF_OTHER_PROGRAMS):
                texts = messages(ast.parse(path.read_text()))
                found += [f"{name}: {text}" for text in texts if set(NAMES_OPTION.findall(text)) - {"--target"}]
    assert not found, "of the application itself are --target and --max-rate alone"


@pytest.mark.parametrize("keys", [WHERE_BUILT, WHERE_SHOWN, BEHIND_DIALOG])
@pytest.mark.parametrize("remedy", remedies.OPTION_REMEDIES)
def test_each_option_is_another_remedy_in_the_application(keys, remedy):
    told = keys.text(f"no: {remedy}")
    assert told.startswith("no: ") and remedy not in told
    assert not set(NAMES_OPTION.findall(told)) - {"--max-rate"}


def messages(tree: ast.AST) -> Iterator[str]:
    """Strings of a module that are neither docstrings nor of a binding."""
    aside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            aside.add(id(node.value))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Binding", "Command", "ScreenNote"):
            aside.update(id(inner) for inner in ast.walk(node))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in aside:
            yield node.value
