"""The place where a probe is built: functions, signature and fields, specification; and the commands about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
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
from tui.compose.signature_control import SignatureControl
from tui.compose.specification_control import SpecificationControl
from tui.dialogs import dialogs
from tui.messages import PartMessage
from tui.present.ways_out import CHOOSE_TARGET
from tui.workbench import Workbench, open_planner
from widgets.events.status_bar import TopLine
from widgets.events.values import Status
from widgets.footer import KeyFooter
from widgets.functions.function_list import FunctionList

# The first paint shows the functions; what builds a probe on one of them is imported after it.
if TYPE_CHECKING:
    from kernel.connection.planner import Planner
    from probes.command import Armable
    from probes.probe import Probe
    from tui.present.first_row import Preview
    from widgets.fields.attach_pane import AttachPane
    from widgets.fields.probe_editor import ProbeEditor
    from widgets.spec.spec_editor import SpecEditor
    from widgets.spec.spec_pane import SpecPane


def _on_open_target(command: Callable[[ComposeScreen], None]) -> Callable[[ComposeScreen], None]:
    """Return a command that notifies of the way out where no target is open yet."""

    @wraps(command)
    def on_open_target(screen: ComposeScreen) -> None:
        if screen.bench.planner is not None:
            command(screen)
        else:
            screen.bench.notices.notify(f"no target is open yet: {CHOOSE_TARGET}", topic="no target")

    return on_open_target


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
        self._handlers: Mapping[type[PartMessage], Callable[[Any], None]] = {
            messages.AttachExplained: self._explained,
            messages.CodeRead: attach.code_read,
            messages.CallersFound: attach.callers_found,
            messages.TypesRead: self._types_read,
            TextRead: self.specification.text_read,
            ProgramsTried: self.specification.programs_tried,
            LinesRead: self._pasted.offer,
            PlacesRenewed: functions.renewed,
            PlaceLookedUp: lambda _: self._list.find_again(),
        }

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
        self._signature.forget()
        self._attaching.forget()
        self._functions.connected(planner)
        if self._wanted:
            self._choose(self._wanted)
        elif (probe := self.panes.probe) is not None:
            from probes.attaching.places import place_name

            self.pick(place_name(probe), probe)
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
            self._pick_source(name)
        else:
            self.pick(name)

    def on_function_list_specification_wanted(self, event: FunctionList.SpecificationWanted) -> None:
        event.stop()
        self.action_edit()
        if event.text and self.panes.typing:
            self.panes.spec.editor.put(event.text, len(event.text))

    def _pick_source(self, name: str) -> None:
        """Ask for the options of a source, then arm it; where this kernel lacks it, notify of the switch."""
        from tui.dialogs.source_form import ask_options

        about = self._functions.index.describe(name)
        if not about.kinds:
            self.notify(about.reason, title=f"{name} is not in this kernel", markup=False)
            return

        def chosen(source: Armable) -> None:
            self.bench.arming.arm_all((source,))

        ask_options(self.app, open_planner(self.bench), name, chosen)

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

    def on_attach_pane_taken(self, event: AttachPane.Taken) -> None:
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

    @_on_open_target
    def action_arm(self) -> None:
        """Arm the probe of the specification, or notify of why not; of an event of a recording show its rows."""
        self.specification.arm()

    @_on_open_target
    def action_edit(self) -> None:
        self.panes.spec.action_edit()

    @_on_open_target
    def action_filter(self) -> None:
        if self.specification.current is not None:
            self.panes.spec.action_filter()

    @_on_open_target
    def action_lowered(self) -> None:
        self.panes.spec.action_lowered()

    @_on_open_target
    def action_via(self) -> None:
        """Have probes on functions recorded by BPF programs, by tracefs, or by what each needs."""
        from probes.plans.plan import Via

        planner, means = open_planner(self.bench), list(Via)
        planner.via = means[(means.index(planner.via) - 1) % len(means)]
        self.specification.judge_by_means(planner)
        by = {
            Via.AUTO: "tracefs, and BPF programs where it can't, record",
            Via.TRACEFS: "tracefs records",
            Via.BPF: "BPF programs record",
        }
        self.notify(f"{by[planner.via]} the probes on functions{_from_now_on(planner)}", markup=False)

    @_on_open_target
    def action_stacks(self) -> None:
        """Have the kernel stack of each event recorded with the probes that are armed from now on, or of none."""
        is_recorded = self.specification.switch_stacks()
        which = "the kernel stack of each event is" if is_recorded else "no kernel stacks are"
        self.notify(f"{which} recorded with the probes{_from_now_on(open_planner(self.bench))}", markup=False)

    @_on_open_target
    def action_save(self) -> None:
        """Keep the probe that is on the screen as a preset."""
        if (probe := self.specification.current) is not None:
            dialogs.save_preset(self.app, probe)
        else:
            self.notify("there is no probe yet", title="not saved", severity="error", markup=False)

    @_on_open_target
    def action_graph(self) -> None:
        self._dialogs.trace_calls()

    @_on_open_target
    def action_code(self) -> None:
        self._dialogs.show_code()

    @_on_open_target
    def action_registers(self) -> None:
        self._dialogs.show_registers()

    @_on_open_target
    def action_export(self) -> None:
        """Show the probe in the words of other tools."""
        if (probe := self.specification.current) is None:
            self.notify("there is no probe yet: pick a function", title="not exported", markup=False)
            return
        from tui.compose.export_dialog import ProbeExportScreen

        self.app.push_screen(ProbeExportScreen(open_planner(self.bench), probe, self.bench.boots))


def _from_now_on(planner: Planner) -> str:
    """Return the words for probes that a change of their means concerns; on a recording none is armed."""
    return " that are armed from now on" if planner.info.target.is_kernel else ""
