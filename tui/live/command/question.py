"""Ask for the command to run, with the lines of before; tell why none can run now."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from textual.app import App

from tui.present.ways_out import ARM_ONE, RUNNING_KERNEL
from tui.workbench import Workbench

if TYPE_CHECKING:
    from kernel.target import Target
    from tui.live.command.recorders import Recorders
    from widgets.terminal.command_dialog import CommandWanted

_MOST_LINES: Final = 50
"""Command lines that are kept for another run."""


class CommandQuestion:
    """Question for a command, which remembers the answers."""

    def __init__(self, bench: Workbench) -> None:
        self.limits_tasks = True
        """True: only the command and what it starts were recorded, or are to be."""
        self._bench = bench
        self._history: list[str] = []

    @property
    def obstacle(self) -> str:
        """Reason why no command can run now; empty: one can."""
        from tui.live.command.recorders import recorders_of

        planner = self._bench.planner
        if planner is not None and not planner.info.target.is_kernel:
            return f"no command runs on a recording: {RUNNING_KERNEL}"
        if self._bench.tracing.begins:
            return "the tracer is being started: a command runs under it once it traces"
        if planner is None or not recorders_of(self._bench).watches:
            return f"a command runs under armed probes or while calls are traced, and none is armed: {ARM_ONE}"
        return ""

    def ask(self, app: App[object], chosen: Callable[[CommandWanted, Target, Recorders], None]) -> None:
        """Ask; `chosen` gets the command, its machine and what records there, or is not called."""
        from tui.live.command.command_start import judge_line
        from tui.live.command.recorders import recorders_of
        from widgets.terminal.command_dialog import CommandDialog

        planner = self._bench.planner
        if planner is None:
            return
        target = planner.info.target

        def answered(wanted: CommandWanted | None) -> None:
            if wanted is None or planner is not self._bench.planner:
                return
            self.limits_tasks = wanted.limits_tasks
            self._history = [*(one for one in self._history if one != wanted.line), wanted.line][-_MOST_LINES:]
            chosen(wanted, target, recorders_of(self._bench))

        app.push_screen(
            CommandDialog(target.name, judge_line, self._history, limits_tasks=self.limits_tasks), answered
        )
