"""The part of the compose place that has the specification: what is ticked and what is typed are one probe."""

from __future__ import annotations

import contextlib
import time
from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

from textual import on, work

from kernel.errors import KernelError
from tui.app.ways_out import ADD_TRIGGER
from tui.compose.attach_control import WhyScreen
from tui.compose.function_index import Functions
from tui.messages import TextRead

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernel.connection.planner import Connection
    from probes.command import Armable
    from probes.completion.choice import Completions
    from probes.facts.facts import TargetFacts
    from probes.probe import Probe
    from probes.verdict import Refusal, Verdict
    from tui.compose.completer import Completer
    from tui.compose.specification import TypedText
    from tui.workbench import Workbench
    from widgets.fields.probe_editor import ProbeEditor
    from widgets.spec.layout import Specification
    from widgets.spec.spec_pane import SpecPane

PAUSE = 0.15
"""Seconds without a key before the target is asked about what was typed."""


class SpecScreen(WhyScreen):
    """See the module; decisions about text are in `tui.compose.specification`."""

    def __init__(self, bench: Workbench) -> None:
        super().__init__(bench)
        self.known = Functions(())
        """The functions of the target that is open."""
        self._completer: Completer | None = None
        self._kernels: Mapping[str, TargetFacts] | None = None
        self._typed: TypedText | None = None
        """What was typed, where that is not what is ticked."""
        self._asked = ""
        self._meant: dict[Armable, tuple[str, ...]] = {}
        """Hist triggers by the probes that the last text of another tool came to."""

    @abstractmethod
    def panes(self) -> tuple[ProbeEditor, SpecPane]:
        """The fields and the specification."""

    @abstractmethod
    def open_connection(self) -> Connection:
        """The target."""

    @abstractmethod
    def unread(self) -> bool:
        """Whether types are being read, without which there is no verdict."""

    @abstractmethod
    def show_function(self, probe: Probe) -> None:
        """Show the fields of another function, with what is ticked; the keyboard stays."""

    def forget_text(self) -> None:
        """Another target is open: what was typed stays, and is read anew."""
        self._completer = self._kernels = None
        if self._typed is not None:
            self.read_text(self._typed.shown.text)

    @property
    def current(self) -> Armable | None:
        """What stands in the specification."""
        editor = self.panes()[0]
        return editor.probe if self._typed is None else self._typed.probe

    def triggers_of(self, probe: Armable) -> tuple[str, ...]:
        """Return the hist triggers that are armed with a probe: those of another tool's text, unchanged."""
        return self._meant.get(probe, ())

    def triggers_meant(self, probe: Armable) -> tuple[str, ...]:
        """Return the hist triggers that another tool's text had for what a probe is on, changed or not."""
        return tuple(
            one for meant, triggers in self._meant.items() if meant.subject == probe.subject for one in triggers
        )

    def mean(self, text: str) -> None:
        """Have the triggers of another tool's text armed with its probes."""
        from tui.compose.specification import counted_by

        if counted := counted_by(self.open_connection(), text):
            self._meant = counted

    # -- what is ticked --------------------------------------------------------------------------------------------

    def show_specification(self) -> None:
        """Show what is ticked."""
        from tui.compose.specification import specification_of
        from widgets.spec.layout import Specification

        editor, spec = self.panes()
        self._typed = None
        if editor.probe is None:
            return
        if self.unread():
            spec.show(Specification(str(editor.probe)))
        else:
            spec.show(self._with_others(specification_of(self.open_connection(), editor.probe)))

    def on_probe_editor_changed(self, event: ProbeEditor.Changed) -> None:
        event.stop()
        self.forget_refusal()
        self.show_specification()

    def on_spec_pane_filter_changed(self, event: SpecPane.FilterChanged) -> None:
        from tui.compose.specification import filtered

        event.stop()
        self.forget_refusal()
        editor, spec = self.panes()
        if self._typed is not None:
            text = filtered(spec.shown, event.text)
            spec.editor.take_over(text)
            self.read_text(text)
        elif editor.probe is not None:
            editor.probe = replace(editor.probe, filter=event.text)
            self.show_specification()

    def refused(self, probe: Armable, verdict: Verdict) -> str:
        """Show that the kernel itself said no to a probe; gives what puts its text right, empty: nobody knows."""
        from tui.compose.specification import refused

        _, spec = self.panes()
        if probe != self.current:
            return ""
        spec.shown = refused(spec.shown, verdict)
        error = spec.shown.verdict.error if spec.shown.verdict else None
        return self.way_out(error) if error is not None and error.corrected else ""

    def way_out(self, error: Refusal) -> str:
        """Return a refusal in a line, with the keys that take what puts it right."""
        from widgets.spec.layout import advice

        keys = "tab" if self.editing else "F6, tab"
        return ": ".join(filter(None, (error.clause, advice(error, keys))))

    @property
    @abstractmethod
    def editing(self) -> bool:
        """Whether the specification is being typed."""

    @abstractmethod
    def forget_refusal(self) -> None:
        """Say no longer why the text before was not armed."""

    # -- what is typed ---------------------------------------------------------------------------------------------

    def complete(self, text: str, cursor: int) -> Completions:
        """What may stand at a place of the text."""
        from probes.completion.choice import NOTHING
        from probes.translation.translate import translate
        from tui.compose.completer import Completer

        if translate(text) is not None:
            return NOTHING
        if self._completer is None:
            self._completer = Completer(self.open_connection(), self.known)
        return self._completer.complete(text, cursor)

    def on_spec_pane_edited(self, event: SpecPane.Edited) -> None:
        event.stop()
        self.forget_refusal()
        self.read_text(event.text)

    def read_text(self, text: str) -> None:
        """Tick what a text says, and show what this kernel says of it."""
        from tui.compose import specification

        connection = self.open_connection()
        self._asked = text
        self.mean(text)
        found = specification.unchecked(connection, text)
        if found.function is not None:
            self._tick(found.function)
        if specification.asks_target(text):
            self._show_typed(found)
            self._ask(connection, text)
        elif found.function is not None and self.unread():
            self._show_typed(found)
        else:
            self._show_typed(specification.typed(connection, text))

    def check_again(self) -> None:
        """Judge anew a function that was not found traceable: more is known of the target's functions now."""
        if not self._unfound(self.panes()[1].shown):
            return  # the kernel's own verdict stays
        if self._typed is None:
            self.show_specification()
        else:
            self.read_text(self.panes()[1].shown.text)
        self.panes()[1].offer_again()  # else Enter takes what was nearest while the name was not known

    @staticmethod
    def _unfound(shown: Specification) -> bool:
        """Return whether the function is refused for its name, which the symbols may know."""
        error = shown.verdict.error if shown.verdict is not None else None
        return error is not None and error.code in ("not_traceable", "unknown_function")

    def _tick(self, probe: Probe) -> None:
        editor, _ = self.panes()
        if editor.probe is None or editor.probe.place.symbol != probe.place.symbol:
            self.show_function(probe)
        else:
            editor.probe = probe

    def _show_typed(self, found: TypedText) -> None:
        self._typed = None if found.function is not None else found
        self.panes()[1].shown = self._with_others(found.shown)
        if found.probe is not None and self._unfound(found.shown):
            self.explain_first(self.open_connection(), found.probe.subject)

    @work(thread=True, group="ask", exclusive=True)
    def _ask(self, connection: Connection, text: str) -> None:
        """Ask the target about a text, when no other key comes."""
        from tui.compose import specification

        time.sleep(PAUSE)
        if text != self._asked:
            return
        with contextlib.suppress(KernelError):  # the line is gone: no more is offered
            if self._completer is not None:
                self._completer.learn(text)
        found = specification.typed(connection, text)
        self.post_message(TextRead(connection, text, found))

    @on(TextRead)
    def _text_read(self, event: TextRead) -> None:
        event.stop()
        if event.connection is self.open_connection() and event.text == self._asked:
            self._show_typed(event.found)
            self.panes()[1].offer_again()

    # -- the lines -------------------------------------------------------------------------------------------------

    def on_spec_pane_lines_wanted(self, event: SpecPane.LinesWanted) -> None:
        event.stop()
        _, spec = self.panes()
        spec.shown = self._with_others(spec.shown)

    def _with_others(self, shown: Specification) -> Specification:
        """Add the triggers that go with it, and what the other kernels would be given, where that is looked at."""
        probe, connection = self.current, self.open_connection()
        if probe is not None and (triggers := self.triggers_of(probe)):
            note = f"armed with {', '.join(triggers)}, whose table is shown then"
            shown = replace(shown, notes=tuple(dict.fromkeys((note, *shown.notes))))
        elif probe is not None and (triggers := self.triggers_meant(probe)):
            note = f"no longer what was pasted: {', '.join(triggers)} is left out; once it is armed {ADD_TRIGGER}"
            shown = replace(shown, notes=tuple(dict.fromkeys((note, *shown.notes))))
        if probe is None or self.unread() or not self.panes()[1].lowered:
            return shown
        from tui.compose.kernel_matrix import kernels
        from tui.compose.specification import others_of

        if self._kernels is None:
            self._kernels = kernels(connection.facts)
        return replace(shown, others=others_of(connection, probe, shown.lowered, self._kernels))
