"""The place where a probe is built: functions, signature and fields, specification."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal

from tui.commands import bindings
from tui.compose.commands import ProbeCommands
from tui.compose.function_index import Functions
from tui.messages import TypesRead
from widgets.events.status_bar import Status, TopLine
from widgets.fields.function_list import FunctionList
from widgets.footer import KeyFooter

# The first paint shows the functions; what builds a probe on one of them is imported after it.
if TYPE_CHECKING:
    from kernel.connection.planner import Connection
    from probes.command import Armable
    from probes.probe import Probe
    from tui.preview import Preview
    from tui.workbench import Workbench
    from widgets.fields.attach_pane import AttachPane
    from widgets.fields.probe_editor import ProbeEditor
    from widgets.spec.spec_pane import SpecPane


class Panes(Horizontal):
    """The functions, and the fields of the one that was picked.

    The style of what stands beside and below them is read with it: a sheet of the application is read three times
    before the first picture.
    """

    SCOPED_CSS = False
    DEFAULT_CSS = """
    ComposeScreen {
        & > Panes { height: 1fr; }
        & FunctionList, & ProbeEditor, & SpecPane { border: round $foreground 30%; border-title-color: $text-muted; }
        & FunctionList { width: 40%; max-width: 60; }
        & ProbeEditor { width: 1fr; }
        & SpecPane { min-height: 3; max-height: 40%; }
        & FunctionList:focus-within, & ProbeEditor:focus-within, & SpecPane:focus-within { border: round $primary; }
    }
    """


class ComposeScreen(ProbeCommands):
    """See the module; decisions about text are in `tui.compose.specification`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("compose")
    AUTO_FOCUS = None

    def __init__(self, bench: Workbench) -> None:
        super().__init__(bench)
        self._status = TopLine()
        self._functions = FunctionList(self._close_lines)
        self._editor: ProbeEditor | None = None
        self._spec: SpecPane | None = None
        self._wanted = ""
        """Picked before the target was open."""
        self._unread = ""  # shown while the types of its module are being read

    @property
    def untouched(self) -> bool:
        """Nothing was typed or picked yet."""
        return not (self._functions.query_text or self._wanted or (self._editor is not None and self._editor.probe))

    @property
    def editing(self) -> bool:
        """Whether the specification is being typed."""
        return self._spec is not None and self.focused is self._spec.editor

    def compose(self) -> ComposeResult:
        yield self._status
        yield Panes(self._functions)
        yield KeyFooter("help")

    def on_mount(self) -> None:
        self._functions.focus_search()
        if self.bench.connection is not None:
            self.connected()

    def on_screen_resume(self) -> None:
        self.refresh_state()

    # -- from the application --------------------------------------------------------------------------------------

    def begin_search(self) -> None:
        """Another kernel was asked for: what is typed from now on is for it."""
        self._functions.begin_search()

    def preview(self, preview: Preview) -> None:
        """The functions of a target that is not open yet: they can be searched, and picked a moment later."""
        known = Functions(preview.names)
        self._functions.show(known.names, known.find, known.describe)
        self._status.status = Status(preview.target, preview.kernel, len(preview.names))

    def connected(self) -> None:
        """Another kernel is open."""
        self._unread = ""
        self.forget_why()
        self.known = known = Functions(self.open_connection().catalog.names, self.open_connection().function)
        self._functions.show(known.names, known.find, known.describe)
        if self._wanted:
            self.pick(self._wanted)
        elif self._editor is not None and self._editor.probe is not None:
            self.pick(self._editor.probe.place.symbol, self._editor.probe)
        self.forget_text()
        self.refresh_state()
        self.call_after_refresh(self._make_panes)

    def _make_panes(self) -> None:
        _, spec = self.panes()
        if self.bench.connection is not None:
            spec.editor.machine = self.bench.connection.facts.machine

    def refresh_state(self) -> None:
        """What is armed or lost has changed."""
        bench = self.bench
        if bench.connection is None:
            self._status.status = Status(bench.opening.spec, "opening")
            return
        from tui.present.status import rates_of, status_of

        self._status.status = status_of(bench.connection, bench.watching, bench.counts, tracing=bench.tracing.runs)
        self._functions.armed = rates_of(bench.watching)

    # -- functions -------------------------------------------------------------------------------------------------

    @on(FunctionList.Picked)
    def _picked(self, event: FunctionList.Picked) -> None:
        event.stop()
        if self.bench.connection is None:
            self._wanted = event.name
        else:
            self.pick(event.name)

    def on_function_list_specification_wanted(self, event: FunctionList.SpecificationWanted) -> None:
        event.stop()
        self.action_edit()
        if event.text and self.editing:
            _, spec = self.panes()
            spec.editor.put(event.text, len(event.text))

    def pick(self, name: str, probe: Probe | None = None) -> None:
        """Show the signature of a function, with the probe that was being built on it where there is one."""
        from probes.probe import Probe, ProbePlace

        self._wanted = ""
        self.forget_refusal()
        built = self._editor.probe if self._editor is not None else None
        if probe is None and built is not None and built.place.symbol == name:
            probe = built  # what was ticked stays, where one comes back to the same function
        self._show_signature(name, probe or Probe(ProbePlace(name)))
        self.panes()[0].focus_fields()
        self.show_specification()

    def edit_filter(self, probe: Armable) -> None:
        """Show a probe, and have its filter typed."""
        from probes.command import is_function
        from probes.probe import Probe

        _, spec = self.panes()
        if isinstance(probe, Probe) and is_function(probe):
            self.pick(probe.place.symbol, probe)
        else:
            spec.editor.take_over(str(probe))
            self.read_text(str(probe))
        spec.action_filter()

    def _show_signature(self, name: str, probe: Probe) -> None:
        from probes.syntax.text import is_pattern
        from tui.compose.signature import signature_of, signature_unread

        connection, (editor, _) = self.open_connection(), self.panes()
        module = connection.unread_module(name)
        self._unread = name if module else ""
        editor.show(signature_unread(name, module) if module else signature_of(connection, name), probe)
        if module:
            self._read_types(connection, module, name)
        elif not is_pattern(name):
            self.explain(connection, name)

    def explaining(self) -> ProbeEditor:
        return self.panes()[0]

    def explained(self) -> None:
        self.known.forget()
        self._functions.describe_anew()
        self.check_again()

    def on_attach_pane_taken(self, event: AttachPane.Taken) -> None:
        from probes.attaching.values import Relation
        from probes.probe import Probe
        from tui.compose.signature import signature_of

        event.stop()
        if event.way.how is not Relation.TWIN:
            self.pick(event.way.place.symbol)
            return
        editor, _ = self.panes()
        editor.show(signature_of(self.open_connection(), event.function, event.way), Probe(event.way.place))
        editor.focus_fields()
        self.show_specification()

    @work(thread=True, group="types")
    def _read_types(self, connection: Connection, module: str, function: str) -> None:
        connection.btf_of(module)
        self.post_message(TypesRead(connection, function))

    @on(TypesRead)
    def _types_read(self, event: TypesRead) -> None:
        from tui.compose.signature import signature_of

        event.stop()
        editor, spec = self.panes()
        # Else another one was picked meanwhile, or another target.
        if event.function == self._unread and event.connection is self.bench.connection and editor.probe is not None:
            self._unread = ""
            editor.show(signature_of(event.connection, event.function), editor.probe)
            self.read_text(spec.editor.value)

    # -- the specification -----------------------------------------------------------------------------------------

    def panes(self) -> tuple[ProbeEditor, SpecPane]:
        """The panes beside and below the functions; made once."""
        from widgets.fields.probe_editor import ProbeEditor
        from widgets.spec.spec_pane import SpecPane

        if self._editor is None or self._spec is None:
            self._editor, self._spec = ProbeEditor(), SpecPane(complete=self.complete)
            self.query_one(Panes).mount(self._editor)
            self.mount(self._spec, before=self.query_one(KeyFooter))
        return self._editor, self._spec

    def open_connection(self) -> Connection:
        connection = self.bench.connection
        assert connection is not None, "nothing can be picked before a target is open"  # noqa: S101
        return connection

    def functions_on_screen(self) -> list[str]:
        return self._functions.on_screen

    def unread(self) -> bool:
        return bool(self._unread)

    def show_function(self, probe: Probe) -> None:
        self._show_signature(probe.place.symbol, probe)

    def on_probe_editor_arm_requested(self, event: ProbeEditor.ArmRequested) -> None:
        event.stop()
        self.action_arm()

    def on_probe_editor_left(self, event: ProbeEditor.Left) -> None:
        event.stop()
        if not self._close_lines():
            self.action_search()

    def _close_lines(self) -> bool:
        """Take the lines that would be written off the screen; False: they are not there."""
        shown = self._spec is not None and self._spec.lowered
        if shown:
            self.action_lowered()
        return shown

    def on_spec_pane_arm_requested(self, event: SpecPane.ArmRequested) -> None:
        event.stop()
        self.action_arm()

    def on_spec_pane_left(self, event: SpecPane.Left) -> None:
        event.stop()
        editor, _ = self.panes()
        if editor.probe is not None:
            editor.focus_fields()
        else:
            self._functions.focus_search()

    # -- commands --------------------------------------------------------------------------------------------------

    def action_search(self) -> None:
        self._functions.focus_search()
