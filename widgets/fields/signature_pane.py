"""Pane of a function: prototype, ends of its calls, arguments, or the reasons why nothing can attach."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.reactive import reactive
from textual.widgets import Static

from probes.attaching.values import Attachability
from probes.fetcharg import FetchArg
from probes.probe import Probe, ProbeEnds
from widgets.fields import probe_edits
from widgets.fields.attach_pane import AttachPane
from widgets.fields.field_hint import FieldHint
from widgets.fields.field_list import FieldTick
from widgets.fields.field_pane import FieldPane
from widgets.fields.field_tree import FieldTree, TreeRow
from widgets.fields.prototype import Prototype
from widgets.fields.signature import SignatureText
from widgets.fields.when_bar import WhenBar
from widgets.lists.line_list import LineList

_HINT = """Pick a function or an event: type part of its name, move with ↑ and ↓, enter.

Its arguments or fields come here, with all that is behind them: tick what to record."""


class SignaturePane(Vertical):
    """Shows one function and the probe on it."""

    DEFAULT_CSS = """
    SignaturePane {
        & .hint { width: 1fr; height: auto; padding: 1 2; color: $text-muted; }
    }
    """

    probe: reactive[Probe | None] = reactive(None, repaint=False)
    """The probe; what is ticked is drawn from it."""

    def __init__(self, tick_of: Callable[[TreeRow], FieldTick]) -> None:
        """Take the function that returns the sign in front of a field."""
        super().__init__()
        self._tick_of = tick_of
        self._signature: SignatureText | None = None
        self.nothing_attaches = False
        """True: no probe can attach to this function."""
        self.field_tree = FieldTree(())
        self._prototype, self._when, self._pane = Prototype(), WhenBar(), FieldPane()
        self.why = AttachPane()
        """Pane in the place of the fields if nothing can attach, or on request."""
        self.hint = FieldHint()
        self._hint = Static(_HINT, classes="hint", markup=False)
        self._has_function(False)

    def _has_function(self, there: bool) -> None:
        for widget in (self._prototype, self._when, self._pane, self.hint):
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
        yield self.hint

    def show(self, signature: SignatureText, probe: Probe) -> None:
        """Show the probe of another function; the cursor is on its first argument."""
        self._signature = signature
        self.nothing_attaches = False
        self._has_function(True)
        self._when.display = signature.has_ends
        self._when.ends = signature.ends
        roots = signature.in_order()
        self.field_tree = FieldTree(roots)
        self._prototype.function, self._prototype.where = signature.name, signature.where
        self._prototype.text = signature.prototype
        self._pane.show(self.field_tree, self._tick_of)
        self.probe = probe
        if not roots:
            self.hint.explain(None, signature.trouble)
        if signature.about is not None:
            self.explain(signature.about)

    def explain(self, about: Attachability) -> None:
        """Say what can attach, and what there is instead; in the place of the fields where nothing can."""
        # Of twins one was chosen already.
        if self.probe is not None and self.probe.place.symbol == about.name and not self.probe.place.address:
            self.why.show(about)
            self.nothing_attaches = not about.kinds
            if self.nothing_attaches:
                self._show_why(True)

    def _show_why(self, there: bool) -> None:
        focused = self._pane.has_focus_within or self.why.has_focus_within
        self.why.display = there
        for widget in (self._pane, self.hint):
            widget.display = not there
        self._when.display = not there and self.has_ends
        if focused:
            self.screen.set_focus(self.fields)

    def switch(self) -> None:
        """Show what can be taken instead, or the fields again."""
        if self._signature is not None and self._signature.about is not None:
            self._show_why(not self.why.display)

    @property
    def has_ends(self) -> bool:
        """True while a function is shown, whose calls have an entry and an exit."""
        return self._signature is None or self._signature.has_ends

    @property
    def ends(self) -> tuple[ProbeEnds, ...]:
        """Ends of a call that a probe on what is shown can record."""
        return self._when.ends if self.has_ends else ()

    @property
    def fields(self) -> LineList:
        """List that takes the keys: the tree, or the list in its place."""
        return self.why.list if self.why.display else self._pane.list

    def watch_probe(self, probe: Probe | None) -> None:
        """Show what is ticked now."""
        self._when.when = probe.when if probe else ProbeEnds.ENTRY
        self._pane.list.rows_changed()
        if probe is not None and self.current is not None:
            self.describe_current()

    @property
    def current(self) -> TreeRow | None:
        """Field under the cursor."""
        return self._pane.list.current

    @property
    def retval(self) -> FetchArg | None:
        """Fetcharg of the return value; None: the function returns nothing that can be recorded."""
        node = self._signature.retval if self._signature else None
        return node.fetcharg if node else None

    def open_current(self) -> None:
        """Open the structure under the cursor, so that its fields are seen."""
        if self.current is not None and not self.current.opened:
            self._pane.list.action_open()

    def describe_current(self) -> None:
        """Say more of the field under the cursor, as it is recorded where it is ticked."""
        row, probe = self.current, self.probe
        arg = row.node.fetcharg if row is not None else None
        recorded = probe_edits.ticked(probe, arg) if probe is not None and arg is not None else None
        self.hint.explain(row, self._signature.trouble if self._signature else "", recorded=recorded)
