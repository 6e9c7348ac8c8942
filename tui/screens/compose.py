"""The place where a probe is built: functions, signature and fields, specification."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal

from tui.commands import bindings
from tui.functions import Functions
from tui.messages import TextRead, TypesRead
from tui.why import WhyScreen
from widgets.function_list import FunctionList
from widgets.key_line import KeyLine
from widgets.status_bar import Status, TopLine

# The first paint shows the functions; what builds a probe on one of them is imported after it.
if TYPE_CHECKING:
    from kernel.connection import Connection
    from probes.command import Armable
    from probes.completion import Completions
    from probes.probe import Probe
    from probes.verdict import Verdict
    from tui.app import Probewright
    from tui.completing import Completer
    from tui.preview import Preview
    from tui.specification import Typed
    from widgets.attach_pane import AttachPane
    from widgets.probe_editor import ProbeEditor
    from widgets.spec_pane import SpecPane

PAUSE = 0.15
"""Seconds without a key before the target is asked about what was typed."""


class ComposeScreen(WhyScreen):
    """See the module; decisions about text are in `tui.specification`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("compose")
    AUTO_FOCUS = None

    def __init__(self) -> None:
        super().__init__()
        self._status = TopLine()
        self._functions = FunctionList()
        self._editor: ProbeEditor | None = None
        self._spec: SpecPane | None = None
        self._known = Functions(())
        self._wanted = ""
        """Picked before the target was open."""
        self._unread = ""  # shown while the types of its module are being read
        self._completer: Completer | None = None
        self._typed: Typed | None = None
        """What was typed, where that is not what is ticked."""
        self._asked = ""
        self._known = Functions(())

    @property
    def bench(self) -> Probewright:
        """The application, by its type."""
        return cast("Probewright", self.app)

    def compose(self) -> ComposeResult:
        yield self._status
        with Horizontal(id="panes"):
            yield self._functions
        yield KeyLine("help")

    def on_mount(self) -> None:
        self._functions.focus_search()
        if self.bench.connection is not None:
            self.connected()

    def on_screen_resume(self) -> None:
        self.refresh_state()

    def _add_builder(self) -> tuple[ProbeEditor, SpecPane]:
        """The panes beside and below the functions; made once."""
        from widgets.probe_editor import ProbeEditor
        from widgets.spec_pane import SpecPane

        if self._editor is None or self._spec is None:
            self._editor, self._spec = ProbeEditor(), SpecPane(complete=self._complete)
            self.query_one("#panes").mount(self._editor)
            self.mount(self._spec, before=self.query_one(KeyLine))
        return self._editor, self._spec

    # -- from the application --------------------------------------------------------------------------------------

    def preview(self, preview: Preview) -> None:
        """The functions of a target that is not open yet: they can be searched, and picked a moment later."""
        known = Functions(preview.names)
        self._functions.show(known.names, known.find, known.describe)
        self._status.status = Status(preview.target, preview.kernel, len(preview.names))

    def connected(self) -> None:
        """Another kernel is open."""
        self._unread = ""
        self.forget_why()
        self._known = known = Functions(self._connection.catalog.names, self._connection.function)
        self._functions.show(known.names, known.find, known.describe)
        self._known, self._completer = known, None
        if self._wanted:
            self.pick(self._wanted)
        elif self._editor is not None and self._editor.probe is not None:
            self.pick(self._editor.probe.place.symbol, self._editor.probe)
        self.refresh_state()
        self.call_after_refresh(self._add_builder)

    def refresh_state(self) -> None:
        """What is armed or lost has changed."""
        bench = self.bench
        if bench.connection is None:
            self._status.status = Status(bench.opening.spec, "opening")
            return
        from tui.shown import rates_of, status_of

        self._status.status = status_of(bench.connection, bench.watching, bench.counts)
        self._functions.armed = rates_of(bench.watching)

    def refused(self, probe: Armable, verdict: Verdict) -> None:
        """The kernel itself said no to a probe that we thought right."""
        from tui.specification import refused

        spec = self._add_builder()[1]
        if probe == self._current:
            spec.shown = refused(spec.shown, verdict)

    # -- functions -------------------------------------------------------------------------------------------------

    @property
    def _connection(self) -> Connection:
        connection = self.bench.connection
        assert connection is not None, "nothing can be picked before a target is open"  # noqa: S101
        return connection

    @on(FunctionList.Picked)
    def _picked(self, event: FunctionList.Picked) -> None:
        event.stop()
        if self.bench.connection is None:
            self._wanted = event.name
        else:
            self.pick(event.name)

    def pick(self, name: str, probe: Probe | None = None, focus: bool = True) -> None:
        """Show the signature of a function, with the probe that was being built on it where there is one."""
        from probes.probe import Place, Probe
        from tui.signature import signature_of, signature_unread

        self._wanted = ""
        connection = self._connection
        module = connection.unread_module(name)
        self._unread = name if module else ""
        editor, _ = self._add_builder()
        signature = signature_unread(name, module) if module else signature_of(connection, name)
        editor.show(signature, probe or Probe(Place(name)))
        if focus:
            editor.focus_fields()
            self._show_specification()
        if module:
            self._read_types(connection, module, name)
        else:
            self.explain(connection, name)

    def explaining(self) -> ProbeEditor:
        return self._add_builder()[0]

    def explained(self) -> None:
        self._known.forget()
        self._functions.describe_anew()

    def on_attach_pane_taken(self, event: AttachPane.Taken) -> None:
        from probes.probe import Probe
        from probes.reasons import How
        from tui.signature import signature_of

        event.stop()
        if event.way.how is not How.TWIN:
            self.pick(event.way.place.symbol)
            return
        editor, _ = self._add_builder()
        editor.show(signature_of(self._connection, event.function, event.way), Probe(event.way.place))
        editor.focus_fields()
        self._show_specification()

    @work(thread=True, group="types")
    def _read_types(self, connection: Connection, module: str, function: str) -> None:
        connection.btf_of(module)
        self.post_message(TypesRead(connection, function))

    @on(TypesRead)
    def _types_read(self, event: TypesRead) -> None:
        from tui.signature import signature_of

        event.stop()
        editor, _ = self._add_builder()
        # Else another one was picked meanwhile, or another target.
        if event.function == self._unread and event.connection is self.bench.connection and editor.probe is not None:
            self._unread = ""
            editor.show(signature_of(event.connection, event.function), editor.probe)
            self._show_specification()

    # -- the probe -------------------------------------------------------------------------------------------------

    @property
    def _current(self) -> Armable | None:
        """What stands in the specification."""
        if self._typed is not None:
            return self._typed.probe
        return self._editor.probe if self._editor is not None else None

    def on_probe_editor_changed(self, event: ProbeEditor.Changed) -> None:
        event.stop()
        self._show_specification()

    def on_probe_editor_arm_requested(self, event: ProbeEditor.ArmRequested) -> None:
        event.stop()
        spec = self._add_builder()[1]
        error = spec.shown.verdict.error if spec.shown.verdict else None
        if error is not None and error.nearest:  # `did you mean NAME? (enter)`
            spec.action_fix()
        else:
            self.action_arm()

    def _show_specification(self) -> None:
        """Show what is ticked."""
        from tui.specification import specification_of
        from widgets.spec_text import Specification

        editor, spec = self._add_builder()
        self._typed = None
        if editor.probe is None:
            return
        if self._unread:  # a verdict would wait for the types
            spec.shown = Specification(str(editor.probe))
        else:
            spec.shown = specification_of(self._connection, editor.probe)

    # -- the text --------------------------------------------------------------------------------------------------

    def _complete(self, text: str, cursor: int) -> Completions:
        from tui.completing import Completer

        if self._completer is None:
            self._completer = Completer(self._connection, self._known)
        return self._completer.complete(text, cursor)

    def on_spec_pane_edited(self, event: SpecPane.Edited) -> None:
        from tui import specification

        event.stop()
        connection, text = self._connection, event.text
        self._asked = text
        found = specification.unchecked(connection, text)
        if found.function is not None:
            self._tick(found.function)
        if self._unread and found.function is not None:
            self._show_typed(found)
        elif specification.asks_target(text):
            self._show_typed(found)
            self._ask(connection, text)
        else:
            self._show_typed(specification.typed(connection, text))

    def _tick(self, probe: Probe) -> None:
        """Tick what was typed."""
        editor = self._add_builder()[0]
        if editor.probe is None or editor.probe.place.symbol != probe.place.symbol:
            self.pick(probe.place.symbol, probe, focus=False)
        else:
            editor.probe = probe

    def _show_typed(self, found: Typed) -> None:
        self._typed = None if found.function is not None else found
        self._add_builder()[1].shown = found.shown

    @work(thread=True, group="ask", exclusive=True)
    def _ask(self, connection: Connection, text: str) -> None:
        """Ask the target about a text, when no other key comes."""
        from tui import specification

        time.sleep(PAUSE)
        if text == self._asked and self._completer is not None:
            self._completer.learn(text)
            self.post_message(TextRead(connection, text, specification.typed(connection, text)))

    @on(TextRead)
    def _text_read(self, event: TextRead) -> None:
        event.stop()
        if event.connection is self.bench.connection and event.text == self._asked:
            self._show_typed(event.found)
            self._add_builder()[1].offer_again()

    def on_spec_pane_filter_changed(self, event: SpecPane.FilterChanged) -> None:
        event.stop()
        editor, _ = self._add_builder()
        if editor.probe is not None:
            editor.probe = replace(editor.probe, filter=event.text)
            self._show_specification()

    def on_spec_pane_arm_requested(self, event: SpecPane.ArmRequested) -> None:
        event.stop()
        self.action_arm()

    def on_spec_pane_left(self, event: SpecPane.Left) -> None:
        event.stop()
        editor = self._add_builder()[0]
        if editor.probe is not None:
            editor.focus_fields()
        else:
            self._functions.focus_search()

    # -- commands --------------------------------------------------------------------------------------------------

    def action_search(self) -> None:
        self._functions.focus_search()

    def action_arm(self) -> None:
        """Arm what stands in the specification; where that can't be, say why."""
        if self._current is not None:
            self.bench.arm(self._current)
        elif self._typed is not None:
            error = self._typed.shown.verdict.error if self._typed.shown.verdict else None
            self.notify(
                error.message if error else "nothing to arm", title="not armed", severity="error", markup=False
            )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """What is edited already need not be offered."""
        return action != "edit" or self._spec is None or self.focused is not self._spec.editor

    def action_edit(self) -> None:
        if self.bench.connection is not None:
            self._add_builder()[1].action_edit()

    def action_filter(self) -> None:
        editor, spec = self._add_builder()
        if editor.probe is not None:
            spec.action_filter()

    def action_lowered(self) -> None:
        self._add_builder()[1].action_lowered()
