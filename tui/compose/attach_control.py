"""The part of the compose place that says why a function can't be probed, and finds what can be taken instead."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from textual import on, work
from textual.screen import Screen
from textual.worker import get_current_worker

from kernel.errors import KernelError
from tui.messages import AttachExplained, CallersFound, CodeRead

if TYPE_CHECKING:
    from kernel.attach.explain import AttachExplainer
    from kernel.connection.planner import Connection
    from tui.workbench import Workbench
    from widgets.fields.attach_pane import AttachPane
    from widgets.fields.probe_editor import ProbeEditor

_STEP = 0.02
"""Share of the code after which the screen hears of it again."""


class WhyScreen(Screen[None]):
    """Workers that look closer, each when a person asks for it."""

    def __init__(self, bench: Workbench) -> None:
        super().__init__()
        self.bench = bench
        self._attaching: AttachExplainer | None = None
        """Of the target that is open; made when the first function is looked at closely."""

    @abstractmethod
    def explaining(self) -> ProbeEditor:
        """The editor whose function it is about."""

    @abstractmethod
    def explained(self) -> None:
        """The catalog knows more now."""

    def forget_why(self) -> None:
        """Another target is open."""
        self._attaching = None

    def explain_first(self, connection: Connection, name: str) -> None:
        """Look closer at a function if nothing of the target was looked at so: from then on the catalog is exact."""
        from probes.attaching.values import UNSEEN

        looking = any(worker.group == "why" and worker.is_running for worker in self.workers)
        if connection.catalog.ground is UNSEEN and not looking:
            self.explain(connection, name)

    def explain(self, connection: Connection, name: str) -> None:
        """Look closer at a function if not everything can attach to it."""
        from kernel.attach.explain import AttachExplainer
        from probes.attaching.values import ReasonKind

        about = connection.catalog.attachability(name)
        self._attaching = self._attaching or AttachExplainer(connection)
        if not about.kinds or about.has(ReasonKind.TWINS):
            self._look(self._attaching, name)

    @work(thread=True, group="why")
    def _look(self, attaching: AttachExplainer, name: str) -> None:
        try:
            self.post_message(AttachExplained(attaching, attaching.about(name)))
        except KernelError:
            return  # what was known before stays; a line that is gone is told by whoever needs it next

    @on(AttachExplained)
    def _explained(self, event: AttachExplained) -> None:
        event.stop()
        if event.attaching is self._attaching:
            self.explaining().explain(event.about)
            self.explained()

    def on_attach_pane_callers_wanted(self, event: AttachPane.CallersWanted) -> None:
        event.stop()
        if self._attaching is not None:
            self._find_callers(self._attaching, event.function)

    @work(thread=True, group="callers")
    def _find_callers(self, attaching: AttachExplainer, name: str) -> None:
        from probes.attaching.callers import Callers

        worker, told = get_current_worker(), 0.0

        def progress(share: float) -> bool:
            nonlocal told
            if share >= told + _STEP:
                told = share
                self.post_message(CodeRead(attaching, name, share))
            return not worker.is_cancelled

        try:
            found = attaching.callers(name, progress)
        except KernelError as error:
            found = Callers(name, trouble=str(error))
        if found is not None:
            self.post_message(CallersFound(attaching, found))

    @on(CodeRead)
    def _code_read(self, event: CodeRead) -> None:
        event.stop()
        if event.attaching is self._attaching:
            self.explaining().why.searching(event.function, event.share)

    @on(CallersFound)
    def _callers_found(self, event: CallersFound) -> None:
        event.stop()
        if event.attaching is self._attaching:
            self.explaining().why.found(event.callers)
