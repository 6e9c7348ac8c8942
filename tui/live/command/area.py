"""The command that runs while probes or a tracer of calls record, in a terminal below the rows.

It is held until its tasks alone are recorded, if that was chosen; when it ends, the rows stand still at its last
event, and all tasks are recorded as before. It ends with the application, however that ends
(`kernel.commands.held_program`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.timer import Timer

from tui.live.command.last_events import LOOK_EVERY, LastEvents
from tui.live.command.output_feed import OutputFeed
from tui.live.command.question import CommandQuestion
from tui.present.ways_out import CLOSE_COMMAND, END_COMMAND, GIVE_UP, RUN_WITH_ALL, TO_COMMAND
from tui.workbench import Workbench
from widgets.terminal.terminal_pane import TerminalPane

if TYPE_CHECKING:
    from kernel.commands.held_program import HeldProgram
    from kernel.target import Target
    from kernel.watch.watch import Watch
    from tui.live.command.recorders import Recorders
    from tui.live.command.rows_hold import RowsHold
    from widgets.terminal.command_dialog import CommandWanted

_TO_KILL: Final = 2.0
"""Seconds from SIGTERM to SIGKILL (`kernel.agent.command_process`)."""
_SHARE: Final = 0.4
"""Share of the screen's rows that the terminal takes."""
_LEAST_ROWS: Final = 5
_BORDER: Final = 1


class CommandArea(Vertical):
    """See the module. It has no height until the first command."""

    DEFAULT_CSS = """
    CommandArea { height: auto; width: 1fr; display: none; }
    """

    class Then(Message):
        """A worker is done; `act` goes on with its result in the thread of the application."""

        def __init__(self, act: Callable[[], None]) -> None:
            super().__init__()
            self.act = act

    def __init__(
        self,
        bench: Workbench,
        to_rows: Callable[[], None],
        rows_hold: RowsHold,
        leave_out_earlier: Callable[[int], None],
    ) -> None:
        """Take the functions of the rows.

        Args:
            bench: the application.
            to_rows: gives the keyboard back to them.
            rows_hold: holds them at the end of a command, until the next one.
            leave_out_earlier: called before a command runs that is recorded alone, with the time there.
        """
        super().__init__()
        self.pane = TerminalPane(id="command-terminal")
        self.program: HeldProgram | None = None
        """The command that runs, or ran last."""
        self.runs = False
        """True from the release of a command to its end."""
        self._bench = bench
        self._question = CommandQuestion(bench)
        self._to_rows = to_rows
        self._rows_hold = rows_hold
        self._leave_out_earlier = leave_out_earlier
        self._recorders: Recorders | None = None
        """Watches under which the command runs."""
        self._attempt: object | None = None
        """Start that is under way; None: none is."""
        self._workers = 0
        """Number of commands that are being started or ended: each changes the tasks that are recorded."""
        self._next: Callable[[], object] | None = None
        """Starts the command that waits for these; None: none waits."""
        self._limits_tasks = False
        """True: only the command that runs, or ran last, and what it starts is recorded meanwhile."""
        self._unlimited: set[Watch] = set()
        """Watches that were begun while it ran, and record all tasks."""
        self._feed = OutputFeed(self.pane)
        self._timer: Timer | None = None
        self._kills_at = 0.0
        """Time by time.monotonic() at which a command that is being ended gets SIGKILL; 0: it is not, or got it."""

    def compose(self) -> ComposeResult:
        """Yield the terminal."""
        yield self.pane

    @property
    def starts(self) -> bool:
        """True from the choice of a command until it runs."""
        return self._attempt is not None

    def take_share(self) -> None:
        """Give the terminal its share of the screen."""
        self.styles.height = self._terminal_size[0] + _BORDER

    @property
    def rows(self) -> int:
        """Number of rows of the screen that it takes."""
        return self._terminal_size[0] + _BORDER if self.display else 0

    @property
    def _terminal_size(self) -> tuple[int, int]:
        """Rows and columns of the terminal, as soon as it is shown."""
        columns, rows = self.screen.size
        return max(_LEAST_ROWS, round(rows * _SHARE)) - _BORDER, max(1, columns)

    # -- begin -------------------------------------------------------------------------------------------------------

    def ask(self) -> None:
        """Ask for a command, and run it; where one runs give it the keyboard."""
        if self.runs or self.starts:
            self.pane.focus()
        elif why_not := self._question.obstacle:
            self._notify(why_not)
        else:
            self._question.ask(self.app, self._chosen)

    def _chosen(self, wanted: CommandWanted, target: Target, recorders: Recorders) -> None:
        self._attempt = object()
        self._bench.keyboard.begins("command")
        self.display = True
        self.take_share()
        state = "waiting for the end of the command before" if self._workers else "starting"
        self.pane.begin(wanted.line, state, str(GIVE_UP), self._terminal_size)
        self._feed.clear()
        self.refresh_bindings()
        self._next = partial(self._hold, target, recorders, wanted, self._terminal_size, self._attempt)
        self._start_next()

    def _start_next(self) -> None:
        """Start the command that waits, unless the tasks that are recorded are being changed for another one."""
        if self._next is not None and not self._workers:
            start, self._next = self._next, None
            self._workers += 1
            self.pane.say("starting")
            start()

    def _worker_ended(self) -> None:
        self._workers -= 1
        self._start_next()

    @work(thread=True, group="command")
    def _hold(
        self, target: Target, recorders: Recorders, wanted: CommandWanted, size: tuple[int, int], attempt: object
    ) -> None:
        """Start the process of a command, and limit what records to it."""
        from kernel.errors import KernelError
        from tui.live.command.command_start import NotLimited, hold_command

        try:
            program = hold_command(target, recorders, wanted, size)
        except NotLimited as error:
            self._then(partial(self._not_held, attempt, f"{error}: {RUN_WITH_ALL}"))
        except KernelError as error:
            self._then(partial(self._not_held, attempt, error.with_remedy))
        else:
            if not self._then(partial(self._held, attempt, program, recorders, limits_tasks=wanted.limits_tasks)):
                program.close()  # the application ends

    def _then(self, act: Callable[[], None]) -> bool:
        """Call a function in the thread of the application; return False if that ends."""
        return self.post_message(self.Then(act))

    @on(Then)
    def _go_on(self, event: Then) -> None:
        event.stop()
        event.act()

    def _held(self, attempt: object, program: HeldProgram, recorders: Recorders, *, limits_tasks: bool) -> None:
        """Let the command run; one that was given up meanwhile ends."""
        if attempt is not self._attempt:
            self._close(program, recorders, limits_tasks=limits_tasks)
            self._worker_ended()
            return
        self._worker_ended()
        if limits_tasks:
            self._leave_out_earlier(program.read_until)
        self._attempt, self.program, self._recorders, self._kills_at = None, program, recorders, 0.0
        self.runs, self._limits_tasks = True, limits_tasks
        self._unlimited.clear()
        for note in recorders.notes_on_limits() if limits_tasks else ():
            self._notify(note)
        self._feed.rows = recorders.rows_of(program)
        self._rows_hold.follow()
        program.release()
        state = "running" if program.has_terminal else "running without a terminal"
        self.pane.say(state, f"{TO_COMMAND}, {END_COMMAND}")
        self._focus_pane()
        self._timer = self.set_interval(LOOK_EVERY, self._look, name="command")

    def _focus_pane(self) -> None:
        """Give the command the keyboard, with what was typed ahead, unless the place was left."""
        if self.screen.is_current:
            self.pane.focus()
        self._bench.keyboard.ends("command")

    def _not_held(self, attempt: object, text: str) -> None:
        if attempt is self._attempt:
            self._give_up()
            self._bench.notices.notify(text, title="not run", severity="error", topic="command")
        self._worker_ended()

    def _give_up(self) -> None:
        """Show no terminal: the command does not run."""
        self._attempt, self._next, self.display = None, None, False
        if self.pane.has_focus:
            self._to_rows()
        self.refresh_bindings()
        self._bench.keyboard.ends("command")

    # -- while it runs -----------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Show output; report the end when all of it is shown."""
        program = self.program
        if program is None:
            return
        self._tell_unlimited()
        has_ended = program.has_ended
        fed = self._feed.show_some(program)
        if self._kills_at and time.monotonic() >= self._kills_at and not has_ended:
            self._kills_at = 0.0
            self.pane.say("SIGKILL was sent")
        if has_ended and not fed:
            self._ended(program)

    def _tell_unlimited(self) -> None:
        """Say so where what was begun meanwhile records all tasks."""
        from tui.live.command.recorders import recorders_of

        if self._recorders is None or not self._limits_tasks:
            return
        for watch in recorders_of(self._bench).watches:
            if watch not in self._recorders.watches and watch not in self._unlimited:
                self._unlimited.add(watch)
                begun = "the call graph" if watch.queue.source.traces else "the probe"
                self._notify(f"{begun} was begun after the command, and records all tasks")

    def _ended(self, program: HeldProgram) -> None:
        from kernel.commands.held_program import end_text

        if self._timer is not None:
            self._timer.stop()
        self.runs = False
        text = end_text(program) or f"{program.words[0]} ended with status 0"
        self.pane.end(f"{text.removeprefix(f'{program.words[0]} ')}, {CLOSE_COMMAND}")
        self._notify(text)
        if self._recorders is not None:
            self._close(program, self._recorders, limits_tasks=self._limits_tasks)
        if self.pane.has_focus and not self.pane.was_typed:
            self._bench.keyboard.begins("command")
            self._to_rows()
            self._bench.keyboard.ends("command")
        self.refresh_bindings()

    def _close(self, program: HeldProgram, recorders: Recorders, *, limits_tasks: bool) -> None:
        """End a command, show its last events, and record all tasks again."""
        self._workers += 1
        hold = self._rows_hold.hold if limits_tasks and recorders.are_of(self._bench) else None
        LastEvents(self, program, recorders, hold, self._then, self._all_recorded, self._feed.end_rows).begin()

    def _all_recorded(self, are_held: bool, error: str) -> None:
        self._worker_ended()
        if are_held:
            self._notify("the rows stand still at its last event")
        if error:
            self._bench.notices.notify(error, title="all tasks are not recorded again", severity="error")

    @on(TerminalPane.Typed)
    def _typed(self, event: TerminalPane.Typed) -> None:
        event.stop()
        if self.program is not None and self.runs:
            self.program.type(event.data)

    @on(TerminalPane.Resized)
    def _resized(self, event: TerminalPane.Resized) -> None:
        from kernel.commands.held_program import TerminalSize

        event.stop()
        if self.program is not None and self.runs:
            self.program.resize(TerminalSize(*self.pane.terminal_size))

    @on(TerminalPane.Left)
    def _left(self, event: TerminalPane.Left) -> None:
        event.stop()
        self._to_rows()

    # -- end ---------------------------------------------------------------------------------------------------------

    def end(self) -> None:
        """End the command; give one up that is starting; close the terminal of one that has ended."""
        if self._attempt is not None:
            self._give_up()
        elif self.program is not None and self.runs:
            if not self._kills_at:
                self.program.ask_end()
                self._kills_at = time.monotonic() + _TO_KILL
                self.pane.say("SIGTERM was sent, SIGKILL follows")
        else:
            self.display = False
            self._to_rows()
        self.refresh_bindings()

    def watch_changed(self) -> None:
        """End a command of a target that was left."""
        if self._attempt is not None:
            self._give_up()
        recorders = self._recorders
        if self.program is not None and recorders is not None and not recorders.are_of(self._bench):
            if self._timer is not None:
                self._timer.stop()
            if self.runs:
                self.runs = False
                self._close(self.program, recorders, limits_tasks=self._limits_tasks)
            self.program, self._recorders = None, None
            self.display = False

    async def on_unmount(self) -> None:
        """End the command."""
        if self.program is not None and self.runs:
            self.runs = False
            await asyncio.to_thread(self.program.close)

    def _notify(self, text: str) -> None:
        self._bench.notices.notify(text, topic="command")
