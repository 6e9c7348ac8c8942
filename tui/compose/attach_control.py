"""Explain why a function can't be probed, and find alternatives, in workers that start when a person asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen
from textual.worker import get_current_worker

from kernel.errors import KernelError
from tui.compose.panes import ProbePanes
from tui.messages import AttachExplained, CallersFound, CodeRead

if TYPE_CHECKING:
    from kernel.attach.explain import AttachExplainer
    from kernel.attach.function_body import BodyReader
    from kernel.connection.kernel_info import KernelInfo

_STEP = 0.02
"""Share of the code after which the screen is notified again."""


class AttachControl:
    """The explanations for one target at a time; messages to the screen bring them."""

    def __init__(self, screen: Screen[None], panes: ProbePanes) -> None:
        self._screen = screen
        self._panes = panes
        self._explainer: AttachExplainer | None = None
        """Explainer of the target that is open; None: no function was explained on it."""
        self._reader: BodyReader | None = None
        """Reader of functions' code of that target; None: no code was asked for."""

    def forget(self) -> None:
        """Forget the explanations: another target is open."""
        self._explainer = self._reader = None

    def body_reader(self, info: KernelInfo) -> BodyReader:
        """Return the reader of functions' code of the open target, which keeps the tables of its kernel."""
        from kernel.attach.explain import AttachExplainer
        from kernel.attach.function_body import BodyReader

        self._explainer = explainer = self._explainer or AttachExplainer(info)
        self._reader = self._reader or BodyReader(info, explainer.attachability, explainer.debug)
        return self._reader

    def explain_first(self, info: KernelInfo, name: str) -> None:
        """Explain a function if none of the target was explained: from then on the catalog is exact."""
        from probes.attaching.values import UNSEEN

        looking = any(worker.group == "why" and worker.is_running for worker in self._screen.workers)
        if info.catalog.sources is UNSEEN and not looking:
            self.explain(info, name)

    def explain(self, info: KernelInfo, name: str) -> None:
        """Explain a function if not every kind of probe can attach to it."""
        from kernel.attach.explain import AttachExplainer
        from probes.attaching.values import ReasonKind

        about = info.catalog.attachability(name)
        self._explainer = explainer = self._explainer or AttachExplainer(info)
        if not about.kinds or about.has(ReasonKind.TWINS):
            self._screen.run_worker(lambda: self._explain(explainer, name), thread=True, group="why")

    def _explain(self, explainer: AttachExplainer, name: str) -> None:
        try:
            self._screen.post_message(AttachExplained(explainer, explainer.attachability(name)))
        except KernelError:
            return  # the former explanation stays; whoever needs the lost connection next reports it

    def explained(self, event: AttachExplained) -> bool:
        """Show an explanation; return False where it is of a target that was left."""
        if event.attaching is not self._explainer:
            return False
        self._panes.editor.signature.explain(event.about)
        return True

    # -- callers ---------------------------------------------------------------------------------------------------

    def find_callers(self, name: str) -> None:
        """Look for the callers of a function in the kernel's code, in a worker."""
        if (explainer := self._explainer) is not None:
            self._screen.run_worker(lambda: self._find_callers(explainer, name), thread=True, group="callers")

    def _find_callers(self, explainer: AttachExplainer, name: str) -> None:
        from probes.attaching.callers import Callers

        worker, reported = get_current_worker(), 0.0

        def progress(share: float) -> bool:
            nonlocal reported
            if share >= reported + _STEP:
                reported = share
                self._screen.post_message(CodeRead(explainer, name, share))
            return not worker.is_cancelled

        try:
            found = explainer.callers(name, progress)
        except KernelError as error:
            found = Callers(name, error=str(error))
        if found is not None:
            self._screen.post_message(CallersFound(explainer, found))

    def code_read(self, event: CodeRead) -> None:
        """Show how much of the code was read."""
        if event.attaching is self._explainer:
            self._panes.editor.signature.why.searching(event.function, event.share)

    def callers_found(self, event: CallersFound) -> None:
        """Show the callers."""
        if event.attaching is self._explainer:
            self._panes.editor.signature.why.found(event.callers)
