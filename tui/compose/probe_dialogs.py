"""Open the dialogs about the probe that is built: keep it as a preset, export it for another tool, filter it."""

from __future__ import annotations

from functools import partial

from textual.screen import Screen

from tui.compose.panes import ProbePanes
from tui.compose.specification_control import SpecificationControl
from tui.dialogs import dialogs
from tui.workbench import Workbench, open_planner


class ProbeDialogs:
    """Dialogs about the probe; where there is none, a notification says so."""

    def __init__(
        self, screen: Screen[None], bench: Workbench, panes: ProbePanes, specification: SpecificationControl
    ) -> None:
        self._screen = screen
        self._bench = bench
        self._panes = panes
        self._specification = specification

    def save(self) -> None:
        """Keep the probe as a preset."""
        if (probe := self._specification.current) is not None:
            dialogs.save_preset(self._screen.app, probe)
        else:
            self._screen.notify("there is no probe yet", title="not saved", severity="error", markup=False)

    def export(self) -> None:
        """Show the probe in the words of other tools."""
        if (probe := self._specification.current) is None:
            self._screen.notify("there is no probe yet: pick a function", title="not exported", markup=False)
            return
        from tui.compose.probe_export import dialect_texts, save_text
        from widgets.dialogs.probe_export_dialog import ProbeExportDialog

        planner = open_planner(self._bench)
        texts, boot = partial(dialect_texts, planner, probe), partial(self._bench.boots.ask, planner, probe)
        self._screen.app.push_screen(ProbeExportDialog(str(probe), texts, save_text, boot))

    def filter(self) -> None:
        """Have the filter of the probe typed."""
        if self._specification.current is not None:
            self._panes.spec.action_filter()
