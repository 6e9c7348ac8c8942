"""Editor of one probe: each tick in the signature, and each other end of the call, makes another `Probe`."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message

from probes.completion.type_choice import sensible_types
from probes.facts.dialect import MAX_ARGS
from probes.fetcharg import Argument, FetchArg, ReturnValue, Variable
from probes.probe import CALL_ENDS, Probe, ProbeEnds, ProbeKind
from widgets.fields import probe_edits
from widgets.fields.field_list import FieldList, FieldTick
from widgets.fields.field_pane import FieldPane
from widgets.fields.field_tree import TreeRow
from widgets.fields.probe_edits import EVERYTHING, Types
from widgets.fields.signature import SignatureText
from widgets.fields.signature_pane import SignaturePane
from widgets.fields.when_bar import WhenBar
from widgets.safe_content import safe_content

_KEYS = [
    Binding("escape", "leave", "Functions", id="probe.leave", tooltip="Back to the search for a function"),
    Binding("a", "everything", "$$args", id="probe.everything", tooltip="All arguments, each with its best type"),
    Binding("e", "when('entry')", "Entry", id="probe.entry", tooltip="Record when the function is called"),
    Binding("x", "when('exit')", "Exit", id="probe.exit", tooltip="Record when it returns"),
    Binding("b", "when('both')", "Both", id="probe.both", tooltip="Record entry and exit, to see changed values"),
    Binding(
        "O", "when('track')", "Track", id="probe.track", tooltip="Record each function that takes the same object"
    ),
    Binding(
        "n",
        "numbers",
        "Numbers",
        id="probe.numbers",
        tooltip="Tick all numbers of this structure (of the arguments, on one that is none); again: as before",
    ),
    Binding("i", "instead", "Instead", id="probe.instead", tooltip="Reasons, callers and alternatives"),
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


class ProbeEditor(Vertical):
    """Edits one probe; see the module."""

    BINDINGS: ClassVar[list[BindingType]] = [*_KEYS, *_NUMBERS]

    DEFAULT_CSS = """
    ProbeEditor { background: $surface; }
    """

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

    class ArmRequested(Message):
        """The user wants the probe armed."""

    class Left(Message):
        """The user wants another function."""

    def __init__(
        self,
        *,
        types: Types = sensible_types,
    ) -> None:
        super().__init__()
        self._types = types
        self._parked: tuple[FetchArg, ...] = ()
        self._numbers: tuple[Probe | None, Probe | None] = (None, None)
        """The probe before all numbers were ticked, and after; None: it was not done, or taken back."""
        self.signature = SignaturePane(self.tick_of)

    def compose(self) -> ComposeResult:
        """Yield the signature."""
        yield self.signature

    @property
    def probe(self) -> Probe | None:
        """Edited probe; setting it changes the ticks; None: no function was picked."""
        return self.signature.probe

    @probe.setter
    def probe(self, probe: Probe | None) -> None:
        self.signature.probe = probe

    def show(self, signature: SignatureText, probe: Probe) -> None:
        """Edit the probe of another function; the cursor is on its first argument."""
        self._parked = ()
        self.border_title = safe_content(signature.name)
        self.signature.show(signature, probe)

    def focus_fields(self) -> None:
        """Put the keyboard into the tree, or into the list in its place."""
        self.screen.set_focus(self.signature.fields)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable actions on fields if nothing can attach; leaving and taking an alternative stay possible."""
        if action == "when" and all(end.value not in parameters for end in self.signature.ends):
            return False
        if action == "instead" and self.signature.ends != CALL_ENDS:
            return False
        return action in ("leave", "instead") or not self.signature.nothing_attaches

    # -- ticking ---------------------------------------------------------------------------------------------------

    def tick_of(self, row: TreeRow) -> FieldTick:
        """Return a cross with the chosen type; a star for fields that come with all arguments."""
        arg, probe = row.node.fetcharg, self.probe
        if probe is None or arg is None:
            return FieldTick(" ")
        kept = probe_edits.ticked(probe, arg)
        if kept is not None:
            return FieldTick("x", kept.type or "")
        in_all = probe.captures(EVERYTHING) and row.number > 0 and isinstance(arg.expression, Variable)
        return FieldTick("*" if in_all else " ")

    def _edit(self, probe: Probe) -> None:
        if probe != self.probe:
            self.probe = probe
            self.post_message(self.Changed(self, probe))

    def _toggle(self, row: TreeRow) -> None:
        arg, probe = row.node.fetcharg, self.probe
        if probe is None:
            return
        if arg is None:
            self.signature.hint.refuse(row.node.reason or "a structure is no value: open it (right) and tick a field")
        elif isinstance(arg.expression, ReturnValue) and probe.when is ProbeEnds.ENTRY:
            self.signature.hint.refuse("there is a return value at exit only: x or b")
        elif self.tick_of(row).sign == "*":
            arguments = (root.node.fetcharg for root in self.signature.field_tree.roots)
            every = [one for one in arguments if one is not None and isinstance(one.expression, Variable)]
            self._edit(probe_edits.all_but(probe, arg, every))
        else:
            self._edit(probe_edits.toggle(probe, arg, [root.node.label for root in self.signature.field_tree.roots]))

    @on(FieldPane.Found)
    def _found(self, event: FieldPane.Found) -> None:
        event.stop()
        arg = event.row.node.fetcharg
        if self.probe is not None and (arg is None or not self.probe.captures(arg)):
            self._toggle(event.row)

    @on(FieldPane.NothingFound)
    def _nothing_found(self, event: FieldPane.NothingFound) -> None:
        event.stop()
        near = f": Tab takes {event.nearest}, ↓ chooses" if event.nearest else ""
        self.signature.hint.refuse(f"no field here has that in its name{near}")

    @on(FieldList.Ticked)
    def _ticked(self, event: FieldList.Ticked) -> None:
        event.stop()
        self._toggle(event.row)

    def action_argument(self, number: int) -> None:
        """Tick the N-th argument, wherever the cursor is."""
        if number <= len(self.signature.field_tree.roots):
            self._toggle(self.signature.field_tree.roots[number - 1])
        else:
            self.signature.hint.refuse(f"there are {len(self.signature.field_tree.roots)} to tick here")

    def action_leave(self) -> None:
        """Go back to the functions; ticks stay."""
        self.post_message(self.Left())

    def action_everything(self) -> None:
        """Tick all arguments, or none."""
        if self.probe is not None and self.probe.kind is ProbeKind.UPROBE:  # by number: it has no types
            roots = [root.node for root in self.signature.field_tree.roots]
            every = [one.fetcharg for one in roots if one.fetcharg and isinstance(one.fetcharg.expression, Argument)]
            self._edit(probe_edits.toggle_each(self.probe, every, [one.label for one in roots]))
        elif self.probe is not None:
            self._edit(probe_edits.toggle(self.probe, EVERYTHING, ()))

    def action_numbers(self) -> None:
        """Tick all numbers of the structure under the cursor, or beside it; again: as before."""
        row, probe = self.signature.current, self.probe
        if probe is None or row is None:
            return
        before, after = self._numbers
        if probe == after:
            self._numbers = (None, None)
            self._edit(before or probe)
            return
        args = [one.node.fetcharg for one in self.signature.field_tree.numbers(row) if one.node.fetcharg is not None]
        most = MAX_ARGS - len(probe.fetchargs)
        if not args:
            self.signature.hint.refuse("there are no numbers here: open a structure (right) that has some")
        elif len([arg for arg in args if not probe.captures(arg)]) > most:
            self.signature.hint.refuse(f"{len(args)} numbers are more than a probe records ({MAX_ARGS}): tick some")
        else:
            names = [root.node.label for root in self.signature.field_tree.roots]
            ticked = probe_edits.toggle_each(probe, args, names)
            self._numbers = probe, ticked
            self.signature.open_current()
            self._edit(ticked)

    def action_type(self) -> None:
        """Give the ticked field under the cursor its next type."""
        row = self.signature.current
        if self.probe is None or row is None or row.node.fetcharg is None:
            return
        if not self.probe.captures(row.node.fetcharg):
            self.signature.hint.refuse("tick it first (space)")
            return
        kinds = self._types(row.node.kernel_type, row.node.c_type, row.node.fetcharg.type)
        if len(kinds) < 2:
            self.signature.hint.refuse(f"{row.node.kernel_type or 'this'} is the only type that makes sense here")
        self._edit(probe_edits.retype(self.probe, row.node.fetcharg, kinds))

    @on(WhenBar.Chosen)
    def _when_chosen(self, event: WhenBar.Chosen) -> None:
        event.stop()
        self.action_when(event.when.value)

    def action_when(self, value: str) -> None:
        """Move to the other end of the call; what only that end has comes back with it."""
        if self.probe is not None:
            retval = self.signature.retval
            moved, self._parked = probe_edits.moved(self.probe, ProbeEnds(value), retval, self._parked)
            self._edit(moved)

    def action_instead(self) -> None:
        """Show what can be taken instead, or the fields again."""
        self.signature.switch()

    @on(FieldList.Arm)
    def _arm(self, event: FieldList.Arm) -> None:
        event.stop()
        if self.probe is not None:
            self.post_message(self.ArmRequested())

    @on(FieldList.Highlighted)
    def _highlighted(self, event: FieldList.Highlighted) -> None:
        event.stop()
        self.signature.describe_current()
