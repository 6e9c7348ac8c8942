"""The place where a probe is built: functions, signature and fields, specification; and the commands about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from tui import messages
from tui.commands import bindings
from tui.compose.attach_control import AttachControl
from tui.compose.functions.control import FunctionControl
from tui.compose.functions.dialogs import FunctionDialogs
from tui.compose.messages import LinesRead, PlaceLookedUp, PlacesRenewed, ProgramsTried, TextRead
from tui.compose.panes import PaneRow, ProbePanes
from tui.compose.pasted_lines import PastedLines
from tui.compose.probe_dialogs import ProbeDialogs
from tui.compose.recording_means import RecordingMeans
from tui.compose.signature_control import SignatureControl
from tui.compose.specification_control import SpecificationControl
from tui.messages import PartMessage
from tui.opening import OPENING
from tui.present.ways_out import CHOOSE_TARGET
from tui.workbench import Workbench, open_planner
from widgets.events.status_bar import TopLine
from widgets.events.values import Status
from widgets.footer import KeyFooter
from widgets.functions.function_list import FunctionList

# The first paint shows the functions; what builds a probe on one of them is imported after it.
if TYPE_CHECKING:
    from probes.command import Armable
    from probes.probe import Probe
    from tui.present.first_row import Preview
    from widgets.fields.attach_pane import AttachPane
    from widgets.fields.probe_editor import ProbeEditor
    from widgets.spec.spec_editor import SpecEditor
    from widgets.spec.spec_pane import SpecPane


class ComposeScreen(Screen[None]):
    """See the module; decisions about text are in `tui.compose.specification`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("compose")
    AUTO_FOCUS = None

    def __init__(self, bench: Workbench) -> None:
        super().__init__()
        self.bench = bench
        self._status = TopLine()
        self._list = FunctionList(self._close_lines)
        self._wanted = ""
        """The function that was picked before the target was open."""
        self.panes = panes = ProbePanes(
            self,
            lambda text, cursor: self.specification.complete(text, cursor),  # noqa: PLW0108 - made after the panes
        )
        self._functions = functions = FunctionControl(self, bench, self._list)
        self._attaching = attach = AttachControl(self, panes)
        self._signature = SignatureControl(self, bench, panes, attach)
        self.specification = SpecificationControl(self, bench, panes, self._signature, attach, functions)
        self._pasted = PastedLines(self, bench, self.specification)
        self._dialogs = FunctionDialogs(self, bench, panes, functions, attach, self.specification)
        means = RecordingMeans(self, bench, self.specification)
        self._handlers: Mapping[type[PartMessage], Callable[[Any], None]] = {
            messages.AttachExplained: self._explained,
            messages.CodeRead: attach.code_read,
            messages.CallersFound: attach.callers_found,
            messages.TypesRead: self._types_read,
            TextRead: self.specification.text_read,
            ProgramsTried: means.programs_tried,
            LinesRead: self._pasted.offer,
            PlacesRenewed: functions.renewed,
            PlaceLookedUp: lambda _: self._list.find_again(),
        }
        self._take_commands(ProbeDialogs(self, bench, panes, self.specification), means)

    def _take_commands(self, probe: ProbeDialogs, means: RecordingMeans) -> None:
        """Have the commands that one part does done by it."""
        needs_target, functions, panes = self._needs_target, self._dialogs, self.panes
        self.action_arm = needs_target(self.specification.arm)
        self.action_edit = needs_target(lambda: panes.spec.action_edit())  # noqa: PLW0108 - made on first use
        self.action_lowered = needs_target(lambda: panes.spec.action_lowered())  # noqa: PLW0108 - as well
        self.action_filter, self.action_save = needs_target(probe.filter), needs_target(probe.save)
        self.action_export = needs_target(probe.export)
        self.action_via, self.action_stacks = needs_target(means.choose_next), needs_target(means.switch_stacks)
        self.action_graph, self.action_code = needs_target(functions.trace_calls), needs_target(functions.show_code)
        self.action_registers = needs_target(functions.show_registers)

    def _needs_target(self, command: Callable[[], object]) -> Callable[[], None]:
        """Return a command that notifies of the way out where no target is open yet."""

        def on_open_target() -> None:
            if self.bench.planner is not None:
                command()
            else:
                self.bench.notices.notify(f"no target is open yet: {CHOOSE_TARGET}", topic="no target")

        return on_open_target

    @on(PartMessage)
    def _handle(self, event: PartMessage) -> None:
        event.stop()
        self._handlers[type(event)](event)

    @property
    def untouched(self) -> bool:
        """True where no function was searched or picked yet."""
        return not (self._list.query_text or self._wanted or self.panes.probe)

    def compose(self) -> ComposeResult:
        yield self._status
        yield PaneRow(self._list)
        yield KeyFooter("help")

    def on_mount(self) -> None:
        self._list.focus_search()
        if self.bench.planner is not None:
            self.connected()

    def on_screen_resume(self) -> None:
        self.refresh_state()
        self._functions.renew()

    # -- from the application --------------------------------------------------------------------------------------

    def begin_search(self) -> None:
        """Begin another search: another target was asked for, and letters typed from now on are about that one."""
        self._list.begin_search()

    def preview(self, preview: Preview) -> None:
        """Show the functions of a target that is not open yet: they can be searched, and picked a moment later."""
        self._functions.preview(preview)
        self._status.status = Status(preview.target, preview.kernel, len(preview.names))

    def connected(self) -> None:
        """Show the functions of another target, and on it the probe that was being built."""
        planner = open_planner(self.bench)
        typed = self.panes.spec.editor.value if self.panes.typing else ""
        self._signature.forget()
        self._attaching.forget()
        self._functions.connected(planner)
        if self._wanted:
            self._choose(self._wanted)
        elif (probe := self.panes.probe) is not None:
            from probes.attaching.places import place_name

            self.pick(place_name(probe), probe)
        if typed:  # a person goes on there
            self.panes.spec.action_edit()
            self.panes.spec.editor.put(typed, len(typed))
        self.specification.connected()
        self.refresh_state()
        self.call_after_refresh(self._make_panes)

    @on(FunctionList.Marked)
    def _marked(self, event: FunctionList.Marked) -> None:
        event.stop()
        self.panes.show_marks(event.number, event.noun)

    def _make_panes(self) -> None:
        spec = self.panes.spec
        if self.bench.planner is not None:
            spec.editor.machine = self.bench.planner.info.facts.machine

    def refresh_state(self) -> None:
        """Show anew what is armed and what was lost."""
        bench = self.bench
        if bench.planner is None:
            self._status.status = Status(bench.opening.spec, "opening")
            return
        from tui.present.status import rates_of, status_of

        self._status.status = status_of(
            bench.planner.info, bench.current_watch, bench.counts, tracing=bench.tracing.runs
        )
        self._list.armed = rates_of(bench.current_watch)

    # -- functions -------------------------------------------------------------------------------------------------

    @on(FunctionList.Picked)
    def _picked(self, event: FunctionList.Picked) -> None:
        event.stop()
        if self.bench.planner is None:
            self._wanted = event.name
            if self.bench.opening.is_under_way:  # letters are for its fields, which come when the target is open
                self.bench.keyboard.begins(OPENING)
        else:
            self._choose(event.name)

    @on(FunctionList.PickedTogether)
    def _picked_together(self, event: FunctionList.PickedTogether) -> None:
        """Have the probes on marked places judged, and offered to be armed together."""
        from probes.attaching.places import as_armed, probe_at

        event.stop()
        lines = tuple(str(as_armed(probe_at(name))) for name in event.names)
        self._pasted.judge_marked(lines, self._list.clear_marks)

    def _choose(self, name: str) -> None:
        if self._functions.index.is_source(name):
            self._wanted = ""
            self._dialogs.ask_source(name)
        else:
            self.pick(name)

    def on_function_list_specification_wanted(self, event: FunctionList.SpecificationWanted) -> None:
        event.stop()
        self.action_edit()
        if event.text and self.panes.typing:
            self.panes.spec.editor.put(event.text, len(event.text))

    def pick(self, name: str, probe: Probe | None = None) -> None:
        """Show the fields of a function, tracepoint or event, with the probe that was being built on it, if any."""
        from probes.attaching.places import place_name, probe_at

        self._wanted = ""
        self.bench.notices.forget("arming")  # why the text before was not armed
        built = self.panes.probe
        if probe is None and built is not None and place_name(built) == name:
            probe = built  # the fields stay ticked, where one comes back to the same function
        self._signature.show(name, probe or probe_at(name))
        self.panes.editor.focus_fields()
        self.specification.show()

    def edit_filter(self, probe: Armable) -> None:
        """Show a probe, and have its filter typed."""
        from probes.command import is_function
        from probes.probe import Probe

        spec = self.panes.spec
        if isinstance(probe, Probe) and is_function(probe):
            self.pick(probe.place.symbol, probe)
        else:
            self.specification.take_over(str(probe))
        spec.action_filter()

    def _explained(self, event: messages.AttachExplained) -> None:
        if self._attaching.explained(event):
            self._functions.describe_anew()
            self.specification.check_again()

    def on_attach_pane_callers_wanted(self, event: AttachPane.CallersWanted) -> None:
        event.stop()
        self._attaching.find_callers(event.function)

    def on_attach_pane_alternative_taken(self, event: AttachPane.AlternativeTaken) -> None:
        from probes.attaching.values import Relation

        event.stop()
        if event.way.relation is Relation.TWIN:
            self._signature.show_twin(event.function, event.way)
            self.specification.show()
        else:
            self.pick(event.way.place.symbol)

    def _types_read(self, event: messages.TypesRead) -> None:
        if self._signature.types_read(event):
            self.specification.read(self.panes.spec.editor.value)

    # -- fields and specification ----------------------------------------------------------------------------------

    def on_probe_editor_changed(self, event: ProbeEditor.Changed) -> None:
        event.stop()
        self.bench.notices.forget("arming")  # why the text before was not armed
        self.specification.show()

    def on_spec_pane_edited(self, event: SpecPane.Edited) -> None:
        event.stop()
        self.bench.notices.forget("arming")  # why the text before was not armed
        self.specification.read(event.text)

    def on_spec_pane_lines_wanted(self, event: SpecPane.LinesWanted) -> None:
        event.stop()
        self.specification.show_lines()

    def on_spec_editor_lines_pasted(self, event: SpecEditor.LinesPasted) -> None:
        event.stop()
        self._pasted.judge(event)

    def on_probe_editor_arm_requested(self, event: ProbeEditor.ArmRequested | SpecPane.ArmRequested) -> None:
        event.stop()
        self.action_arm()

    on_spec_pane_arm_requested = on_probe_editor_arm_requested

    def on_probe_editor_left(self, event: ProbeEditor.Left) -> None:
        event.stop()
        if not self._close_lines():
            self.action_search()

    def on_spec_pane_left(self, event: SpecPane.Left) -> None:
        event.stop()
        if self.panes.editor.probe is not None:
            self.panes.editor.focus_fields()
        else:
            self._list.focus_search()

    def _close_lines(self) -> bool:
        """Take the lines that would be written off the screen; return False where they are not there."""
        if lowered := self.panes.lowered:
            self.action_lowered()
        return lowered

    # -- commands --------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Offer to edit the specification, except while that is edited."""
        return action != "edit" or not self.panes.typing

    def action_search(self) -> None:
        self._list.focus_search()
        self._functions.renew()
