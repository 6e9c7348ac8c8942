"""Open the dialogs about one function or source: options, the depth of traced calls, code, registers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from textual.screen import Screen

from tui.compose.attach_control import AttachControl
from tui.compose.functions.control import FunctionControl
from tui.compose.panes import ProbePanes
from tui.compose.specification_control import SpecificationControl
from tui.dialogs import dialogs
from tui.present.ways_out import SEARCH_FUNCTIONS
from tui.workbench import Workbench, open_planner

if TYPE_CHECKING:
    from probes.command import Armable
    from widgets.dialogs.code_dialog import CodeChoice


class FunctionDialogs:
    """Dialogs about the function of the probe, or about one that is chosen of those on the screen."""

    def __init__(
        self,
        screen: Screen[None],
        bench: Workbench,
        panes: ProbePanes,
        functions: FunctionControl,
        attach: AttachControl,
        specification: SpecificationControl,
    ) -> None:
        self._screen = screen
        self._bench = bench
        self._panes = panes
        self._functions = functions
        self._attach = attach
        self._specification = specification

    def ask_source(self, name: str) -> None:
        """Ask for the options of a source, then arm it; where this kernel lacks it, notify of the switch."""
        from tui.dialogs.source_form import ask_options

        about = self._functions.index.describe(name)
        if not about.kinds:
            self._screen.notify(about.reason, title=f"{name} is not in this kernel", markup=False)
            return

        def chosen(source: Armable) -> None:
            self._bench.arming.arm_all((source,))

        ask_options(self._screen.app, open_planner(self._bench), name, chosen)

    def trace_calls(self) -> None:
        """Trace the calls of the function, as deep as a person chooses."""
        trace = partial(self._bench.tracing.ask_depth, open_planner(self._bench))
        self._of_function("trace the calls of which function?", trace)

    def show_code(self) -> None:
        """Show the instructions of the function, and specify a kprobe on the one that is chosen."""
        self._of_function("the code of which function?", self._show_code)

    def show_registers(self) -> None:
        """Show what each way to attach to the function reads."""
        self._of_function("the registers of which function?", self._show_registers)

    def _of_function(self, question: str, show: Callable[[str], None]) -> None:
        """Show something of the function of the probe, or of one that the screen lists."""
        from probes.command import is_function

        probe, names = self._panes.editor.probe, self._functions.on_screen
        if probe is not None and probe.place.symbol and is_function(probe):
            show(probe.place.symbol)
        elif names:
            dialogs.pick(self._screen.app, question, names, lambda row: show(names[row]))
        else:
            self._screen.notify(f"no function matches what is searched: {SEARCH_FUNCTIONS}", markup=False)

    def _show_registers(self, name: str) -> None:
        from tui.dialogs.register_reports import RegisterReports
        from widgets.dialogs.register_dialog import RegisterDialog

        self._screen.app.push_screen(RegisterDialog(RegisterReports(open_planner(self._bench).info, name)))

    def _show_code(self, name: str) -> None:
        from tui.compose.functions.code_reading import hits_by_place, read_bodies, text_of
        from tui.compose.functions.variable_screen import VariableScreen
        from widgets.dialogs.code_dialog import CodeDialog

        info = open_planner(self._bench).info

        def chosen(choice: CodeChoice | None) -> None:
            if choice is not None:
                self._specification.take_over(text_of(info, choice, name))
                if choice.end is not None:
                    self._specification.arm()

        def hits() -> dict[str, int]:
            return hits_by_place(self._bench.current_watch, self._bench.counts)

        reader = self._attach.body_reader(info)
        read, variables = partial(read_bodies, reader, name), partial(VariableScreen, reader)
        self._screen.app.push_screen(CodeDialog(name, read, hits, variables), chosen)
