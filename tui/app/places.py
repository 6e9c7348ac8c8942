"""The places of the application (compose, live; `tui.hosts` has the third), and the ways from one to another."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING

from textual.app import App
from textual.screen import ModalScreen

from tui.compose.screen import ComposeScreen
from tui.present.ways_out import SEE_EVENTS

# The live place is imported when it is gone to, not before the first paint.
if TYPE_CHECKING:
    from probes.command import Armable
    from tui.dialogs.preset_screen import PickedPreset
    from tui.live.screen import LiveScreen
    from tui.present.first_row import Preview
    from tui.workbench import Workbench


class AppPlaces:
    """The screens of the application; one that is not seen is shown anew when it is gone to."""

    def __init__(self, app: App[None], bench: Workbench) -> None:
        """Take the application: as the owner of the screens, and as what they ask things of."""
        self._app = app
        self._bench = bench
        self.compose = ComposeScreen(bench)
        self.live: LiveScreen | None = None
        """Made when it is first gone to."""
        self._led_to_events = False
        """True where the live place was shown for a recording that was not open yet."""
        app.add_mode("compose", lambda: self.compose)
        app.add_mode("live", self.make_live)

    def make_live(self) -> LiveScreen:
        """Return the live place; make it the first time."""
        from tui.live.screen import LiveScreen

        if self.live is None:
            self.live = LiveScreen(self._bench)
        return self.live

    # -- the target ------------------------------------------------------------------------------------------------

    def preview(self, preview: Preview) -> None:
        """Show the functions, and the first rows, of a target that is not open yet."""
        self.compose.preview(preview)
        if preview.events is not None:
            self.make_live().preview(preview, preview.events)
            if not self._led_to_events:
                self.expect_events()

    def expect_events(self) -> None:
        """Go to the live place, where nothing was typed: the target that is being opened is a recording."""
        if self.compose.untouched and not isinstance(self._app.screen, ModalScreen):
            self._led_to_events = True
            self._app.switch_mode("live")

    @property
    def stay(self) -> bool:
        """True where the place on the screen is kept when the target is open."""
        of_start = self._led_to_events and not self._bench.opening.by_hand
        return self._app.current_mode == "compose" or of_start

    def connected(self) -> None:
        """Show another target, where probes are built."""
        by_hand, hosts = self._bench.opening.by_hand, self._bench.hosts
        if by_hand or (hosts is None and not self._led_to_events):
            self._app.switch_mode("compose")
        self.compose.connected()

    def watch_changed(self) -> None:
        """Show the events of another watch."""
        if self.live is not None:
            self.live.connected()

    def replayed(self) -> None:
        """Go to the events of a recording, except from a dialog that a person chooses in."""
        if getattr(self._app.screen, "WAITS_FOR_TARGET", False):
            return
        if self._app.current_mode != "live" and self._bench.keyboard.is_elsewhere:
            return
        if self._bench.opening.by_hand or (self.compose.untouched and not self._led_to_events):
            self._app.switch_mode("live")

    # -- what changes ----------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Show new events, where they are seen."""
        if self.live is not None and self.live.is_current:
            self.live.tick()

    def names_changed(self) -> None:
        """Show names of tasks that are known only now."""
        if self.live is not None:
            self.live.names_changed()

    def refresh(self) -> None:
        """Show anew what is armed and what was lost, in the place that is seen."""
        if self.compose.is_current:
            self.compose.refresh_state()
        if self.live is not None and self.live.is_current:
            self.live.refresh_state()

    # -- ways ------------------------------------------------------------------------------------------------------

    def show_newest_of(self, events: Collection[str]) -> None:
        """Go to the newest event of some, by their paths."""
        place = self._go_live()
        self._app.call_after_refresh(place.requested.show_newest_of, events)

    def show_armed(self, probe: Armable) -> None:
        """Go to the events of a probe that was armed just now, unless a person types elsewhere meanwhile."""
        if self._stays(f"armed: {probe}"):
            return
        place = self._go_live()
        self._app.call_after_refresh(place.requested.show_armed, probe)

    def show_event(self, path: str) -> None:
        """Go to the rows of one event of a recording."""
        place = self._go_live()
        self._app.call_after_refresh(place.requested.show_event, path)

    def show_graph(self, view: str = "graph") -> None:
        """Go to the tree of calls, or to another view of them, unless a person types elsewhere meanwhile."""
        if self._stays("the call graph is being recorded"):
            return
        place = self._go_live()
        self._app.call_after_refresh(place.action_view, view)

    def show_preset(self, picked: PickedPreset, arm: Callable[[], None]) -> None:
        """Go to the view that a preset asks for, and arm the preset on the way."""
        place = self._go_live()
        arm()
        self._app.call_after_refresh(place.requested.show_preset, picked)

    def show_failures(self, picked: PickedPreset) -> None:
        """Go to the failures that a preset asks for."""
        place = self._go_live()
        self._app.call_after_refresh(place.requested.show_failures, picked)

    def _stays(self, done: str) -> bool:
        """Return whether a person types elsewhere, since what is done was under way; say so."""
        stays = self._app.current_mode != "live" and self._bench.keyboard.is_elsewhere
        if stays:
            self._bench.notices.notify(f"{done}; {SEE_EVENTS}", topic="armed")
        return stays

    def _go_live(self) -> LiveScreen:
        place = self.make_live()
        self._app.switch_mode("live")
        return place

    def edit_filter(self, probe: Armable) -> None:
        """Go to the line in which the filter of a probe is typed."""
        self.in_compose(partial(self.compose.edit_filter, probe))

    def search(self) -> None:
        """Go to the line that searches for a function."""
        self._app.switch_mode("compose")
        if self.compose.is_mounted:  # else the keyboard begins there
            self.compose.action_search()

    def in_compose(self, act: Callable[[], object]) -> None:
        """Go to the compose place, and call `act` as soon as that is mounted: with hosts, their place comes first."""
        switched = self._app.switch_mode("compose")

        async def when_shown() -> None:
            await switched
            act()

        if self.compose.is_mounted:
            act()
        else:
            self._app.call_next(when_shown)
