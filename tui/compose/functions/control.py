"""List the functions and events of the target that is open, and read anew in a worker which there are."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.screen import Screen

from tui.compose.functions.function_index import Functions, renewed
from tui.compose.messages import PlaceLookedUp, PlacesRenewed
from tui.workbench import Workbench
from widgets.functions.function_list import FunctionList

if TYPE_CHECKING:
    from kernel.connection.planner import Planner
    from tui.present.first_row import Preview


class FunctionControl:
    """The functions of one target at a time, in the list that they are searched in."""

    def __init__(self, screen: Screen[None], bench: Workbench, shown: FunctionList) -> None:
        self._screen = screen
        self._bench = bench
        self._list = shown
        self.index = Functions(())
        """The functions of the target that is open."""

    def preview(self, preview: Preview) -> None:
        """List the functions of a target that is not open yet: they can be searched, and picked a moment later."""
        known = Functions(preview.names)
        self._list.show(known.names, known.find, known.describe)

    def connected(self, planner: Planner) -> None:
        """List the functions of another target."""
        self._use(Functions(planner.info.catalog.names, planner.info.function, planner, self._look_up))

    def _use(self, functions: Functions) -> None:
        self.index = functions
        self._list.show(functions.names, functions.find, functions.describe, functions)

    def describe_anew(self) -> None:
        """Draw the list again: more is known of what can attach."""
        self.index.forget()
        self._list.describe_anew()

    @property
    def on_screen(self) -> list[str]:
        """Functions that the list shows, the current one first."""
        return [name for name in self._list.on_screen if self.index.is_function(name)]

    def renew(self) -> None:
        """Read in a worker which events there are: others make and remove some at any time."""
        planner = self._bench.planner

        def work() -> None:
            from kernel.errors import KernelError

            with contextlib.suppress(KernelError):  # a lost connection is told by what comes next
                if planner is not None and (known := renewed(planner, self._look_up)) is not None:
                    self._screen.post_message(PlacesRenewed(planner, known))

        if planner is not None:
            self._screen.run_worker(work, thread=True, group="places")

    def renewed(self, event: PlacesRenewed) -> None:
        """List the functions and events that there are now."""
        if event.planner is self._bench.planner:
            self._use(event.functions)

    def _look_up(self, look: Callable[[], object]) -> None:
        """Look the functions of a place up in a worker."""

        def work() -> None:
            look()
            self._screen.post_message(PlaceLookedUp())

        self._screen.run_worker(work, thread=True, group="place")
