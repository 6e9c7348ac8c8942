"""The command that runs under the armed probes, in a terminal below the rows.

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

from tui.live.command.output_feed import OutputFeed
from tui.present.ways_out import ARM_ONE, END_COMMAND, RUNNING_KERNEL, TO_COMMAND
from tui.workbench import Workbench
from widgets.terminal.terminal_pane import TerminalPane

if TYPE_CHECKING:
    from kernel.commands.held_program import HeldProgram
    from kernel.watch.watch import Watch
    from widgets.terminal.command_dialog import CommandWanted

_LOOK_EVERY: Final = 0.05
_LAST_TICK: Final = 0.2
"""Seconds of CPU time that the last events of a command may take before the rows are held."""
_LONGEST_READ: Final = 3.0
"""Seconds for the last events of a command to come from a slow machine."""
_MOST_LOOKS: Final = 40
_TO_KILL: Final = 2.0
"""Seconds from SIGTERM to SIGKILL (`kernel.agent.command_runner`)."""
_SHARE: Final = 0.4
"""Share of the screen's rows that the terminal takes."""
_LEAST_ROWS: Final = 5
_BORDER: Final = 1
_MOST_LINES: Final = 50
"""Command lines that are kept for another run."""


class CommandArea(Vertical):
    """See the module. It has no height until the first command."""

    DEFAULT_CSS = """
    CommandArea { height: auto; width: 1fr; display: none; }
    """

    class Held(Message):
        """A command has its process, and waits to be released."""

        def __init__(self, attempt: object, program: HeldProgram, watch: Watch) -> None:
            super().__init__()
            self.attempt = attempt
            self.program = program
            self.watch = watch

    class NotHeld(Message):
        """A command could not be started, or not be recorded alone."""

        def __init__(self, attempt: object, text: str) -> None:
            super().__init__()
            self.attempt = attempt
            self.text = text

    class Collected(Message):
        """A command has ended for good, and its events are in the queue of the watch."""

        def __init__(self, watch: Watch) -> None:
            super().__init__()
            self.watch = watch

    class Unlimited(Message):
        """All tasks are recorded again; `text`: why they are not, empty: they are."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, bench: Workbench, to_rows: Callable[[], None], hold_rows: Callable[[], bool | None]) -> None:
        """Take what gives the keyboard back to the rows, and what holds them.

        `hold_rows`: returns True if they were followed, None where rows are still to be shown.
        """
        super().__init__()
        self.pane = TerminalPane(id="command-terminal")
        self.program: HeldProgram | None = None
        """The command that runs, or ran last."""
        self.runs = False
        """True from the release of a command to its end."""
        self._bench = bench
        self._to_rows = to_rows
        self._hold_rows = hold_rows
        self._watch: Watch | None = None
        """Watch under which the command runs."""
        self._attempt: object | None = None
        """Start that is under way; None: none is."""
        self._workers = 0
        """Number of commands that are being started or ended: each changes the tasks that are recorded."""
        self._limits_tasks = True
        self._history: list[str] = []
        self._feed = OutputFeed(self.pane)
        self._timer: Timer | None = None
        self._kills_at = 0.0
        """Time by time.monotonic() at which a command that is being ended gets SIGKILL; 0: it is not, or got it."""

    def compose(self) -> ComposeResult:
        """Yield the terminal."""
        yield self.pane

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
        from tui.live.command.command_start import judge_line
        from widgets.terminal.command_dialog import CommandDialog

        watch = self._bench.current_watch
        if self.runs or self._attempt is not None:
            self.pane.focus()
            return
        if self._workers:
            self._notify("the command before is still being ended")
            return
        if watch is not None and not watch.info.target.is_kernel:
            self._notify(f"no command runs on a recording: {RUNNING_KERNEL}")
            return
        if watch is None or not watch.live or not watch.armed.probes:
            self._notify(f"a command runs under armed probes, and none is armed: {ARM_ONE}")
            return

        machine = watch.info.target.name
        dialog = CommandDialog(machine, judge_line, self._history, limits_tasks=self._limits_tasks)
        self.app.push_screen(dialog, self._chosen)

    def _chosen(self, wanted: CommandWanted | None) -> None:
        if wanted is None:
            return
        self._limits_tasks = wanted.limits_tasks
        self._history = [*(one for one in self._history if one != wanted.line), wanted.line][-_MOST_LINES:]
        self._attempt = object()
        self._bench.keyboard.begins("command")
        self.display = True
        self.take_share()
        watch = self._bench.current_watch
        if watch is None:
            self._give_up()
            return
        self.pane.begin(wanted.line, "starting", f"{TO_COMMAND}, {END_COMMAND}", self._terminal_size)
        self._feed.clear()
        self.refresh_bindings()
        self._workers += 1
        self._hold(watch, wanted, self._terminal_size, self._attempt)

    @work(thread=True, group="command")
    def _hold(self, watch: Watch, wanted: CommandWanted, size: tuple[int, int], attempt: object) -> None:
        """Start the process of a command, and limit the probes to it."""
        from kernel.errors import KernelError
        from tui.live.command.command_start import hold_command

        try:
            program = hold_command(watch, wanted, size)
        except KernelError as error:
            self.post_message(self.NotHeld(attempt, error.with_remedy))
        else:
            if not self.post_message(self.Held(attempt, program, watch)):
                program.close()  # the application ends

    @on(Held)
    def _held(self, event: Held) -> None:
        """Let the command run; one that was given up meanwhile ends."""
        from tui.live.command.command_start import notes_on_limits

        event.stop()
        self._workers -= 1
        if event.attempt is not self._attempt:
            self._close(event.program, event.watch)
            return
        self._attempt, self.program, self._watch, self._kills_at = None, event.program, event.watch, 0.0
        self.runs = True
        for note in notes_on_limits(event.watch) if self._limits_tasks else ():
            self._notify(note)
        event.program.release()
        self.pane.say("running" if event.program.has_terminal else "running without a terminal")
        self._focus_pane()
        self._timer = self.set_interval(_LOOK_EVERY, self._look, name="command")

    def _focus_pane(self) -> None:
        """Give the command the keyboard, with what was typed ahead, unless the place was left."""
        if self.screen.is_current:
            self.pane.focus()
        self._bench.keyboard.ends("command")

    @on(NotHeld)
    def _not_held(self, event: NotHeld) -> None:
        event.stop()
        self._workers -= 1
        if event.attempt is self._attempt:
            self._give_up()
            self._bench.notices.notify(event.text, title="not run", severity="error", topic="command")

    def _give_up(self) -> None:
        """Show no terminal: the command does not run."""
        self._attempt, self.display = None, False
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
        has_ended = program.has_ended
        fed = self._feed.show_some(program)
        if self._kills_at and time.monotonic() >= self._kills_at and not has_ended:
            self._kills_at = 0.0
            self.pane.say("SIGKILL was sent")
        if has_ended and not fed:
            self._ended(program)

    def _ended(self, program: HeldProgram) -> None:
        from kernel.commands.held_program import end_text

        if self._timer is not None:
            self._timer.stop()
        self.runs = False
        text = end_text(program) or f"{program.words[0]} ended with status 0"
        self.pane.end(text.removeprefix(f"{program.words[0]} "))
        self._notify(text)
        if self._watch is not None:
            self._close(program, self._watch)
        if self.pane.has_focus and not self.pane.was_typed:
            self._bench.keyboard.begins("command")
            self._to_rows()
            self._bench.keyboard.ends("command")
        self.refresh_bindings()

    def _close(self, program: HeldProgram, watch: Watch) -> None:
        """End a command, and record all tasks again."""
        self._workers += 1
        self._collect(program, watch)

    @work(thread=True, group="command")
    def _collect(self, program: HeldProgram, watch: Watch) -> None:
        """End a command, and bring what was recorded of it into the queue."""
        program.close()
        if not watch.queue.closed and watch.live:
            watch.armed.read_all(_LONGEST_READ)
        self.post_message(self.Collected(watch))

    @on(Collected)
    def _collected(self, event: Collected) -> None:
        event.stop()
        self._hold_at_end(event.watch, _MOST_LOOKS)

    def _hold_at_end(self, watch: Watch, looks: int) -> None:
        """Keep the last events of the command on the screen, before those of all tasks come.

        `looks`: number of times that it may still wait for events that have arrived and are not shown.
        """
        if self._limits_tasks and watch is self._bench.current_watch:
            watch.tick(_LAST_TICK)
            is_complete = not (watch.intake.has_backlog or watch.queue.entries)
            if is_complete and watch.store is not None:
                watch.store.flush()  # of no CPU an older event is to come
            are_held = self._hold_rows() if is_complete else None
            if are_held is None and looks:
                self.set_timer(_LOOK_EVERY, partial(self._hold_at_end, watch, looks - 1))
                return
            if are_held:
                self._notify("the rows stand still at its last event")
        self._record_all_tasks(watch)

    @work(thread=True, group="command")
    def _record_all_tasks(self, watch: Watch) -> None:
        from kernel.errors import KernelError

        text = ""
        try:
            if not watch.queue.closed and watch.live:
                watch.armed.limit_tasks(())
        except KernelError as error:
            text = str(error)
        self.post_message(self.Unlimited(text))

    @on(Unlimited)
    def _unlimited(self, event: Unlimited) -> None:
        event.stop()
        self._workers -= 1
        if event.text:
            self._bench.notices.notify(event.text, title="all tasks are not recorded again", severity="error")

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
        if self.program is not None and self._watch is not None and self._watch is not self._bench.current_watch:
            if self._timer is not None:
                self._timer.stop()
            if self.runs:
                self.runs = False
                self._close(self.program, self._watch)
            self.program, self._watch = None, None
            self.display = False

    async def on_unmount(self) -> None:
        """End the command."""
        if self.program is not None and self.runs:
            self.runs = False
            await asyncio.to_thread(self.program.close)

    def _notify(self, text: str) -> None:
        self._bench.notices.notify(text, topic="command")
