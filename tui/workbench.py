"""The interface of the application to its places: what compose, live, hosts and their dialogs may ask of it.

Places take a `Workbench` when they are made, so that no place imports the application.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from events.loss_counts import LossCounts
    from kernel.connection.planner import Planner
    from kernel.session.armed import Armed
    from kernel.watch.watch import Watch
    from probes.command import Armable
    from tui.app.keyboard import Keyboard
    from tui.app.recorder_control import RecorderControl
    from tui.app.trace_control import TraceControl
    from tui.app.undo_list import TakeBackList
    from tui.messages import Remedied
    from tui.notifications import Notices
    from tui.opening import Opening
    from tui.present.event_times import ClockFace


class Arming(Protocol):
    """The part of the application that arms, changes and disarms probes."""

    def arm_all(self, probes: Sequence[Armable]) -> None:
        """Arm probes, and go to their events; ask where one is armed already."""

    def show_recorded(self, path: str) -> None:
        """Go to the events of a recording, filtered to one."""

    def disarm(self, probes: Sequence[Armed]) -> object:
        """Disarm probes in a worker."""

    def remedy(self, action: Callable[[Watch], Remedied]) -> object:
        """Change what is armed in a worker; see `tui.kernel_jobs`."""


class BuiltTriggers(Protocol):
    """Triggers of the probes that are armed from now on."""

    def of(self, probe: Armable) -> tuple[str, ...]:
        """Return the triggers that are armed with a probe."""

    def translated(self, probe: Armable) -> tuple[str, ...]:
        """Return the hist triggers that another tool's text had for the subject of a probe."""


class BuiltProbe(Protocol):
    """The probe that is being built."""

    @property
    def current(self) -> Armable | None:
        """The probe, where its text is one."""

    @property
    def triggers(self) -> BuiltTriggers:
        """Triggers of the probes that are armed from now on."""


class Composing(Protocol):
    """The place where probes are built."""

    @property
    def specification(self) -> BuiltProbe:
        """The probe that is being built."""

    def pick(self, name: str) -> None:
        """Show the signature of a function."""


class PlaceSwitch(Protocol):
    """The ways from one place to another."""

    @property
    def compose(self) -> Composing:
        """The place where probes are built."""

    def in_compose(self, act: Callable[[], object]) -> None:
        """Go to the place where probes are built, and call a function as soon as it is shown."""

    def edit_filter(self, probe: Armable) -> None:
        """Go to the line in which the filter of a probe is typed."""

    def show_newest_of(self, events: Collection[str]) -> None:
        """Go to the newest event of some, by their paths."""


class HostNotes(Protocol):
    """The hosts, where there are several."""

    @property
    def note(self) -> str:
        """Text about the hosts for the other places; empty: no probe is armed on any."""


class Rehearsals(Protocol):
    """Boots of guests with a probe."""

    def ask(self, planner: Planner, probe: Armable) -> None:
        """Ask for the file of a recording, boot a guest of the lab with a probe, and open what was recorded."""


class Workbench(Protocol):
    """See the module."""

    display_clock: ClockFace
    """Clock by which times are shown."""

    @property
    def opening(self) -> Opening:
        """The attempt to open the target; its thread may have ended."""

    @property
    def planner(self) -> Planner | None:
        """The connection to the target; None: none is open yet."""

    @property
    def current_watch(self) -> Watch | None:
        """The watch of the connection."""

    @property
    def counts(self) -> LossCounts | None:
        """Losses of the watch, at most a second old."""

    @property
    def notices(self) -> Notices:
        """The notifications at the foot of the screen."""

    @property
    def keyboard(self) -> Keyboard:
        """The keys that are typed ahead."""

    @property
    def undo(self) -> TakeBackList:
        """The steps that can be undone."""

    @property
    def arming(self) -> Arming:
        """The part that arms and disarms."""

    @property
    def recorder(self) -> RecorderControl:
        """The part that begins and ends recordings."""

    @property
    def boots(self) -> Rehearsals:
        """The part that boots guests with a probe."""

    @property
    def tracing(self) -> TraceControl:
        """The function_graph tracer."""

    @property
    def places(self) -> PlaceSwitch:
        """The ways from one place to another."""

    @property
    def hosts(self) -> HostNotes | None:
        """The hosts, where there are several."""


def open_planner(bench: Workbench) -> Planner:
    """Return the connection to the target, where a function was picked: that is after the target was opened."""
    planner = bench.planner
    assert planner is not None, "nothing can be picked before a target is open"  # noqa: S101
    return planner
