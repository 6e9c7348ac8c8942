"""The signature pane: prototype, when, and the tree of arguments; each tick makes another `Probe`."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Static

from probes.attaching.reasons import Attachability
from probes.completion.type_choice import sensible_types
from probes.fetcharg import FetchArg, ReturnValue, Variable
from probes.probe import Probe, When
from widgets import probe_edit
from widgets.attach_pane import AttachPane
from widgets.field_list import FieldList, Tick
from widgets.field_pane import FieldPane
from widgets.field_tree import FieldTree, TreeRow
from widgets.probe_edit import EVERYTHING, Types
from widgets.prototype import Prototype
from widgets.safe_text import safe_content
from widgets.say_line import SayLine
from widgets.signature import Signature
from widgets.when_line import WhenLine

_KEYS = [
    Binding("escape", "leave", "Functions", id="probe.leave", tooltip="Back to the search for a function"),
    Binding("a", "everything", "$$args", id="probe.everything", tooltip="All arguments, each with its best type"),
    Binding("e", "when('entry')", "Entry", id="probe.entry", tooltip="Record when the function is called"),
    Binding("x", "when('exit')", "Exit", id="probe.exit", tooltip="Record when it returns"),
    Binding("b", "when('both')", "Both", id="probe.both", tooltip="Record both ends: what did the call change"),
    Binding(
        "i", "instead", "Instead", id="probe.instead", tooltip="Why not here, who calls it, what to take instead"
    ),
    Binding("t", "type", "Type", id="probe.type", tooltip="Next sensible type for the ticked field"),
]
_NUMBERS = [
    Binding(
        str(n),
        f"argument({n})",
        f"Argument {n}",
        show=False,
        id=f"probe.argument_{n}",
        tooltip="Tick the argument with that number",
    )
    for n in range(1, 10)
]

_HINT = """Pick a function: type part of its name, move with ↑ and ↓, enter.

Its arguments come here, with all that is behind them: tick what to record."""


class ProbeEditor(Vertical):
    """Edits one probe; see the module."""

    BINDINGS: ClassVar[list[BindingType]] = [*_KEYS, *_NUMBERS]

    DEFAULT_CSS = """
    ProbeEditor {
        background: $surface;
        & .hint { width: 1fr; height: auto; padding: 1 2; color: $text-muted; }
    }
    """

    probe: reactive[Probe | None] = reactive(None, repaint=False)
    """The probe; every change by the user is posted as `Changed`."""
    mechanism: reactive[str] = reactive("", repaint=False)
    """How it will attach: `fprobe`, `kprobe`; with a word why where that matters."""

    class Changed(Message):
        """The user changed the probe."""

        def __init__(self, control: ProbeEditor, probe: Probe) -> None:
            super().__init__()
            self._control = control
            self.probe = probe

        @property
        def control(self) -> ProbeEditor:
            """The editor."""
            return self._control

    class ArmRequested(Changed):
        """The user wants it armed."""

    class Left(Message):
        """The user wants another function."""

    def __init__(
        self,
        *,
        types: Types = sensible_types,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._types = types
        self._signature: Signature | None = None
        self._tree = FieldTree(())
        self._parked: tuple[FetchArg, ...] = ()
        self._prototype, self._when, self._pane = Prototype(), WhenLine(), FieldPane()
        self.why = AttachPane()
        """In the place of the fields where nothing can attach, or when it is asked for."""
        self._say = SayLine()
        self._hint = Static(_HINT, classes="hint", markup=False)
        self._has_function(False)

    def _has_function(self, there: bool) -> None:
        for widget in (self._prototype, self._when, self._pane, self._say):
            widget.display = there
        self._hint.display = not there
        self.why.display = False

    def compose(self) -> ComposeResult:
        """Prototype, when, tree, a line that says more."""
        yield self._hint
        yield self._prototype
        yield self._when
        yield self._pane
        yield self.why
        yield self._say

    def show(self, signature: Signature, probe: Probe) -> None:
        """Edit the probe of another function; the cursor is on its first argument."""
        self._signature = signature
        self._has_function(True)
        roots = signature.in_order()
        self._tree = FieldTree(roots)
        self._parked = ()
        self.border_title = safe_content(signature.name)
        self._prototype.function, self._prototype.where = signature.name, signature.where
        self._prototype.text = signature.prototype
        self._pane.show(self._tree, self._tick_of)
        self.probe = probe
        if not roots:
            self._explain(None)
        if signature.about is not None:
            self.explain(signature.about)

    def explain(self, about: Attachability) -> None:
        """Say what can attach, and what there is instead; in the place of the fields where nothing can."""
        # Of twins one was chosen already.
        if self.probe is not None and self.probe.place.symbol == about.name and not self.probe.place.address:
            self.why.show(about)
            if not about.kinds:
                self._show_why(True)

    def _show_why(self, there: bool) -> None:
        focused = self._pane.has_focus_within or self.why.has_focus_within
        self.why.display = there
        for widget in (self._when, self._pane, self._say):
            widget.display = not there
        if focused:
            self.focus_fields()

    def action_instead(self) -> None:
        """Show what can be taken instead, or the fields again."""
        if self._signature is not None and self._signature.about is not None:
            self._show_why(not self.why.display)

    def focus_fields(self) -> None:
        """Put the keyboard into the tree, or into what stands in its place."""
        self.screen.set_focus(self.why.list if self.why.display else self._pane.list)

    def watch_probe(self, probe: Probe | None) -> None:
        """Show what is ticked now."""
        self._when.when = probe.when if probe else When.ENTRY
        self._pane.list.rows_changed()

    def watch_mechanism(self, mechanism: str) -> None:
        """Show how it will attach."""
        self._when.mechanism = mechanism

    # -- ticking ---------------------------------------------------------------------------------------------------

    def _tick_of(self, row: TreeRow) -> Tick:
        arg, probe = row.node.fetcharg, self.probe
        if probe is None or arg is None:
            return Tick(" ")
        kept = probe_edit.ticked(probe, arg)
        if kept is not None:
            return Tick("x", kept.type or "")
        in_all = probe.captures(EVERYTHING) and row.number > 0 and isinstance(arg.expression, Variable)
        return Tick("*" if in_all else " ")

    def _edit(self, probe: Probe) -> None:
        if probe != self.probe:
            self.probe = probe
            self.post_message(self.Changed(self, probe))

    def _toggle(self, row: TreeRow) -> None:
        arg, probe = row.node.fetcharg, self.probe
        if probe is None:
            return
        if arg is None:
            self._say.refuse(row.node.reason or "a structure is no value: open it (right) and tick a field")
        elif isinstance(arg.expression, ReturnValue) and probe.when is When.ENTRY:
            self._say.refuse("there is a return value at exit only: x or b")
        else:
            self._edit(probe_edit.toggle(probe, arg, [root.node.label for root in self._tree.roots]))
            self._explain(row)

    @on(FieldPane.Found)
    def _found(self, event: FieldPane.Found) -> None:
        event.stop()
        arg = event.row.node.fetcharg
        if self.probe is not None and (arg is None or not self.probe.captures(arg)):
            self._toggle(event.row)

    @on(FieldPane.NothingFound)
    def _nothing_found(self, event: FieldPane.NothingFound) -> None:
        event.stop()
        self._say.refuse("no field here has that in its name")

    @on(FieldList.Ticked)
    def _ticked(self, event: FieldList.Ticked) -> None:
        event.stop()
        self._toggle(event.row)

    def action_argument(self, number: int) -> None:
        """Tick the N-th argument, wherever the cursor is."""
        if number <= len(self._tree.roots):
            self._toggle(self._tree.roots[number - 1])
        else:
            self._say.refuse(f"there are {len(self._tree.roots)} to tick here")

    def action_leave(self) -> None:
        """Back to the functions; what is ticked stays."""
        self.post_message(self.Left())

    def action_everything(self) -> None:
        """All arguments, or not."""
        if self.probe is not None:
            self._edit(probe_edit.toggle(self.probe, EVERYTHING, ()))

    def action_type(self) -> None:
        """Give the ticked field under the cursor its next type."""
        row = self._pane.list.current
        if self.probe is None or row is None or row.node.fetcharg is None:
            return
        if not self.probe.captures(row.node.fetcharg):
            self._say.refuse("tick it first (space)")
            return
        kinds = self._types(row.node.kernel_type, row.node.c_type, row.node.fetcharg.type)
        if len(kinds) < 2:
            self._say.refuse(f"{row.node.kernel_type or 'this'} is the only type that makes sense here")
        self._edit(probe_edit.retype(self.probe, row.node.fetcharg, kinds))

    @on(WhenLine.Chosen)
    def _when_chosen(self, event: WhenLine.Chosen) -> None:
        event.stop()
        self.action_when(event.when.value)

    def action_when(self, value: str) -> None:
        """Move to the other end of the call; what only that end has comes back with it."""
        if self.probe is None or self._signature is None:
            return
        retval = self._signature.retval.fetcharg if self._signature.retval else None
        moved, self._parked = probe_edit.moved(self.probe, When(value), retval, self._parked)
        self._edit(moved)

    @on(FieldList.Arm)
    def _arm(self, event: FieldList.Arm) -> None:
        event.stop()
        if self.probe is not None:
            self.post_message(self.ArmRequested(self, self.probe))

    @on(FieldList.Highlighted)
    def _highlighted(self, event: FieldList.Highlighted) -> None:
        event.stop()
        self._explain(self._pane.list.current)

    def _explain(self, row: TreeRow | None) -> None:
        self._say.explain(row, self._signature.trouble if self._signature else "")
