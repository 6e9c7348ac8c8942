"""Read the newest events of a recording as texts, with as few imports and pages as possible.

`tui.preview` reads them while the application is still being imported, with the store and the names that the
application uses for the same rows a moment later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from events.batch import Batch
from events.loss_counts import LossTotals
from events.recording.lines_in_time import timeline_with_lines
from events.store.outage_mark import outage_of_batch, total_outage_seconds
from kernel.errors import TargetUnusable
from kernel.recording.plans import recorded_plans
from tui.present.first_row import FirstRow, FirstRows
from tui.present.watched_events import fields_of, kinds_of

if TYPE_CHECKING:
    from events.format import EventFormat
    from events.recording.reader import Recording
    from events.store.store import Store
    from kernel.target import Target

_MOST_BYTES = 4 << 20
"""Bytes of ring-buffer pages after which reading stops: early rows are worth more than the last ones."""
_AT_ONCE = 1 << 20
"""Approximate bytes of pages that the store takes at once."""
_STORE_BYTES = 1 << 30
"""Bytes that the store may hold: more than those pages need, so that no row is dropped."""
_ROWS = 200
"""Rows with texts: as many as the tallest screen shows."""


def first_rows(target: Target) -> FirstRows:
    """Read a recording's first rows. Raises TargetUnusable; RecordingError if the recording is damaged."""
    from events.decode import Decoder
    from events.store.store import Store
    from kernel.connection.kernel_info import KernelInfo
    from kernel.watch.event_fields import EventFields
    from tui.present.value_text import ValueStyle

    recording = target.recording
    if recording is None:
        raise TargetUnusable(f"{target.name} is no recording")
    store = Store(Decoder({}, recording.header), limit_bytes=_STORE_BYTES, boot=recording.boot)
    store.task_names.known = recording.cmdlines
    info = KernelInfo(target)
    known = EventFields(info.namer)
    plans = recorded_plans(recording)
    for plan in plans:
        known.add_plan(plan)
    known.with_stacks |= recording.stack_carriers
    store.expect_stacks(known.with_stacks)
    complete, gap = _read(recording, store)
    values = ValueStyle(known)
    rows = []
    for seq in range(max(store.first_seq, store.next_seq - _ROWS), store.next_seq):
        one = store.record(seq)
        rows.append(FirstRow(seq, one.ts, one.cpu, one.pid, one.comm, one.event, dict(values.values(one))))
    fields = fields_of(plans, plans, store)
    return FirstRows(
        fields,
        tuple(rows),
        store.first_seq,
        store.next_seq,
        len(plans),
        LossTotals(store.lost_events, unread=store.undecodable, gap=gap, missed_counted=not plans),
        complete,
        recording.truncated,
        kinds_of(plans, fields),
        {path: known.owners(path) for path in {row.event for row in rows}},
    )


def _read(recording: Recording, store: Store) -> tuple[bool, float]:
    """Feed formats and pages of a recording to a store; return whether all were read, and the seconds of outages."""
    size, gap = 0, 0.0
    for entries in _pieces(recording):
        if isinstance(entries, Mapping):
            store.use(entries)
            continue
        if size >= _MOST_BYTES:
            return False, gap
        size += sum(map(_size, entries))
        gap += total_outage_seconds(outage for outage in map(outage_of_batch, entries) if outage is not None)
        store.feed(*entries)
    store.flush()
    return True, gap


def _pieces(recording: Recording) -> Iterator[list[Batch] | Mapping[int, EventFormat]]:
    """Yield formats in the order of the recording, and several passes between them at once, which is cheaper."""
    passes: list[Batch] = []
    for entry in timeline_with_lines(recording):
        if isinstance(entry, Batch):
            passes.append(entry)
        if passes and (not isinstance(entry, Batch) or sum(map(_size, passes)) >= _AT_ONCE):
            yield passes
            passes = []
        if not isinstance(entry, Batch):
            yield entry
    if passes:
        yield passes


def _size(batch: Batch) -> int:
    return sum(len(chunk.data) for chunk in batch.chunks)
