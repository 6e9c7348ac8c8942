"""A command under the armed probes: asked for, run, drawn as on a terminal, ended; on a kernel that is a dict."""

from __future__ import annotations

import threading
import time

import pytest

import kernel.connection.open_target
from kernel.connection.open_target import TargetChoice
from kernel.errors import TargetUnusable
from kernel.local.target import LocalTarget
from kernel.watch.source import ProbeSource
from kernel.watch.watch import Watch
from tests.fake_target import ROOT
from tests.interface.test_app import SIZE, application
from tests.interface.test_guards import Kernel, ask_for
from tests.interface.test_ways_out import take
from tests.interface.widget_host import Host, paste, screen_text, until
from tests.real.processes import ended
from tui.app.typed_ahead import PAUSE
from tui.help import help_of
from tui.live.command.recorders import Recorders
from tui.present.status import fields_of
from tui.present.ways_out import CLOSE_COMMAND, END_COMMAND, GIVE_UP, RUN_WITH_ALL, TAKE_BACK, TO_COMMAND
from widgets.dialogs.choose import ChoiceDialog
from widgets.footer import KeyFooter
from widgets.terminal.command_dialog import CommandDialog
from widgets.terminal.terminal_pane import TerminalPane


class RunningKernel(Kernel):
    """Programs are started on this machine."""

    def __init__(self) -> None:
        super().__init__(100)
        self.helpers: list[int] = []
        self.limits: list[bytes] = []
        self.after = self._note

    def _note(self, step) -> None:
        if step.path.endswith("/set_event_pid"):
            self.limits.append(step.data)

    def start(self, words):
        return LocalTarget().start(words)


@pytest.fixture
def running(monkeypatch):
    """A kernel on which commands run, and the application on it."""
    found = RunningKernel()
    monkeypatch.setattr(kernel.connection.open_target, "choose", lambda *_, **_more: TargetChoice(found))
    return found, application("fake")


def shown(app) -> str:
    return "\n".join(screen_text(app))


def area(app):
    return app.places.live.command


def said(app) -> str:
    return "\n".join(one.text for one in app.notice_lines)


def footer(app) -> list[str]:
    return [key.label for key in app.screen.query_one(KeyFooter).keys]


class Tracer(ProbeSource):
    """A tracer of calls, which tells to which tasks it was limited."""

    traces = True

    def __init__(self, target) -> None:
        super().__init__(target)
        self.limits: list[tuple[int, ...]] = []
        self.refuses = False

    def limit_tasks(self, tasks) -> None:
        if self.refuses and tasks:
            raise TargetUnusable("calls can't be limited to a command")
        self.limits.append(tuple(tasks))


async def trace(app, pilot, *, arms: bool = False) -> Tracer:
    """Begin to trace calls, with or without a probe, and go to the first failures."""
    if arms:
        await arm(app, pilot)
    await until(lambda: app.planner is not None, pilot)
    source = Tracer(app.planner.info.target)
    watch = Watch(app.planner, source=source)
    watch.begin()
    app.tracing.started(watch)
    app.places.show_graph("failures")
    await until(lambda: app.places.live is not None and app.places.live.views.current.name == "failures", pilot)
    await pilot.pause(PAUSE + 0.2)
    return source


async def arm(app, pilot) -> None:
    await ask_for(app, pilot)
    await until(lambda: app.current_watch and app.current_watch.armed.probes, pilot)
    await until(lambda: app.places.live is not None and app.screen is app.places.live, pilot)
    await pilot.pause(0.5)  # letters are commands again


def output_of(app):
    """Values of the lines that commands wrote."""
    store = app.current_watch.store
    records = (store.record(seq) for seq in range(store.first_seq, store.next_seq))
    return [record.values for record in records if record.event == "command/output"]


async def run(app, pilot, line: str, *keys: str) -> None:
    await pilot.press("r")
    await until(lambda: isinstance(app.screen, CommandDialog), pilot)
    await paste(pilot, line)
    await pilot.press(*keys, "enter")


async def test_a_command_runs_under_the_probes_and_its_status_is_kept(running):
    found, app = running
    async with app.run_test(size=SIZE) as pilot:
        await arm(app, pilot)
        assert not area(app).display
        await run(app, pilot, "printf '\\033[31m10%%\\r99%%\\033[0m\\n'; stty size; exit 3")
        await until(lambda: "ended with status 3" in shown(app), pilot)
        rows, columns = area(app).pane.terminal_size
        assert area(app).pane.text == f"99%\n{rows} {columns}"
        await until(lambda: found.limits == [str(area(app).program.pid).encode(), b""], pilot)
        # Its lines stand among the events, with their fields in columns.
        await until(lambda: [row["text"] for row in output_of(app)] == ["99%", f"{rows} {columns}"], pilot)
        assert "text" in fields_of(app.current_watch)
        # The rows have the keyboard again, and the probes are armed; `r` has the line of before.
        assert app.focused is not area(app).pane and len(app.current_watch.armed.probes) == 1
        assert found.helpers == []
        await pilot.pause(0.5)
        await pilot.press("r", "up")
        await until(lambda: isinstance(app.screen, CommandDialog) and "exit 3" in shown(app), pilot)
        await pilot.press("ctrl+u", *"true", "ctrl+t", "enter")
        await until(lambda: "ended with status 0" in shown(app), pilot)
        await until(lambda: found.limits[2:] == [b"", b""], pilot)
        await pilot.pause(0.5)
        assert str(CLOSE_COMMAND) in shown(app)
        await take(pilot, CLOSE_COMMAND)
        await until(lambda: not area(app).display, pilot)


async def test_rows_that_the_end_of_a_command_held_are_followed_under_the_next_unless_a_person_held_them(running):
    found, app = running
    async with app.run_test(size=SIZE) as pilot:
        await arm(app, pilot)
        view = app.places.live.views.current
        for by_hand in (False, True):
            await run(app, pilot, "true")
            await until(lambda: len(found.limits) == 2 and not view.place.following, pilot)
            await pilot.pause(PAUSE + 0.1)
            if by_hand:
                await pilot.press("space")
                await until(lambda: view.place.following, pilot)
                await pilot.press("space")
            await run(app, pilot, "read line; true")
            await until(lambda: area(app).runs, pilot)
            assert view.place.following is not by_hand
            await pilot.press("enter")
            await until(lambda: not area(app).runs and not area(app)._workers, pilot)
            found.limits.clear()
            app.places.live.views.take_focus()
            await pilot.pause(PAUSE + 0.1)
            await pilot.press("end")


@pytest.mark.parametrize("arms", [False, True])
async def test_a_command_runs_while_calls_are_traced(running, arms):
    found, app = running
    async with app.run_test(size=SIZE) as pilot:
        source = await trace(app, pilot, arms=arms)
        view = app.places.live.views.current
        await run(app, pilot, "sleep 0.3; exit 3")
        await until(lambda: "ended with status 3" in shown(app), pilot)
        pid = area(app).program.pid
        await until(lambda: source.limits == [(pid,), ()], pilot)
        sessions = 2 if arms else 1
        await until(lambda: sorted(found.limits) == [b""] * sessions + [str(pid).encode()] * sessions, pilot)
        # What was counted before is left out, and the table stands still.
        await until(lambda: "paused" in shown(app) and "the rows stand still at its last event" in shown(app), pilot)
        assert view._since[0] is app.tracing.current_watch.store and view._since[1] > 0
        await pilot.press("space")
        await until(lambda: "paused" not in shown(app), pilot)
        await pilot.pause(PAUSE + 0.1)
        await pilot.press("u")
        await until(lambda: view._since[0] is None, pilot)
        source.refuses = True
        await run(app, pilot, "echo ran")
        await until(lambda: f"calls can't be limited to a command: {RUN_WITH_ALL}" in said(app), pilot)
        assert found.limits[-1] == b"" and not area(app).display
        await take(pilot, RUN_WITH_ALL)
        await until(lambda: "ended with status 0" in shown(app), pilot)
        await until(lambda: len(source.limits) > 4 and set(source.limits[2:]) == {()}, pilot)
        assert area(app).pane.text == "ran"


async def test_a_command_starts_once_the_end_of_the_one_before_is_recorded(running, monkeypatch):
    _found, app = running
    ends, read_all = threading.Event(), Recorders.read_all

    def read_at_last(recorders) -> None:
        ends.wait(60)
        read_all(recorders)

    monkeypatch.setattr(Recorders, "read_all", read_at_last)
    async with app.run_test(size=SIZE) as pilot:
        await arm(app, pilot)
        await run(app, pilot, "true; exit 3")
        await until(lambda: "ended with status 3" in shown(app), pilot)
        for gives_up in (True, False):
            await pilot.pause(PAUSE + 0.2)
            await run(app, pilot, "true; exit 4")
            await until(lambda: "waiting for the end of the command before" in shown(app), pilot)
            assert not area(app).runs
            if gives_up:
                await take(pilot, GIVE_UP)
                await until(lambda: not area(app).display, pilot)
        ends.set()
        await until(lambda: "ended with status 4" in shown(app), pilot)


async def test_a_call_graph_that_is_begun_under_a_command_is_said_to_record_all_tasks(running):
    _found, app = running
    async with app.run_test(size=SIZE) as pilot:
        await arm(app, pilot)
        await run(app, pilot, "sleep 60")
        await until(lambda: area(app).runs, pilot)
        await trace(app, pilot)
        await until(lambda: "the call graph was begun after the command, and records all tasks" in said(app), pilot)
        assert said(app).count("records all tasks") == 1


async def test_a_command_waits_for_a_tracer_that_is_being_started(running):
    _, app = running
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.planner is not None, pilot)
        app.places.show_graph("failures")
        await until(lambda: app.places.live is not None and app.screen is app.places.live, pilot)
        app.tracing.begins = True
        app.tracing._asked_at = time.monotonic() - 7
        app.tracing._means = lambda: "BPF programs are being put on 21,801 functions"
        app.refresh_places()
        words = "starting the tracer (BPF programs are being put on 21,801 functions): 7 s; F8 gives up"
        await until(lambda: words[:70] in shown(app), pilot)
        assert "no calls" not in shown(app)
        await pilot.pause(PAUSE + 0.2)
        await pilot.press("r")
        await until(lambda: "a command runs under it once it traces" in shown(app), pilot)


async def test_all_is_disarmed_or_the_call_graph_is_ended_alone(running):
    _, app = running
    async with app.run_test(size=SIZE) as pilot:
        await trace(app, pilot, arms=True)
        await pilot.press("D")
        await until(lambda: "End the call graph, and disarm 1 probe?" in shown(app), pilot)
        assert "f vfs_read" in shown(app) and "can be armed again" in shown(app)
        await pilot.pause(PAUSE + 0.1)
        await pilot.press("g")
        await until(lambda: not app.tracing.busy, pilot)
        assert len(app.current_watch.armed.probes) == 1
        await trace(app, pilot)
        await pilot.press("D")
        await until(lambda: isinstance(app.screen, ChoiceDialog), pilot)
        await pilot.pause(PAUSE + 0.1)
        await pilot.press("a")
        await until(lambda: not app.current_watch.armed.probes and not app.tracing.busy, pilot)
        await until(lambda: f"disarmed: vfs_read; {TAKE_BACK}" in said(app), pilot)
        await pilot.pause(PAUSE + 0.1)
        await take(pilot, TAKE_BACK)
        await until(lambda: len(app.current_watch.armed.probes) == 1, pilot)


async def test_letters_are_for_the_command_and_one_key_goes_back(running):
    _, app = running
    async with app.run_test(size=SIZE) as pilot:
        await arm(app, pilot)
        await run(app, pilot, "cat")
        await until(lambda: app.focused is area(app).pane and "cat  running" in shown(app), pilot)
        await until(lambda: "Rows" in footer(app) and "Filter" not in footer(app), pilot)
        await pilot.press(*"dDcXr?q", "enter")
        await until(lambda: area(app).pane.text == "dDcXr?q\ndDcXr?q", pilot)
        assert app.current_watch.armed.probes and app.screen is app.places.live
        await paste(pilot, "pasted")
        await until(lambda: area(app).pane.text.endswith("pasted"), pilot)
        await pilot.press("f1")
        await until(lambda: "Terminal of a command" in shown(app), pilot)
        await pilot.press("escape")
        await until(lambda: app.screen is app.places.live, pilot)
        await pilot.press("ctrl+right_square_bracket")
        await until(lambda: app.focused is not area(app).pane, pilot)
        await until(lambda: f"{TO_COMMAND}, {END_COMMAND}" in shown(app), pilot)
        await pilot.pause(0.5)
        await pilot.press(*TO_COMMAND.keys)
        await until(lambda: app.focused is area(app).pane, pilot)
        # It ends while it has the keyboard: what is typed on is for nobody.
        await pilot.press("ctrl+c")
        await until(lambda: "was ended by SIGINT" in shown(app), pilot)
        await pilot.press(*"dDc")
        await pilot.pause(0.1)
        assert app.focused is area(app).pane and app.current_watch.armed.probes
        await pilot.press("escape")
        await until(lambda: app.focused is not area(app).pane, pilot)


async def test_a_command_that_does_not_listen_is_killed_and_both_is_said(running):
    _, app = running
    async with app.run_test(size=SIZE) as pilot:
        await arm(app, pilot)
        await run(app, pilot, "trap '' TERM HUP; echo begun; while :; do sleep 0.1; done")
        await until(lambda: "begun" in area(app).pane.text, pilot)
        await pilot.press("f12")
        await until(lambda: app.focused is not area(app).pane, pilot)
        await pilot.pause(0.5)
        await pilot.press(*END_COMMAND.keys)
        await until(lambda: "SIGTERM was sent, SIGKILL follows" in shown(app), pilot)
        await until(lambda: "was ended by SIGKILL" in shown(app), pilot)


async def test_what_cannot_be_run_says_why(running):
    found, app = running
    async with app.run_test(size=SIZE) as pilot:
        await arm(app, pilot)
        await run(app, pilot, "no-such-command")
        await until(lambda: "no-such-command: No such file" in shown(app), pilot)
        assert found.limits == [b""] and app.focused is not area(app).pane
        await pilot.pause(0.5)
        await pilot.press("r")
        await until(lambda: isinstance(app.screen, CommandDialog), pilot)
        await paste(pilot, "echo 'no end")
        await pilot.press("enter")
        await until(lambda: "a quote has no end" in shown(app), pilot)
        assert isinstance(app.screen, CommandDialog)
        await pilot.press("escape")
        found.after = lambda _: None

        def refuse(step) -> None:
            if step.path == f"{ROOT}/instances/probewright-100_abc/set_event_pid":
                raise kernel.errors.FileRefused(step.path, 22)

        found.before = refuse
        await until(lambda: app.screen is app.places.live, pilot)
        await run(
            app,
            pilot,
            "echo ran",
        )
        await until(lambda: "can't be limited to a command" in shown(app), pilot)
        assert "ran" not in area(app).pane.text.split("\n")


async def test_the_end_of_the_application_ends_the_command(running):
    _, app = running
    async with app.run_test(size=SIZE) as pilot:
        await arm(app, pilot)
        await run(app, pilot, "sleep 1000")
        await until(lambda: area(app).runs, pilot)
        pid = area(app).program.pid
    assert area(app).program.wait(60)
    assert ended(pid)


async def test_nothing_is_run_where_nothing_is_armed(running):
    _, app = running
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.planner is not None, pilot)
        await pilot.press("f3")
        await until(lambda: app.places.live is not None and app.screen is app.places.live, pilot)
        await pilot.pause(0.5)
        await pilot.press("r")
        await until(lambda: "none is armed" in shown(app), pilot)
        assert "End command" not in footer(app)
        assert not any(one.title == "Terminal of a command" for one in help_of(app.screen))


async def test_the_pane_scrolls_and_draws_colours_and_the_cursor():
    app = Host(TerminalPane)
    async with app.shown(60, 6) as pilot:
        pane = app.widget
        pane.focus()
        pane.begin("[b]\x1b[31mx", "running", "", pane.terminal_size)
        pane.feed(b"".join(b"line %d\r\n" % number for number in range(30)))
        pane.feed(b"\x1b[31mred\x1b[0m plain")
        await until(lambda: app.line(5) == "red plain", pilot)
        assert r"[b]\x1b[31mx  running" in app.line(0)
        red, plain = list(pane.render_line(4))[:2]
        assert red.style.color.name == "red" and plain.style.color.name != "red"
        assert pane.render_line(4).crop(9, 10)._segments[0].style.reverse
        await pilot.press("shift+pageup")
        await until(lambda: app.line(5) == "line 26", pilot)
        pane.feed(b"\r\nnew")
        await pilot.pause()
        assert app.line(5) == "line 26" and "lines up" in app.line(0)
        pane.end("ended")
        await pilot.press("home")
        await until(lambda: app.line(1) == "line 0", pilot)
        await pilot.press("end")
        await until(lambda: app.line(5) == "new", pilot)
