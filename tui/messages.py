"""Messages from workers and from the pump's thread to the application."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from events.loss_counts import LossCounts
    from kernel.attach.explain import AttachExplainer
    from kernel.connection.kernel_info import KernelInfo
    from kernel.errors import KernelError
    from kernel.session.rearm import ArmedState
    from kernel.watch.reconnect import Reconnected
    from kernel.watch.watch import Watch
    from probes.attaching.callers import Callers
    from probes.attaching.values import Attachability
    from probes.command import Armable
    from probes.plans.plan import Plan
    from probes.verdict import Verdict
    from tui.opening import Opening
    from tui.preview import PreviewReader


class PartMessage(Message):
    """A message for one part of the application, or of a screen; that has the table of handlers."""


class UndoOffered(PartMessage):
    """A person took a step that can be undone; `undo` undoes it."""

    def __init__(self, description: str, undo: Callable[[], object]) -> None:
        super().__init__()
        self.description = description
        self.undo = undo


class EventsWanted(Message):
    """A view asks to show the events that match a condition, in the view of events or of calls."""

    def __init__(self, condition: str, view: str = "events") -> None:
        super().__init__()
        self.condition = condition
        self.view = view


class EventShown(Message):
    """A view asks to show an event, by its sequence number, in the view of events."""

    def __init__(self, seq: int) -> None:
        super().__init__()
        self.seq = seq


class EventsExpected(PartMessage):
    """The target being opened is a recording with events."""


class Previewed(PartMessage):
    """A preview of the target was read, or reading it failed."""

    def __init__(self, reader: PreviewReader) -> None:
        super().__init__()
        self.reader = reader


class Connected(Message):
    """A target is open."""

    def __init__(self, opening: Opening, info: KernelInfo) -> None:
        super().__init__()
        self.opening = opening
        self.info = info


class ConnectFailed(PartMessage):
    """A target could not be opened."""

    def __init__(self, opening: Opening, error: KernelError) -> None:
        super().__init__()
        self.opening = opening
        self.error = error


class TypesDamaged(PartMessage):
    """The target's types are damaged."""

    def __init__(self, info: KernelInfo, error: str) -> None:
        super().__init__()
        self.info = info
        self.error = error


class TypesRead(PartMessage):
    """The types for a function of a module are loaded, or there are none."""

    def __init__(self, info: KernelInfo, function: str) -> None:
        super().__init__()
        self.info = info
        self.function = function


class AttachExplained(PartMessage):
    """The probes that can attach to a function are known, with reasons and alternatives."""

    def __init__(self, attaching: AttachExplainer, about: Attachability) -> None:
        super().__init__()
        self.attaching = attaching
        self.about = about


class CodeRead(PartMessage):
    """Part of the kernel's code was searched for a function's callers; `share` is that part, from 0 to 1."""

    def __init__(self, attaching: AttachExplainer, function: str, share: float) -> None:
        super().__init__()
        self.attaching = attaching
        self.function = function
        self.share = share


class CallersFound(PartMessage):
    """The search for a function's callers has ended."""

    def __init__(self, attaching: AttachExplainer, callers: Callers) -> None:
        super().__init__()
        self.attaching = attaching
        self.callers = callers


class DataArrived(Message):
    """The pump has new data; consecutive messages are merged."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, DataArrived)


class ProbeArmed(PartMessage):
    """A probe is armed; `losses`: data that this kernel can't provide, `rate`: hits measured just before."""

    def __init__(
        self, probe: Armable, losses: tuple[str, ...], rate: str = "", *, there: Armable | None = None
    ) -> None:
        super().__init__()
        self.probe = probe
        self.there = there or probe
        """Probe that delivers the events: a recording may hold one that records the same fields and more."""
        self.losses = losses
        self.rate = rate


class ProbeTooFast(PartMessage):
    """A probe is armed only after a question: its rate exceeds the limit, or it is on several functions."""

    def __init__(
        self,
        probe: Armable,
        rate: str,
        cost_of_counting: str,
        quieter: Armable | None = None,
        most: str = "",
        exceeded: str = "",
    ) -> None:
        super().__init__()
        self.probe = probe
        self.rate = rate
        self.cost_of_counting = cost_of_counting
        self.quieter = quieter
        """The probe without its most frequent functions; None: there is none."""
        self.most = most
        """The most frequent of several functions with their rates; empty: they were not counted."""
        self.exceeded = exceeded
        """The limit that it exceeds, and the quieter probe keeps, as `50 % of a CPU`; empty: none."""


class Remedied(PartMessage):
    """An armed probe or the buffer was changed, or that failed; `undo` is the opposite change."""

    def __init__(self, text: str, *, failed: bool = False, undo: Callable[[Watch], Remedied] | None = None) -> None:
        super().__init__()
        self.text = text
        self.failed = failed
        self.undo = undo

    def for_good(self) -> Remedied:
        """Return the message without its opposite change: it was itself an undo."""
        self.undo = None
        return self


class ProbeRejected(PartMessage):
    """A probe was rejected by the kernel, or could not be armed for another reason."""

    def __init__(self, probe: Armable, verdict: Verdict | None, text: str, remedy: str = "") -> None:
        super().__init__()
        self.probe = probe
        self.verdict = verdict
        self.text = text
        self.remedy = remedy


class Disarmed(PartMessage):
    """Probes were disarmed; `failures`: those that could not be, `gone`: those that can be armed again in their
    former state.
    """

    def __init__(
        self, failures: tuple[str, ...], gone: tuple[tuple[Plan, ArmedState], ...] = (), watch: Watch | None = None
    ) -> None:
        super().__init__()
        self.failures = failures
        self.gone = gone
        self.watch = watch
        """Watch in which they were armed; None: nothing can be armed again."""


class RecordingChanged(PartMessage):
    """A recording was begun or ended, or that failed."""

    def __init__(self, text: str, *, failed: bool = False) -> None:
        super().__init__()
        self.text = text
        self.failed = failed


class BootRehearsed(PartMessage):
    """A guest was booted with a probe and its events were read, or that failed or was stopped."""

    def __init__(self, path: Path | None, text: str, remedy: str = "") -> None:
        super().__init__()
        self.path = path
        """Recording; None: there is none."""
        self.text = text
        """Summary, or why there is no recording; empty: it was stopped."""
        self.remedy = remedy


class LossesCounted(Message):
    """Loss counts and names of tasks were read from the kernel."""

    def __init__(self, watch: Watch, counts: LossCounts | None, names: dict[int, str]) -> None:
        super().__init__()
        self.watch = watch
        self.counts = counts
        self.names = names


class SymbolsWanted(PartMessage):
    """Addresses of the target are to be shown, which only its symbols name."""


class SymbolsRead(Message):
    """The symbols of a target were read: its addresses have names."""

    def __init__(self, info: KernelInfo) -> None:
        super().__init__()
        self.info = info


class ConnectionRestored(PartMessage):
    """A disconnected watch is connected again."""

    def __init__(self, watch: Watch, reconnected: Reconnected) -> None:
        super().__init__()
        self.watch = watch
        self.reconnected = reconnected


class ConnectionLost(PartMessage):
    """Reconnecting a watch was given up."""

    def __init__(self, watch: Watch, error: KernelError) -> None:
        super().__init__()
        self.watch = watch
        self.error = error


class HostsChanged(PartMessage):
    """Events came from a host, or a host changed its state."""


class GraphStarted(Message):
    """The function_graph tracer runs."""

    def __init__(self, watch: Watch, failures: tuple[str, ...]) -> None:
        super().__init__()
        self.watch = watch
        self.failures = failures
        """Settings that the former tracer could not restore."""


class GraphFailed(PartMessage):
    """The function_graph tracer could not be started."""

    def __init__(self, plan: str, reason: str, remedy: str) -> None:
        super().__init__()
        self.plan = plan
        self.reason = reason
        self.remedy = remedy
