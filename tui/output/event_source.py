"""What a watch gives out: its events with all that its probes say of them; no screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from events.calls.call_values import EndRole
from events.export.clocked import timed
from events.export.source import UNNAMED, ProbeNote, Source
from events.graph.record_ends import EVENTS
from events.stacks.stack import KERNEL_STACKS
from kernel.recording.target import RecordingTarget
from kernel.remote.target import RemoteTarget
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


def source_of(watch: Watch, unasked: Mapping[str, frozenset[str]] = _NOTHING) -> Source:
    """For `events.export`; of the probes that are or were armed.

    Args:
        watch: with its store.
        unasked: fields that are left out, by the paths of their events; those are all that is wanted. Empty:
            everything is.
    """
    store, connection = watch.store, watch.connection
    armed = {fmt: None for one in watch.armed for fmt in one.formats.values()}
    known = dict.fromkeys(formats_of(watch))
    graph = GraphValues(watch)
    return Source(
        about=_Abouts(watch, unasked),
        formats=tuple(fmt for fmt in armed | known if not unasked or fmt.path in unasked),
        ends=_Ends(watch),
        cuts=_may_be_cut(watch),
        stacks=have_stacks(watch),
        missed=store.missed if store is not None else {},
        lost_between=store.lost_between if store is not None else Source.lost_between,
        events_lost=store.events_lost if store is not None else None,
        shown=lambda record: graph.shown(record) or watch.known.values(record),
        comm=lambda pid: watch.store.comm(pid) if watch.store is not None else UNNAMED,
        symbols=lambda: connection.symbols,
        title=f"{connection.target.name} · {connection.facts.title}",
    )


def timed_source_of(watch: Watch, unasked: Mapping[str, frozenset[str]] = _NOTHING) -> Source:
    """As `source_of`, with the time of day of each event where it is known."""
    return timed(source_of(watch, unasked), lambda record: offset_of_row(watch, record.ts, record.seq))


def load_symbols(watch: Watch, form: Format) -> None:
    """Read the kernel's symbols where a format, or what is given out in it, needs them; for a worker.

    Where they are read already that changes nothing, so that what is written does not depend on what was looked at.
    """
    known = watch.known
    formats = [*formats_of(watch), *(fmt for one in watch.armed for fmt in one.formats.values())]
    if (
        form.names_addresses
        or have_stacks(watch)
        or any(known.names_addresses(fmt) or fmt.path in EVENTS for fmt in formats)
    ):
        watch.connection.load_symbols()


def have_stacks(watch: Watch) -> bool:
    """Whether events have kernel stacks, or such stacks came without theirs."""
    return bool(watch.known.with_stacks) or any(fmt.path in KERNEL_STACKS for fmt in formats_of(watch))


def _may_be_cut(watch: Watch) -> bool:
    """Whether its line was cut, or may be while what comes is given out."""
    target = watch.connection.target
    if isinstance(target, RecordingTarget):  # the end of one that was cut short would have said
        return bool(target.recording.meta.get(CUTS) or target.recording.truncated)
    return bool(watch.cuts) or (isinstance(target, RemoteTarget) and target.can_come_back)


def source_of_rows(watch: Watch) -> Source:
    """The same of what is in the store: without the fields of probes that are gone with all their events.

    Of a recording as it was opened it is all that `source_of` says.
    """
    source = source_of(watch)
    if not watch.connection.holds_events:
        source = replace(source, cuts=bool(watch.cuts))
    there = events_of(watch)
    gone = {event.path for plan in watch.known.plans for event in plan.events if event.path not in there}
    return replace(source, formats=tuple(fmt for fmt in source.formats if fmt.path not in gone))


class _Ends(Mapping[str, EndRole]):
    """By the paths of events; of probes that are armed later too."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._plans: tuple[Plan, ...] = ()
        self._known: dict[str, EndRole] = {}

    def __getitem__(self, path: str) -> EndRole:
        return self._now()[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())

    def _now(self) -> dict[str, EndRole]:
        plans = self._watch.known.plans
        if plans != self._plans:  # each keeps its number
            self._known, self._plans = ends_of(plans), plans
        return self._known


class _Abouts(Mapping[str, ProbeNote]):
    """By the paths of events; those of probes that are armed later, as after a line was cut, are known then."""

    def __init__(self, watch: Watch, unasked: Mapping[str, frozenset[str]]) -> None:
        self._watch = watch
        self._unasked = unasked
        self._known: dict[str, ProbeNote] = {}
        self._plans: tuple[Plan, ...] = ()

    def __getitem__(self, path: str) -> ProbeNote:
        return self._now()[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())

    def _now(self) -> dict[str, ProbeNote]:
        plans = self._watch.known.plans
        if plans != self._plans:
            self._known = {
                event.path: _about(title, event, self._unasked.get(event.path, frozenset()))
                for plan, title in zip(plans, titles_of(plans), strict=True)
                for event in plan.events
            }
            self._plans = plans
        return self._known


def _about(title: str, event: PlannedEvent, unasked: frozenset[str]) -> ProbeNote:
    letter, _, rest = event.line.partition(":")
    place = rest.split()[1] if len(rest.split()) > 1 else ""
    return ProbeNote(
        subject=title,
        unasked=unasked,
        frame=event.frame,
        attached=place if letter == "e" else "",
        user=letter[:1] in ("p", "r") and "/" in place,
    )
