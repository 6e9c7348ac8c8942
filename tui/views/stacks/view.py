"""View of kernel stacks as a flame graph."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Final

from events.stacks.stack_paths import FrameKind
from foreign.count_text import counted
from tui.dialogs import dialogs
from tui.filter.filter import Filter, PassCount
from tui.present.status import note_of
from tui.present.ways_out import GIVE_TRIGGER, RUNNING_KERNEL, WITH_STACKS_ELSEWHERE
from tui.views.late_picture import LatePicture
from tui.views.stacks.frame_texts import FrameTexts
from tui.views.stacks.pane import StacksPane
from tui.views.view import View, ViewPlace
from widgets.call_after import call_after

if TYPE_CHECKING:
    from textual.widget import Widget

    from events.store.store import Store
    from kernel.watch.watch import Watch
    from tui.output.view_table import ViewTable
    from tui.views.stacks.choice import StackChoice
    from tui.views.stacks.model import StackModel, WeighedTree

_COUNTING: Final = 0.008
"""Seconds for counting at once."""
_SOON: Final = 0.01
_DRAWING: Final = 0.25
"""Seconds between two updates of the screen."""
_SHARE: Final = 8
"""Greatest share of the time that making a picture takes: one part in so many."""
_NONE: Final = f"no probe has the trigger stacktrace, which records stacks: {GIVE_TRIGGER}"
_NONE_OF_PROGRAMS: Final = f"BPF programs record these probes, armed without stacks: {WITH_STACKS_ELSEWHERE}"
_NONE_RECORDED: Final = f"no event has a stack: {RUNNING_KERNEL}"


class StacksView(View):
    """View with a `FlameGraph`."""

    name: ClassVar[str] = "stacks"
    pane: StacksPane

    def __init__(self, chosen: Filter) -> None:
        super().__init__(chosen)
        self.pane = pane = StacksPane(self.name)
        pane.turn, pane.weigh, pane.compare = self.turn, self.weigh, self.compare
        pane.searched, pane.matches, pane.about = self.searched, self.matches, self.about
        self._choice: StackChoice | None = None
        self._model: StackModel | None = None
        self._weighed: WeighedTree | None = None
        self._frames: FrameTexts | None = None
        """Texts of the tree; None: there are no stacks."""
        self._text = ""
        """Text that is searched; empty: none."""
        self._drawn = self._cost = 0.0
        self._next_picture = LatePicture(self.pane, self._show)

    @property
    def focus(self) -> Widget:
        """Graph, which takes the keys."""
        return self.pane.graph

    def tick(self, watch: Watch, store: Store, fields: tuple[str, ...]) -> bool:  # noqa: ARG002 - of every view
        """Count new events; work that takes longer goes on in later ticks."""
        passing = self.filter.of(watch, store)
        model = self._model
        if (
            model is None
            or model.store is not store
            or model.watch is not watch
            or model.passing is not passing
            or model.is_stale
        ):
            self._begin(watch, store)
            model = self._model
        if model is None:
            return False
        model.tick(_COUNTING)
        behind = model.backlog > 0
        wait = self._drawn + max(_DRAWING, _SHARE * self._cost) - time.monotonic()
        if wait <= 0:
            self._show()
        elif not behind:
            self._next_picture.due(wait)
        return behind

    def _begin(self, watch: Watch, store: Store) -> None:
        """Begin to count with what is chosen now."""
        from tui.views.stacks.choice import StackChoice, is_possible
        from tui.views.stacks.model import StackModel  # imports numpy

        choice = self._choice or StackChoice()
        if self._model is not None and self._model.store is not store:
            choice = choice._replace(mark=None)
        if not is_possible(watch, choice.value):
            choice = choice._replace(value="")
        self._choice = choice
        self._model = StackModel(watch, store, choice, passing=self.filter.of(watch, store))
        self._drawn = 0.0

    def _show(self, *, anew: bool = False) -> None:
        self._next_picture.drop()
        model = self._model
        if model is None:
            return
        began = time.monotonic()
        self._weighed = weighed = model.weighed()
        self._frames = FrameTexts(model, weighed, self._text) if model.stacked else None
        self.pane.graph.show(self._frames.picture if self._frames is not None else None, anew=anew)
        self.pane.show_texts(self._head(model))
        self._drawn = time.monotonic()
        self._cost = self._drawn - began

    def _head(self, model: StackModel) -> str:
        if not model.stacked:
            return ""
        parts = [model.title, f"{counted(model.stacked, model.unit)} in {counted(model.stack_count, 'stack')}"]
        compared = "from here on against before" if model.watch.live else "second half against the first"
        parts += [compared] if model.choice.mark is not None else []
        return ", ".join(parts)

    # -- frames ----------------------------------------------------------------------------------------------------

    def about(self, node: int) -> str:
        """Return what is known of a frame, foreign text."""
        return self._frames.about(node) if self._frames is not None else ""

    def matches(self, node: int) -> bool:
        """Tell whether a frame has the text that is searched."""
        return self._frames is not None and self._frames.matches(node)

    def searched(self, text: str) -> str:
        """Mark the frames with a text; return the share of the stacks that have one, in words."""
        self._text = text
        return self._frames.searched(text) if self._frames is not None else ""

    # -- keys ------------------------------------------------------------------------------------------------------

    def turn(self, what: str) -> None:
        """Change the form of the stacks."""
        model = self._model
        if model is None or self._choice is None:
            return
        if what == "tasks":
            self._choose(self._choice._replace(tasks=not self._choice.tasks))
            return
        shape = self._choice.shape
        model.reshape(shape._replace(**{what: not getattr(shape, what)}))
        self._choice = model.choice
        self._show(anew=True)

    def weigh(self) -> None:
        """Ask for the weight of the stacks."""
        model = self._model
        if model is None:
            self.pane.notify("no event came yet", markup=False)
            return
        from tui.views.stacks.choice import is_possible, values_of

        values = [value for value in values_of(model.watch) if is_possible(model.watch, value)]
        choices = ["", *values]
        rows = ["number of events", *(f"sum of {value}" for value in values)]

        def chosen(row: int) -> None:
            if self._choice is not None:
                self._choose(self._choice._replace(value=choices[row]))

        dialogs.pick(self.pane.app, "how much does a stack weigh?", rows, chosen)

    def compare(self) -> None:
        """Compare what comes from now on with what came before, or no more."""
        model = self._model
        if model is None or self._choice is None:
            return
        if self._choice.mark is not None:
            self._choose(self._choice._replace(mark=None))
        elif not model.watch.live:
            middle = (model.store.first_seq + model.store.next_seq) // 2
            self._choose(self._choice._replace(mark=middle))
            self.pane.notify("the second half of the events is compared with the first", markup=False)
        else:
            self._choice = model.compare_from_here()
            self._show()

    def _choose(self, choice: StackChoice) -> None:
        """Count anew with another choice."""
        self._choice = choice
        if (model := self._model) is not None:
            self._begin(model.watch, model.store)
            self._go_on()

    def _go_on(self) -> None:
        """Count at once."""
        if (model := self._model) is not None and self.tick(model.watch, model.store, ()):
            self._drawn = 0.0
            call_after(self.pane, _SOON, self._go_on)

    # -- of every view -----------------------------------------------------------------------------------------------

    def forget(self) -> None:
        """Clear the graph; what was chosen stays."""
        self._model = self._weighed = self._frames = None
        if self._choice is not None:
            self._choice = self._choice._replace(mark=None)
        self.pane.graph.show(None)
        self.pane.show_texts("")

    def names_changed(self) -> None:
        """Show new names of functions and tasks."""
        if self._model is not None:
            self.filter.names_changed(self._model.watch)
            self._model.names_changed()
            self._show()

    @property
    def place(self) -> ViewPlace:
        """Constant position with the number of events that have stacks."""
        model = self._model
        if model is None:
            return ViewPlace(row_count=None)
        return ViewPlace(row_count=model.stacked, total=model.of if self.filter.text and model.unit == "event" else 0)

    @property
    def filtered(self) -> PassCount:
        """Number of events or calls in the tree, including those dropped since."""
        return self._model.pass_count if self._model is not None else PassCount(0, 0)

    def empty_reason(self, watch: Watch) -> str:
        """Return the text for events without stacks."""
        model = self._model
        if model is None or model.stacked or model.backlog:
            return ""
        if not watch.live:
            return _NONE_RECORDED if watch.ended and not watch.info.target.is_kernel else ""
        armed = watch.armed.probes
        if not armed or watch.event_fields.with_stacks & {event.path for one in armed for event in one.plan.events}:
            return ""  # nothing is armed, or the first stack comes soon
        return _NONE_OF_PROGRAMS if all(one.plan.by_programs for one in armed) else _NONE

    @property
    def table_name(self) -> str:
        """Name of the table, once there are stacks."""
        return self.name if self._model is not None and self._model.stacked else ""

    def export_table(self, watch: Watch, store: Store) -> ViewTable:  # noqa: ARG002 - it is of what is shown
        """Return the stacks as they are shown."""
        from tui.output.stack_table import StackTable

        assert self._model is not None  # noqa: S101 - there is no table_name else
        self._model.names_changed()  # the dialog has read symbols
        return StackTable(self._model, self.filter)

    def note(self, watch: Watch) -> str:
        """Return what is not in the graph, then the note on the events."""
        lacking = self._model.lacking if self._model is not None else ()
        return ", ".join(filter(None, (*lacking, note_of(watch))))

    def function_under_cursor(self) -> str:
        """Return the function of the frame under the cursor."""
        weighed, node = self._weighed, self.pane.graph.cursor
        if weighed is None or not 0 < node < len(weighed.tree):
            return ""
        frame = weighed.tree.frames[node]
        return frame.name.split(" ")[0] if frame.kind in (FrameKind.KERNEL, FrameKind.MODULE) else ""
