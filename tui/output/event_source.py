"""Source of an export: the events of a watch with all facts about their probes. Imports no screen code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from events.calls.call_values import EndRole
from events.export.clocked import with_time_of_day
from events.export.source import ExportSource, ProbeNote
from events.graph.record_ends import EVENTS
from events.stacks.stack import KERNEL_STACKS
from events.text import UNNAMED
from kernel.watch.reconnect import can_be_reached_again
from kernel.watch.recorder import CUTS
from probes.plans.plan import Plan, PlannedEvent, titles_of
from tui.present.call_ends import ends_of
from tui.present.event_times import offset_of_row
from tui.present.watched_events import events_of, formats_of
from tui.views.graph.values import GraphValues

if TYPE_CHECKING:
    from events.export.catalogue import Format
    from kernel.watch.watch import Watch

_NOTHING: Mapping[str, frozenset[str]] = {}


def source_of(watch: Watch, unasked: Mapping[str, frozenset[str]] = _NOTHING) -> ExportSource:
    """Return the source for `events.export`, with all probes that are or were armed.

    Args:
        watch: watch with its store.
        unasked: fields to leave out, by the path of their event; only these events are wanted. Empty: all are.
    """
    store, planner = watch.store, watch.planner
    armed = {fmt: None for one in watch.armed.probes for fmt in one.formats.values()}
    known = dict.fromkeys(formats_of(watch))
    graph = GraphValues(watch)
    return ExportSource(
        probe_notes=_ProbeNotes(watch, unasked),
        formats=tuple(fmt for fmt in armed | known if not unasked or fmt.path in unasked),
        ends=_Ends(watch),
        has_outages=_may_have_outages(watch),
        stacks=have_stacks(watch),
        missed=store.missed_calls if store is not None else {},
        loss_spans_at=store.loss_spans.at if store is not None else ExportSource.loss_spans_at,
        field_texts=lambda record: graph.field_texts(record) or watch.event_fields.values(record),
        named_fields=lambda fmt: (*watch.event_fields.named(fmt), *graph.named_fields(fmt)),
        comm=lambda key: watch.store.task_names.name(key) if watch.store is not None else UNNAMED,
        symbols=planner.info.symbols.of,
        # A recording has them in its file; a kernel that is followed would be asked meanwhile.
        loaded_symbols=planner.info.symbols.of if planner.info.holds_events else planner.info.symbols.loaded_of,
        title=f"{planner.info.target.name} · {planner.info.facts.title}",
    )


def timed_source_of(watch: Watch, unasked: Mapping[str, frozenset[str]] = _NOTHING) -> ExportSource:
    """Return the source with the time of day of each event, where it is known."""
    return with_time_of_day(source_of(watch, unasked), lambda record: offset_of_row(watch, record.ts, record.seq))


def load_symbols(watch: Watch, form: Format) -> None:
    """Read the kernel's symbols if a format or the exported events need them; run in a worker thread.

    If they are already loaded nothing changes, so that the export does not depend on what was viewed before.
    """
    known = watch.event_fields
    formats = [*formats_of(watch), *(fmt for one in watch.armed.probes for fmt in one.formats.values())]
    if (
        form.names_addresses
        or have_stacks(watch)
        or any(known.names_addresses(fmt) or fmt.path in EVENTS for fmt in formats)
    ):
        watch.info.symbols.load()


def have_stacks(watch: Watch) -> bool:
    """Tell whether events have kernel stacks, or stacks arrived without their event."""
    return bool(watch.event_fields.with_stacks) or any(fmt.path in KERNEL_STACKS for fmt in formats_of(watch))


def _may_have_outages(watch: Watch) -> bool:
    """Tell whether the connection was lost, or may be during the export."""
    target = watch.info.target
    if target.recording is not None:  # a truncated recording has a mark for that
        return bool(target.recording.meta.get(CUTS) or target.recording.truncated)
    return bool(watch.outages) or can_be_reached_again(target)


def source_of_rows(watch: Watch) -> ExportSource:
    """Return the source of the rows in the store: without fields of disarmed probes whose events are all dropped.

    For a recording as it was opened the result equals that of `source_of`.
    """
    source = source_of(watch)
    if not watch.info.holds_events:
        source = replace(source, has_outages=bool(watch.outages))
    present = events_of(watch)
    absent = {event.path for plan in watch.event_fields.plans for event in plan.events if event.path not in present}
    return replace(source, formats=tuple(fmt for fmt in source.formats if fmt.path not in absent))


class _Ends(Mapping[str, EndRole]):
    """Role of each event as the end of a call, by path; includes probes armed later."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._plans: tuple[Plan, ...] = ()
        self._known: dict[str, EndRole] = {}

    def __getitem__(self, path: str) -> EndRole:
        return self._current()[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._current())

    def __len__(self) -> int:
        return len(self._current())

    def _current(self) -> dict[str, EndRole]:
        plans = self._watch.event_fields.plans
        if plans != self._plans:  # existing plans keep their number
            self._known, self._plans = ends_of(plans), plans
        return self._known


class _ProbeNotes(Mapping[str, ProbeNote]):
    """Notes on the probes of events, by path; includes probes armed later, as after a reconnect."""

    def __init__(self, watch: Watch, unasked: Mapping[str, frozenset[str]]) -> None:
        self._watch = watch
        self._unasked = unasked
        self._known: dict[str, ProbeNote] = {}
        self._plans: tuple[Plan, ...] = ()

    def __getitem__(self, path: str) -> ProbeNote:
        return self._current()[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._current())

    def __len__(self) -> int:
        return len(self._current())

    def _current(self) -> dict[str, ProbeNote]:
        plans = self._watch.event_fields.plans
        if plans != self._plans:
            self._known = {
                event.path: _probe_note(title, event, self._unasked.get(event.path, frozenset()))
                for plan, title in zip(plans, titles_of(plans), strict=True)
                for event in plan.events
            }
            self._plans = plans
        return self._known


def _probe_note(title: str, event: PlannedEvent, unasked: frozenset[str]) -> ProbeNote:
    letter, _, rest = event.line.partition(":")
    place = rest.split()[1] if len(rest.split()) > 1 else ""
    return ProbeNote(
        subject=title,
        omitted_fields=unasked,
        frame=event.frame,
        attached=place if letter == "e" else "",
        pattern=next((column.functions for column in event.columns if column.functions), ""),
        user=letter[:1] in ("p", "r") and "/" in place,
    )
