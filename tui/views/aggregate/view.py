"""View of events or calls by keys: count, and statistics of values."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Final

from events.aggregates.request import AggregateError, AggregateRequest
from tui.filter.filter import Filter, PassCount
from tui.present.call_ends import ends_of
from tui.present.status import note_of
from tui.present.ways_out import RUNNING_KERNEL
from tui.views.aggregate.pane import AggregatePane
from tui.views.late_picture import LatePicture
from tui.views.view import TableView, ViewPlace
from widgets.aggregates.group_table import GroupRows
from widgets.call_after import call_after
from widgets.lists.tail_table import TailTable
from widgets.number_format import duration

if TYPE_CHECKING:
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from tui.output.view_table import ViewTable
    from tui.views.aggregate.model import AggregateModel
    from tui.views.aggregate.screen_rows import GroupRates
    from tui.views.aggregate.table_source import AggregateRow, AggregateRows
    from widgets.events.values import DetailField

_COUNTING: Final = 0.008
"""Seconds for counting at once."""
_SOON: Final = 0.01
_DRAWING: Final = 0.25
"""Seconds between two updates of the screen."""
_SHARE: Final = 8
"""Greatest share of the time that making a table takes: one part in so many."""
_SHOWN: Final = 500
"""Rows on the screen; the others are added up."""


class AggregateView(TableView):
    """View with a table of groups."""

    name: ClassVar[str] = "aggregate"
    pane: AggregatePane

    def __init__(self, chosen: Filter) -> None:
        super().__init__(chosen)
        self.pane = AggregatePane(self.name)
        self.pane.choose, self.pane.since, self.pane.order.changed = self.choose, self.since, self._show
        self.pane.condition, self.pane.open_row = self.condition, self.open_row
        self.pane.shows_calls = lambda: self._model is not None and self._model.aggregate.of_calls
        self.request: AggregateRequest | None = None
        """Keys and values that a person chose; None: those that fit the probes."""
        self._fitting: tuple[object, AggregateRequest] | None = None
        """State of the events, and the request that is shown for it."""
        self._model: AggregateModel | None = None
        self._rows: AggregateRows | None = None
        self._rates: GroupRates | None = None
        self._first = 0
        """First row that is counted, if not all are."""
        self._drawn = 0.0
        self._cost = 0.0
        """Seconds that the last table took."""
        self._next_picture = LatePicture(self.pane, self._show)

    def tick(self, watch: Watch, store: Store, fields: tuple[str, ...]) -> bool:  # noqa: ARG002 - of every view
        """Count new events; work that takes longer goes on in later ticks."""
        passing = self.filter.of(watch, store)
        model = self._model
        wanted = self._request(watch)
        if (
            model is None
            or model.store is not store
            or model.watch is not watch
            or model.passing is not passing
            or model.request != wanted
            or model.is_stale
        ):
            from tui.views.aggregate.model import AggregateModel  # imports numpy

            if model is not None and model.store is not store:
                self._first = 0
            if model is not None and model.request != wanted:
                self.pane.order.forget()
            model = AggregateModel(watch, store, wanted, passing=passing, first=self._first)
            self._model, self._rates, self._drawn = model, None, 0.0
        model.tick(_COUNTING)
        behind = model.aggregate.backlog > 0
        wait = self._drawn + max(_DRAWING, _SHARE * self._cost) - time.monotonic()
        if wait <= 0:
            self._show()
        elif not behind:
            self._next_picture.due(wait)
        return behind

    def _request(self, watch: Watch) -> AggregateRequest:
        """Return what was chosen, if the events have it; else what fits them."""
        state = watch, watch.event_fields.plans, len(watch.store.decoder.formats) if watch.store else 0, self.request
        if self._fitting is None or self._fitting[0] != state:
            self._fitting = state, self._fitting_request(watch)
        return self._fitting[1]

    def _fitting_request(self, watch: Watch) -> AggregateRequest:
        from tui.views.aggregate.plan_columns import PlanColumns, check_request, default_request

        columns = PlanColumns(watch)
        if self.request is not None:
            try:
                check_request(watch, self.request, columns)
            except AggregateError:
                pass
            else:
                return self.request
        return default_request(columns)

    def _show(self) -> None:
        self._next_picture.drop()
        model = self._model
        if model is None:
            return
        from tui.views.aggregate.screen_rows import GroupRates, group_rows  # imports numpy

        began = time.monotonic()
        order, rates = self.pane.order, self._rates or GroupRates()
        self._rows = rows = model.rows(_SHOWN, order.column, ascending=order.ascending)
        self._rates = rates
        rates.see(rows)
        self.pane.groups.fill(group_rows(model, rows, order, rates))
        self.pane.show_head(f"{model.request.text}{self._over(model)}")
        self._drawn = time.monotonic()
        self._cost = self._drawn - began

    def _over(self, model: AggregateModel) -> str:
        """Return the time that the counted events took, in words; empty: there are none."""
        store, first = model.store, max(self._first, model.store.first_seq)
        if first >= store.next_seq:
            return ", since now" if self._first else ""
        took = duration(max(0, store.row(store.next_seq - 1).ts - store.row(first).ts))
        return f", since {took} ago" if self._first and model.watch.live else f", over {took}"

    # -- keys ------------------------------------------------------------------------------------------------------

    def choose(self) -> None:
        """Ask for keys and values."""
        model = self._model
        if model is None:
            self.pane.notify("no event came yet", markup=False)
            return
        from tui.views.aggregate.plan_columns import PlanColumns, choices_of
        from widgets.aggregates.chooser import AggregateChooser, NameChoice

        watch = model.watch
        keys, values = choices_of(PlanColumns(watch), ends_of(watch.event_fields.plans))
        names = [
            NameChoice(name, name in keys, name in values)
            for name in dict.fromkeys((*model.request.keys, *keys, *values))
        ]
        self.pane.app.push_screen(AggregateChooser(names, model.request), self._chosen)

    def _chosen(self, request: AggregateRequest | None) -> None:
        model = self._model
        if request is None or model is None:
            return
        from tui.views.aggregate.plan_columns import PlanColumns, check_request

        try:
            check_request(model.watch, request, PlanColumns(model.watch))
        except AggregateError as error:
            self.pane.notify(str(error), markup=False)
            return
        self.request = request
        self._go_on()

    def since(self) -> None:
        """Count only what comes from now on, or all again."""
        if (model := self._model) is None:
            return
        if model.watch.info.holds_events:
            self.pane.notify(f"no more events come of a recording; {RUNNING_KERNEL}", markup=False)
        else:
            self._first = 0 if self._first else model.store.next_seq
            self._model = None
            self.tick(model.watch, model.store, ())
            self._go_on()

    def _row(self, number: int) -> AggregateRow | None:
        """Return a row; None: it is the sum of the others."""
        rows = self._rows.rows if self._rows is not None else ()
        return rows[number] if number < len(rows) else None

    def condition(self, number: int) -> str:
        """Return the condition for the events of a row; empty: none is possible."""
        row = self._row(number)
        return self._model.condition(row) if self._model is not None and row is not None else ""

    def open_row(self, number: int) -> bool:
        """Show the functions of a stack; return False if no key of the row is one."""
        if not self._frames(self._row(number)):
            return False
        self.pane.post_message(TailTable.DetailRequested(number).set_sender(self.pane.groups))
        return True

    def detail(self, watch: Watch, row: int) -> tuple[str, tuple[DetailField, ...]]:  # noqa: ARG002 - of every view
        """Return the functions of the stack of a row. Raises IndexError if it has none by now."""
        from widgets.events.values import DetailField

        frames = self._frames(self._row(row))
        if not frames:
            raise IndexError(row)
        return "stack", tuple(DetailField("" if n else "stack", f, "", -1, 0, b"") for n, f in enumerate(frames))

    def _frames(self, row: AggregateRow | None) -> list[str]:
        """Return the functions of the stack that is a key of a row; empty: none is."""
        model = self._model
        return [frame for key in row.keys for frame in model.labels.frames(key)] if row and model else []

    def _go_on(self) -> None:
        """Count at once."""
        if (model := self._model) is not None:
            self._drawn = 0.0
            if self.tick(model.watch, model.store, ()):
                call_after(self.pane, _SOON, self._go_on)

    # -- of every view -----------------------------------------------------------------------------------------------

    def forget(self) -> None:
        """Clear the table; what was chosen stays."""
        self._model = self._rows = None
        self._first = 0
        self.pane.groups.fill(GroupRows())
        self.pane.show_head("")

    def names_changed(self) -> None:
        """Show new names."""
        if self._model is not None:
            self.filter.names_changed(self._model.watch)
            self._model.names_changed()
            self._show()

    @property
    def place(self) -> ViewPlace:
        """Constant position with the number of counted events or calls."""
        model = self._model
        if model is None:
            return ViewPlace(row_count=None)
        filtered = self.filter.text and not model.aggregate.of_calls
        return ViewPlace(row_count=model.aggregate.counted, total=model.aggregate.of if filtered else 0)

    @property
    def table_name(self) -> str:
        """Name of the table, once there is one."""
        return self.name if self._model is not None else ""

    def export_table(self, watch: Watch, store: Store) -> ViewTable:  # noqa: ARG002 - it is of what is shown
        """Return all rows in the order of the screen."""
        from tui.output.aggregate_table import AggregateTable

        assert self._model is not None  # noqa: S101 - there is no table_name else
        return AggregateTable(self._model, self.filter, order=self.pane.order.column)

    @property
    def filtered(self) -> PassCount:
        """Number of events or calls that are counted, as the rows add up to, including those dropped since."""
        return self._model.pass_count if self._model is not None else PassCount(0, 0)

    def note(self, watch: Watch) -> str:
        """Return what is not counted, then the note on the events."""
        lacking = self._model.lacking if self._model is not None else ()
        return ", ".join(filter(None, (*lacking, note_of(watch))))
