"""Messages of workers of the compose screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernel.connection.planner import Planner
    from probes.command import CommandText
    from tui.compose.functions.function_index import Functions
    from tui.compose.specification import TypedText
from tui.messages import PartMessage


class TextRead(PartMessage):
    """The target has checked a typed text."""

    def __init__(self, planner: Planner, text: CommandText, typed: TypedText) -> None:
        super().__init__()
        self.planner = planner
        self.text = text
        self.typed = typed


class ProgramsTried(PartMessage):
    """The target was asked what it attaches BPF programs to."""

    def __init__(self, planner: Planner) -> None:
        super().__init__()
        self.planner = planner


class PlacesRenewed(PartMessage):
    """Other events are there than before."""

    def __init__(self, planner: Planner, functions: Functions) -> None:
        super().__init__()
        self.planner = planner
        self.functions = functions


class PlaceLookedUp(PartMessage):
    """The target was asked for the functions that a searched place stands for."""


class LinesRead(PartMessage):
    """Lines of specifications, pasted or of marked places, were checked; `left_out` of them had no probe."""

    def __init__(
        self,
        planner: Planner,
        lines: tuple[TypedText, ...],
        left_out: int,
        taken: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self.taken = taken
        """Called when they are armed; None: they were pasted."""
        self.planner = planner
        self.lines = lines
        self.left_out = left_out
