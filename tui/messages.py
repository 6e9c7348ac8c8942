"""Facts that cross from a worker or the pump's thread to the application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernel.attach.explain import AttachExplainer
    from kernel.connection.planner import Connection
    from kernel.errors import KernelError
    from kernel.graph.watch import GraphWatch
    from kernel.guards.loss_counts import LossCounts
    from kernel.session.rearm import ArmedState
    from kernel.watch.reconnect import Reconnected
    from kernel.watch.watch import Watch
    from probes.attaching.callers import Callers
    from probes.attaching.values import Attachability
    from probes.command import Armable
    from probes.plans.plan import Plan
    from probes.verdict import Verdict
    from tui.compose.specification import TypedText
    from tui.opening import Opening
    from tui.preview import PreviewReader


class PartMessage(Message):
    """A message for one part of the application, or of a screen; that has the table of handlers."""


class UndoOffered(Message):
    """A person took a step that can be undone; `back` undoes it."""

    def __init__(self, what: str, back: Callable[[], object]) -> None:
        super().__init__()
        self.what = what
        self.back = back


class EventsExpected(Message):
    """The target that is being opened is a recording with events."""


class Previewed(Message):
    """A preview of the target was read, or could not be."""

    def __init__(self, reader: PreviewReader) -> None:
        super().__init__()
        self.reader = reader


class Connected(Message):
    """A target is open."""

    def __init__(self, opening: Opening, connection: Connection) -> None:
        super().__init__()
        self.opening = opening
        self.connection = connection


class ConnectFailed(PartMessage):
    """A target could not be opened."""

    def __init__(self, opening: Opening, error: KernelError) -> None:
        super().__init__()
        self.opening = opening
        self.error = error


class TypesDamaged(PartMessage):
    """Types of a target are damaged."""

    def __init__(self, connection: Connection, error: str) -> None:
        super().__init__()
        self.connection = connection
        self.error = error


class TypesRead(PartMessage):
    """The types of a module were read, for one of its functions, or there are none."""

    def __init__(self, connection: Connection, function: str) -> None:
        super().__init__()
        self.connection = connection
        self.function = function


class TextRead(PartMessage):
    """The target was asked about a text that was typed."""

    def __init__(self, connection: Connection, text: str, found: TypedText) -> None:
        super().__init__()
        self.connection = connection
        self.text = text
        self.found = found


class AttachExplained(PartMessage):
    """A function was looked at closely: what can attach, why not, what instead."""

    def __init__(self, attaching: AttachExplainer, about: Attachability) -> None:
        super().__init__()
        self.attaching = attaching
        self.about = about


class CodeRead(PartMessage):
    """A share of the kernel's code was searched for a function's callers."""

    def __init__(self, attaching: AttachExplainer, function: str, share: float) -> None:
        super().__init__()
        self.attaching = attaching
        self.function = function
        self.share = share


class CallersFound(PartMessage):
    """The callers of a function were looked for."""

    def __init__(self, attaching: AttachExplainer, callers: Callers) -> None:
        super().__init__()
        self.attaching = attaching
        self.callers = callers


class DataArrived(Message):
    """The pump has something; of many in a row one is enough."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, DataArrived)


class ProbeArmed(PartMessage):
    """A probe is armed; `losses` say what this kernel could not give, `rate` how often it was hit just before."""

    def __init__(
        self, probe: Armable, losses: tuple[str, ...], rate: str = "", *, there: Armable | None = None
    ) -> None:
        super().__init__()
        self.probe = probe
        self.there = there or probe
        """The probe whose events come: a recording holds one that records the same and more."""
        self.losses = losses
        self.rate = rate


class ProbeTooFast(PartMessage):
    """A probe was not armed: what would come is more than the limit."""

    def __init__(self, probe: Armable, rate: str, cost_of_counting: str) -> None:
        super().__init__()
        self.probe = probe
        self.rate = rate
        self.cost_of_counting = cost_of_counting


class Remedied(PartMessage):
    """Something was done about an armed probe or the buffer, or could not be; `back` does the contrary."""

    def __init__(self, text: str, *, failed: bool = False, back: Callable[[Watch], Remedied] | None = None) -> None:
        super().__init__()
        self.text = text
        self.failed = failed
        self.back = back

    def for_good(self) -> Remedied:
        """Return the same, that can't be taken back: it took something back itself."""
        self.back = None
        return self


class ProbeRejected(PartMessage):
    """The kernel, or the way to it, said no."""

    def __init__(self, probe: Armable, verdict: Verdict | None, text: str, remedy: str = "") -> None:
        super().__init__()
        self.probe = probe
        self.verdict = verdict
        self.text = text
        self.remedy = remedy


class LinesRead(PartMessage):
    """Lines that were pasted into the specification were judged; `left_out` of them had no probe."""

    def __init__(self, connection: Connection, found: tuple[TypedText, ...], left_out: int) -> None:
        super().__init__()
        self.connection = connection
        self.found = found
        self.left_out = left_out


class Disarmed(PartMessage):
    """Probes were taken away; `failures` say what could not be, `gone` what can be armed again as it was."""

    def __init__(
        self, failures: tuple[str, ...], gone: tuple[tuple[Plan, ArmedState], ...] = (), watching: Watch | None = None
    ) -> None:
        super().__init__()
        self.failures = failures
        self.gone = gone
        self.watching = watching
        """Watch on which the probes were armed; None: none can be armed again."""


class RecordingChanged(PartMessage):
    """A recording was begun or ended, or could not be."""

    def __init__(self, text: str, *, failed: bool = False) -> None:
        super().__init__()
        self.text = text
        self.failed = failed


class LossesCounted(Message):
    """The kernel was asked what was lost, and for the names of tasks."""

    def __init__(self, watching: Watch, counts: LossCounts | None, names: dict[int, str]) -> None:
        super().__init__()
        self.watching = watching
        self.counts = counts
        self.names = names


class ConnectionRestored(PartMessage):
    """A connection is restored."""

    def __init__(self, watching: Watch, back: Reconnected) -> None:
        super().__init__()
        self.watching = watching
        self.back = back


class ConnectionLost(PartMessage):
    """A connection is lost for good."""

    def __init__(self, watching: Watch, error: KernelError) -> None:
        super().__init__()
        self.watching = watching
        self.error = error


class HostsChanged(Message):
    """Events came from one of several hosts, or one of them is in another state."""


class GraphStarted(Message):
    """The function_graph tracer runs."""

    def __init__(self, watching: GraphWatch, failures: tuple[str, ...]) -> None:
        super().__init__()
        self.watching = watching
        self.failures = failures
        """Settings that the tracer before could not put back."""


class GraphFailed(PartMessage):
    """The function_graph tracer could not be begun."""

    def __init__(self, plan: str, why: str, remedy: str) -> None:
        super().__init__()
        self.plan = plan
        self.why = why
        self.remedy = remedy
