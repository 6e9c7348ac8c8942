"""Keep the specification and the fields of a probe equal: a ticked field is written, and a typed one is ticked."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.screen import Screen

from kernel.errors import KernelError
from tui.compose.attach_control import AttachControl
from tui.compose.functions.control import FunctionControl
from tui.compose.messages import TextRead
from tui.compose.panes import ProbePanes
from tui.compose.probe_triggers import ProbeTriggers
from tui.compose.signature_control import SignatureControl
from tui.workbench import Workbench, open_planner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernel.connection.planner import Planner
    from probes.command import Armable, CommandText
    from probes.completion.choice import Completions
    from probes.facts.facts import TargetFacts
    from probes.probe import Probe
    from probes.verdict import Refusal, Verdict
    from tui.compose.completer import Completer
    from tui.compose.specification import TypedText
    from widgets.spec.layout import Specification

PAUSE = 0.15
"""Seconds without a key before the target is asked about what was typed."""


class SpecificationControl:
    """The probe that is being built; decisions about its text are in `tui.compose.specification`."""

    def __init__(
        self,
        screen: Screen[None],
        bench: Workbench,
        panes: ProbePanes,
        signature: SignatureControl,
        attach: AttachControl,
        functions: FunctionControl,
    ) -> None:
        self._screen = screen
        self._bench = bench
        self._panes = panes
        self._signature = signature
        self._attach = attach
        self._functions = functions
        self._completer: Completer | None = None
        self._kernels: Mapping[str, TargetFacts] | None = None
        self._typed: TypedText | None = None
        """The text that was typed, where no ticked fields equal it."""
        self._asked: CommandText | None = None
        """The text that was read last."""
        self.triggers = ProbeTriggers()

    def connected(self) -> None:
        """Read the text that was typed anew: another target is open."""
        self._completer = self._kernels = None
        if self._typed is not None:
            self.read(self._typed.shown.text)

    @property
    def current(self) -> Armable | None:
        """The probe that is being built; None: the text is no probe."""
        if self._typed is not None:
            return self._typed.probe
        return self._ticked

    @property
    def _ticked(self) -> Armable | None:
        """The probe whose fields are ticked; None: nothing was picked."""
        from probes.attaching.places import as_armed

        probe = self._panes.editor.probe
        return as_armed(probe) if probe is not None else None

    def arm(self) -> None:
        """Arm the probe, or notify of why not; of an event of a recording show its rows."""
        if (probe := self.current) is None:
            self._bench.notices.notify_not_armed(self.refusal)
        elif probe.subject in open_planner(self._bench).info.recorded_events:
            self._bench.arming.show_recorded(probe.subject)
        else:
            self._bench.arming.arm_all((probe,))

    # -- what is ticked --------------------------------------------------------------------------------------------

    def show(self) -> None:
        """Show the specification of the fields that are ticked."""
        from probes.command import is_function
        from probes.probe import Probe
        from tui.compose.specification import specification_of
        from widgets.spec.layout import Specification

        spec, ticked = self._panes.spec, self._ticked
        self._typed = None
        if ticked is None:
            return
        if isinstance(ticked, Probe) and is_function(ticked) and not self._signature.unread:
            spec.show(self._with_others(specification_of(open_planner(self._bench), ticked)))
            return
        spec.show(Specification(str(ticked)))
        if not self._signature.unread:  # the target is asked about events, in a worker
            self.read(str(ticked))

    def refused(self, probe: Armable, verdict: Verdict) -> str:
        """Show the verdict of the kernel itself on a probe; return its correction, empty where none is known."""
        from tui.compose.specification import refused

        spec = self._panes.spec
        if probe != self.current:
            return ""
        spec.shown = refused(spec.shown, verdict)
        error = spec.shown.verdict.error if spec.shown.verdict else None
        return self._way_out(error) if error is not None and error.corrected else ""

    @property
    def refusal(self) -> str:
        """Reason for which the text is no probe, with the correction where one is known."""
        verdict = self._panes.spec.shown.verdict
        error = verdict.error if verdict is not None else None
        return self._way_out(error) if error is not None else "there is no probe yet"

    def _way_out(self, error: Refusal) -> str:
        """Return a refusal in a line, with the keys that take its correction."""
        from widgets.spec.layout import advice

        keys = "tab" if self._panes.typing else "F6, tab"
        return ": ".join(filter(None, (error.clause, advice(error, keys))))

    # -- what is typed ---------------------------------------------------------------------------------------------

    def complete(self, text: str, cursor: int) -> Completions:
        """Return the words that may stand at a place of the text."""
        from probes.completion.choice import NOTHING
        from probes.objects.request import is_object
        from probes.translation.source_line import source_line_of
        from probes.translation.translate import translate
        from tui.compose.completer import Completer

        if translate(text) is not None or is_object(text) or source_line_of(text) is not None:
            return NOTHING
        if self._completer is None:
            self._completer = Completer(open_planner(self._bench).info, self._functions.index)
        return self._completer.complete(text, cursor)

    def take_over(self, text: str) -> None:
        """Put a text in the place of the one that was typed, and read it."""
        self._panes.spec.editor.take_over(text)
        self.read(text)

    def read(self, text: str) -> None:
        """Tick the fields of a text, and show the verdict of this kernel on it."""
        from probes.command import CommandText
        from tui.compose import specification

        planner = open_planner(self._bench)
        self.triggers.take(planner.info, text)
        if self._asked is None or self._asked.text != text:
            self._asked = CommandText.parse(text)
        read = self._asked
        found = specification.unchecked(planner.info, read)
        if found.function is not None:
            self._tick(found.function)
        if specification.asks_target(read):
            self._show_typed(found)
            self._screen.run_worker(lambda: self._ask(planner, read), thread=True, group="ask", exclusive=True)
        elif found.function is not None and self._signature.unread:
            self._show_typed(found)
        else:
            self._show_typed(specification.typed(planner, read))

    def check_again(self) -> None:
        """Judge anew a function that was not found traceable: more is known of the target's functions now."""
        if self._unfound(self._panes.spec.shown):  # else the kernel's own verdict stays
            self.judge_anew()

    def judge_anew(self) -> None:
        """Judge what is on the screen again."""
        if self._typed is None:
            self.show()
        else:
            self.read(self._panes.spec.shown.text)
        self._panes.spec.completion.offer_again()  # else Enter takes what was nearest while the name was not known

    @staticmethod
    def _unfound(shown: Specification) -> bool:
        """Return whether the function is refused for its name, which the symbols may know."""
        error = shown.verdict.error if shown.verdict is not None else None
        return error is not None and error.code in ("not_traceable", "unknown_function")

    def _tick(self, probe: Probe) -> None:
        from probes.attaching.places import place_name

        editor = self._panes.editor
        if editor.probe is None or place_name(editor.probe) != place_name(probe):
            self._signature.show(place_name(probe), probe)
        else:
            editor.probe = probe

    def _show_typed(self, found: TypedText) -> None:
        self._typed = None if found.function is not None else found
        self._panes.spec.shown = self._with_others(found.shown)
        if found.probe is not None and self._unfound(found.shown):
            self._attach.explain_first(open_planner(self._bench).info, found.probe.subject)

    def _ask(self, planner: Planner, read: CommandText) -> None:
        """Ask the target about a text, when no other key comes."""
        from tui.compose import specification

        time.sleep(PAUSE)
        if read is not self._asked:
            return
        with contextlib.suppress(KernelError):  # the connection is lost: no more is offered
            if self._completer is not None:
                self._completer.learn(read.text)
        found = specification.typed(planner, read)
        self._screen.post_message(TextRead(planner, read, found))

    def text_read(self, event: TextRead) -> None:
        """Show the verdict of the target on a text, where that is still the text."""
        if event.planner is open_planner(self._bench) and event.text is self._asked:
            if event.typed.function is not None:  # the program is known only now
                self._tick(event.typed.function)
            self._show_typed(event.typed)
            self._panes.spec.completion.offer_again()

    # -- the lines -------------------------------------------------------------------------------------------------

    def show_lines(self) -> None:
        """Show the lines that would be written, also for other kernels."""
        spec = self._panes.spec
        spec.shown = self._with_others(spec.shown)

    def _with_others(self, shown: Specification) -> Specification:
        """Add the triggers that go with it, and what the other kernels would be given, where that is looked at."""
        probe, planner = self.current, open_planner(self._bench)
        if probe is not None:
            shown = replace(shown, notes=self.triggers.noted(probe, shown.notes))
        if probe is None or self._signature.unread or not self._panes.spec.lowered:
            return shown
        from tui.compose.kernel_matrix import kernels
        from tui.compose.specification import others_of

        if self._kernels is None:
            self._kernels = kernels(planner.info.facts)
        return replace(shown, others=others_of(planner, probe, shown.lowered, self._kernels))
