"""Assign recorded stacks to their events as pages arrive, so that a stack has no row of its own.

A `stacktrace` trigger runs after its event is in the buffer (EVENT_CMD_FL_POST_TRIGGER of
kernel/trace/trace_events_trigger.c), on the same CPU, in the same task and the same interrupt context: both records
have these in their headers. Only an interrupt or, for a probe in a program, another task can write records between
the two, and those differ in one of these properties. So a stack belongs to the last event before it that is equal in
all three and has such a trigger, if no other stack is in between and no events were lost. A stack without this proof
remains a row.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from events.stacks.stack import KERNEL_STACKS, USER_STACKS
from events.store.blocks import Blocks, SlabStacks
from events.store.columns import Ints, Mask, StoreColumns, record_places
from events.store.row_columns import RowColumns, concatenate_rows
from events.subbuffer import WORD_BITS, WORD_MASK
from events.text import parse_line

if TYPE_CHECKING:
    from events.decode import Decoder
    from events.store.text_lines import LineIndex

_IN_INTERRUPT: Final = 0x08 | 0x10 | 0x40
"""Flags TRACE_FLAG_HARDIRQ, _SOFTIRQ and _NMI of `common_flags` (include/linux/trace_events.h)."""
_FEW_ROWS = 1 << 10
"""Rows whose ids are sorted faster than they are counted."""
_MAX_DISTANCE: Final = 64
"""Number of a CPU's relevant rows after which an event can no longer get a stack in a later pass."""
_OTHER, _CARRIER, _KERNEL, _USER = range(4)
_ALL_CPUS: Final = -2
"""Pseudo CPU number that stands for all CPUs."""


class _Rows(NamedTuple):
    """Events with the trigger, and stacks, of one CPU in order; text counts as one "CPU"."""

    kinds: Ints
    contexts: Ints
    """Numbers that are equal for equal task and interrupt context."""
    keys: Ints
    stamps: Ints
    ids: Ints

    def of(self, selection: Ints | Mask | slice) -> _Rows:
        return _Rows(*(column[selection] for column in self))


class StackOwners:
    """Assignment of stacks: removes them from runs of rows and stores them in `blocks` with their events."""

    def __init__(self, decoder: Decoder, blocks: Blocks, lines: LineIndex) -> None:
        self.carriers: Container[str] = ()
        """Paths of the events whose triggers record stacks."""
        self._decoder = decoder
        self._blocks = blocks
        self._lines = lines
        self._open: dict[int, _Rows] = {}
        """Last events, by CPU, whose stacks may arrive in the next pass, with the stacks received so far."""
        self._breaks: dict[int, list[int]] = {}
        """Keys before which events were lost, by CPU."""

    def break_at(self, key: int, cpu: int = _ALL_CPUS) -> None:
        """Prevent assigning stacks from `key` on to earlier events: events were lost in between."""
        self._breaks.setdefault(cpu, []).append(key)

    def begin_anew(self) -> None:
        """Prevent assigning later stacks to existing events."""
        self._open.clear()

    def take(self, cpus: Sequence[int], runs: Sequence[RowColumns]) -> tuple[list[RowColumns], frozenset[int]]:
        """Return runs without the assigned stacks, and the CPUs whose last event may still get its stack.

        Args:
            cpus: CPU of each run, in the order read; -1: text.
            runs: events that have a format.
        """
        remaining, waiting, known = list(runs), set[int](), set[int]()
        for cpu in dict.fromkeys(cpus):
            places = [place for place, run_cpu in enumerate(cpus) if run_cpu == cpu and len(runs[place].ids)]
            kinds = self._kinds([runs[place] for place in places])
            if kinds is None:
                continue
            known.add(cpu)
            assigned = self._assign(cpu, concatenate_rows([runs[place] for place in places]), kinds)
            waiting |= {cpu} if kinds[-1] == _CARRIER else set()
            if not assigned.any():
                continue
            ends = np.cumsum([len(runs[place].ids) for place in places])
            for place, own in zip(places, np.split(assigned, ends[:-1]), strict=True):
                remaining[place] = runs[place].of(~own) if own.any() else runs[place]
        self._forget_broken(known)
        return remaining, frozenset(waiting)

    def _forget_broken(self, known: Container[int]) -> None:
        """Forget the breaks, and events before one on CPUs of which nothing related to stacks came since.

        Args:
            known: CPUs of which something came: their events before a break are forgotten already.
        """
        for cpu in [cpu for cpu in self._open if cpu not in known]:
            if not self._breaks.keys().isdisjoint((cpu, _ALL_CPUS)):
                del self._open[cpu]
        self._breaks.clear()

    def _kinds(self, runs: Sequence[RowColumns]) -> Ints | None:
        """Return the kind of each row; None: no row is related to stacks."""
        if not runs:
            return None
        ids = np.concatenate([run.ids for run in runs])
        if len(ids) < _FEW_ROWS:  # ids of programs' events are large numbers
            numbers, places = np.unique(ids, return_inverse=True)
            found = np.array([self._kind(number) for number in numbers.tolist()], np.int64)
            return found[places] if found.any() else None
        kinds = np.zeros(int(ids.max()) + 1, np.int64)
        for number in np.flatnonzero(np.bincount(ids)).tolist():
            kinds[number] = self._kind(number)
        return kinds[ids] if kinds.any() else None

    def _kind(self, number: int) -> int:
        fmt = self._decoder.formats.get(number)
        path = fmt.path if fmt is not None else self._lines.name(number)
        if path in KERNEL_STACKS or path in USER_STACKS:
            return _KERNEL if path in KERNEL_STACKS else _USER
        return _CARRIER if path in self.carriers else _OTHER

    def _assign(self, cpu: int, run: RowColumns, kinds: Ints) -> Mask:
        """Return a mask of the rows that are assigned stacks."""
        places = np.flatnonzero(kinds)
        if int(kinds.max()) == _CARRIER:  # no stack arrived: only events that may get one later matter
            places = places[-_MAX_DISTANCE:]
        relevant = run.of(places)
        rows = _Rows(
            kinds[places], self._contexts_of(relevant), relevant.keys, relevant.stamps, relevant.ids.astype(np.int64)
        )
        before = self._open.get(cpu)
        known_count = len(before.keys) if before is not None else 0
        if before is not None:
            rows = _Rows(*map(np.concatenate, zip(before, rows, strict=True)))
        breaks = np.array(sorted((*self._breaks.get(cpu, ()), *self._breaks.get(_ALL_CPUS, ()))), np.int64)
        epochs = np.searchsorted(breaks, rows.keys, side="right")
        owners = np.maximum(_owners(rows, epochs, _KERNEL), _owners(rows, epochs, _USER))
        owners[:known_count] = -1  # these were assigned when they arrived
        stacks = np.flatnonzero(owners >= 0)
        own = rows.of(stacks)
        self._blocks.add_stacks(SlabStacks(rows.keys[owners[stacks]], own.keys, own.ids, own.stamps))
        self._open[cpu] = rows.of(_open_places(rows, epochs, len(breaks)))
        assigned = np.zeros(len(run.ids), np.bool_)
        assigned[places[stacks - known_count]] = True
        return assigned

    def _contexts_of(self, run: RowColumns) -> Ints:
        number = int(run.keys[0]) >> WORD_BITS
        if self._blocks.slabs[number].text:
            return np.array([self._context_of_line(key) for key in run.keys.tolist()], np.int64)
        columns = StoreColumns(0, run, self._blocks.slabs, self._decoder)
        order = self._decoder.header.byteorder
        starts, _ = record_places(columns.data, columns.at, order)
        flags = np.frombuffer(columns.data, np.uint8).take(starts + 2, mode="clip") & _IN_INTERRUPT
        pids = np.frombuffer(columns.data, "<i4" if order == "little" else ">i4").take((starts >> 2) + 1, mode="clip")
        return pids.astype(np.int64) << 8 | flags

    def _context_of_line(self, key: int) -> int:
        """Return a number for CPU, task and interrupt context of a line."""
        line = parse_line(self._lines.event_text(self._blocks.slabs[key >> WORD_BITS].data, key & WORD_MASK))
        if line is None:
            return -1
        interrupt = {"h": 1, "s": 2, "H": 3, "z": 4, "Z": 5}.get(line.flags[2:3], 0)
        return (line.cpu << 34) | ((line.pid & 0xFFFFFFFF) << 3 | interrupt)


def _owners(rows: _Rows, epochs: Ints, kind: int) -> Ints:
    """Return the index of the event of each stack of a kind; -1: no such stack, or not proven."""
    owners = np.full(len(rows.keys), -1, np.int64)
    places = np.flatnonzero((rows.kinds == kind) | (rows.kinds == _CARRIER))
    if len(places) < 2:
        return owners
    contexts = rows.contexts[places]
    # Group rows with equal properties, in order.
    places = places[np.lexsort((np.arange(len(places)), epochs[places], contexts))]
    before, after = places[:-1], places[1:]
    equal = (rows.contexts[before] == rows.contexts[after]) & (epochs[before] == epochs[after])
    proven = equal & (rows.kinds[before] == _CARRIER) & (rows.kinds[after] == kind)
    owners[after[proven]] = before[proven]
    return owners


def _open_places(rows: _Rows, epochs: Ints, epoch: int) -> Ints:
    """Return the indexes of the last event of each task and interrupt context, and of the stacks after it."""
    first = max(0, len(rows.keys) - _MAX_DISTANCE)
    last: dict[int, list[int]] = {}
    columns = (rows.kinds[first:].tolist(), rows.contexts[first:].tolist(), epochs[first:].tolist())
    for place, (kind, context, own) in enumerate(zip(*columns, strict=True), first):
        if own != epoch:
            continue
        if kind == _CARRIER:
            last[context] = [place]
        elif context in last:
            last[context].append(place)
    return np.array(sorted(place for places in last.values() for place in places), np.int64)
