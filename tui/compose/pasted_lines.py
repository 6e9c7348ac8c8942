"""Judge lines that were pasted into the specification, and offer to arm those that are probes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from textual.screen import Screen

from tui.compose.messages import LinesRead
from tui.compose.specification_control import SpecificationControl
from tui.workbench import Workbench

if TYPE_CHECKING:
    from kernel.connection.planner import Planner
    from tui.compose.specification import TypedText
    from widgets.spec.spec_editor import SpecEditor

_READING: Final = "reading the pasted lines"
_READING_MARKED: Final = "reading the marked places"
"""Operations that keys typed ahead wait for."""


def refusal(typed: TypedText) -> str:
    """Return why a text can't be armed; empty: it can."""
    error = typed.shown.verdict.error if typed.shown.verdict is not None else None
    if error is not None:
        return f"{error.clause}: {error.hint}" if error.hint else error.message
    return "" if typed.probe is not None else "this is no probe"


class PastedLines:
    """The lines of one paste at a time."""

    def __init__(self, screen: Screen[None], bench: Workbench, specification: SpecificationControl) -> None:
        self._screen = screen
        self._bench = bench
        self._specification = specification

    def judge(self, event: SpecEditor.LinesPasted) -> None:
        """Judge each line in a worker."""
        if (planner := self._bench.planner) is not None:
            self._specification.triggers.take(planner.info, event.text)
            self._bench.keyboard.begins(_READING)
            lines, left_out = event.lines, event.left_out
            self._screen.run_worker(lambda: self._judge(planner, lines, left_out), thread=True, group="ask")

    def judge_marked(self, lines: tuple[str, ...], taken: Callable[[], None]) -> None:
        """Judge the probes on marked places, to be armed together; `taken` is called when they are."""
        if (planner := self._bench.planner) is not None:
            self._bench.keyboard.begins(_READING_MARKED)
            self._screen.run_worker(lambda: self._judge(planner, lines, 0, taken), thread=True, group="ask")

    def _judge(
        self, planner: Planner, lines: tuple[str, ...], left_out: int, taken: Callable[[], None] | None = None
    ) -> None:
        from probes.command import CommandText
        from tui.compose import specification

        found = tuple(specification.typed(planner, CommandText.parse(line)) for line in lines)
        self._screen.post_message(LinesRead(planner, found, left_out, taken))

    def offer(self, event: LinesRead) -> None:
        """Offer to arm all lines that can be armed; list the others with the reasons."""
        from probes.plans.duplicates import split_duplicates
        from widgets.dialogs.pasted_probes import PastedLine, PastedProbes

        self._bench.keyboard.ends(_READING if event.taken is None else _READING_MARKED)
        if event.planner is not self._bench.planner:
            return
        good = [one.probe for one in event.lines if one.probe is not None and not refusal(one)]
        probes, again = split_duplicates(good)
        left = Counter(again)
        lines: list[PastedLine] = []
        for one in reversed(event.lines):  # of those that are twice the first is taken
            why = refusal(one)
            if not why and one.probe is not None and left[one.probe] > 0:
                left[one.probe] -= 1
                why = "it stands there twice, and is armed once"
            counted = () if one.probe is None or why else self._specification.triggers.of(one.probe)
            lines.insert(0, PastedLine(one.shown.text, why, counted))

        def agreed(row: int | None) -> None:
            if row is not None:
                if event.taken is not None:
                    event.taken()
                self._bench.arming.arm_all(probes)

        self._screen.app.push_screen(PastedProbes(lines, event.left_out), agreed)
