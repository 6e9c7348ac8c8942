"""The part of the compose place that has the commands about the probe that is being built."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from typing import TYPE_CHECKING, Final

from textual import on, work

from tui.app.ways_out import CHOOSE_TARGET, SEARCH_FUNCTIONS
from tui.compose.specification_control import SpecScreen
from tui.dialogs import dialogs
from tui.dialogs.dialogs import ask_depth
from tui.messages import LinesRead

if TYPE_CHECKING:
    from kernel.connection.planner import Connection
    from tui.compose.specification import TypedText
    from widgets.spec.spec_editor import SpecEditor


_READING: Final = "reading what was pasted"


def refusal(typed: TypedText) -> str:
    """Return why a text can't be armed; empty: it can."""
    error = typed.shown.verdict.error if typed.shown.verdict is not None else None
    if error is not None:
        return f"{error.clause}: {error.hint}" if error.hint else error.message
    return "" if typed.probe is not None else "this is no probe"


class ProbeCommands(SpecScreen):
    """What a key does with the probe: arm it, keep it, say it to other tools, trace what it sits on."""

    @abstractmethod
    def functions_on_screen(self) -> list[str]:
        """Names in the list of functions."""

    def forget_refusal(self) -> None:
        self.bench.notices.forget("arming")

    def target_is_open(self) -> bool:
        """Return whether probes can be built; where nothing is open yet, say so with the way out."""
        if self.bench.connection is not None:
            return True
        self.bench.notices.notify(f"no target is open yet: {CHOOSE_TARGET}", topic="no target")
        return False

    def action_arm(self) -> None:
        """Arm what stands in the specification; where that can't be, say why."""
        if not self.target_is_open():
            return
        probe, error = self.current, None
        if probe is not None:
            self.bench.arming.arm_all((probe,))
            return
        if (verdict := self.panes()[1].shown.verdict) is not None:
            error = verdict.error
        self.bench.notices.notify_not_armed(self.way_out(error) if error else "there is no probe yet")

    def on_spec_editor_lines_pasted(self, event: SpecEditor.LinesPasted) -> None:
        event.stop()
        if (connection := self.bench.connection) is not None:
            self.mean(event.text)
            self.bench.keyboard.begins(_READING)
            self._judge(connection, event.lines, event.left_out)

    @work(thread=True, group="ask")
    def _judge(self, connection: Connection, lines: tuple[str, ...], left_out: int) -> None:
        from tui.compose import specification

        found = tuple(specification.typed(connection, line) for line in lines)
        self.post_message(LinesRead(connection, found, left_out))

    @on(LinesRead)
    def _offer(self, event: LinesRead) -> None:
        """Have all lines armed that can be; none goes without a word."""
        from probes.plans.duplicates import apart
        from widgets.dialogs.pasted_probes import PastedLine, PastedProbes

        event.stop()
        self.bench.keyboard.ends(_READING)
        if event.connection is not self.bench.connection:
            return
        good = [one.probe for one in event.found if one.probe is not None and not refusal(one)]
        probes, again = apart(good)
        left = Counter(again)
        lines: list[PastedLine] = []
        for one in reversed(event.found):  # of those that are twice the first is taken
            why = refusal(one)
            if not why and one.probe is not None and left[one.probe] > 0:
                left[one.probe] -= 1
                why = "it stands there twice, and is armed once"
            counted = () if one.probe is None or why else self.triggers_of(one.probe)
            lines.insert(0, PastedLine(one.shown.text, why, counted))

        def agreed(row: int | None) -> None:
            if row is not None:
                self.bench.arming.arm_all(probes)

        self.app.push_screen(PastedProbes(lines, event.left_out), agreed)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """What is edited already need not be offered."""
        return action != "edit" or not self.editing

    def action_edit(self) -> None:
        if self.target_is_open():
            self.panes()[1].action_edit()

    def action_filter(self) -> None:
        if self.target_is_open() and self.current is not None:
            self.panes()[1].action_filter()

    def action_save(self) -> None:
        """Keep the probe that is on the screen as a preset."""
        if not self.target_is_open():
            return
        if self.current is not None:
            dialogs.save_preset(self.app, self.current)
        else:
            self.notify("there is no probe yet", title="not saved", severity="error", markup=False)

    def action_graph(self) -> None:
        """Trace what the function calls, so deep as one says."""
        if not self.target_is_open():
            return
        editor, _ = self.panes()
        if editor.probe is not None and editor.probe.place.symbol:
            self._trace(editor.probe.place.symbol)
        elif names := self.functions_on_screen():
            dialogs.pick(self.app, "trace the calls of which function?", names, lambda row: self._trace(names[row]))
        else:
            self.notify(f"no function matches what is searched: {SEARCH_FUNCTIONS}", markup=False)

    def _trace(self, name: str) -> None:
        from probes.plans.graph_plan import GraphPlan

        def trace(depth: int) -> None:
            # Interrupts without a handler show by the functions in which they enter.
            plan = GraphPlan((name,), max_depth=depth, switches=True, interrupts=True, vectors=False)
            if (connection := self.bench.connection) is not None:
                self.bench.tracing.begin(connection, plan)

        ask_depth(self.app, name, trace)

    def action_lowered(self) -> None:
        if self.target_is_open():
            self.panes()[1].action_lowered()

    def action_export(self) -> None:
        """What other tools are told of the probe."""
        if not self.target_is_open():
            return
        if self.current is None:
            self.notify("there is no probe yet: pick a function", title="not exported", markup=False)
            return
        from tui.compose.export_dialog import ProbeExportScreen

        self.app.push_screen(ProbeExportScreen(self.open_connection(), self.current))
