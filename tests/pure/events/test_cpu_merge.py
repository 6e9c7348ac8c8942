"""The order of events of several CPUs, which write while they are read one by one, and records in the making."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.recording.chunks import pack_batch, unpack_batches
from events.store.cpu_merge import Merger
from events.store.row_columns import rows_from_lists

CPUS = 3


class Kernel:
    """Ring buffers of some CPUs, and a clock that goes on with each event."""

    def __init__(self) -> None:
        self.now = 0
        self.recorded = [list[int]() for _ in range(CPUS)]
        """Times of all events by CPU."""
        self.open_at: list[int | None] = [None] * CPUS
        """Place of the event that is being written by CPU, which hides those behind it."""
        self.read = [0] * CPUS

    def write(self, cpu: int, *, stays_open: bool) -> None:
        self.now += 1
        self.recorded[cpu].append(self.now)
        if stays_open and self.open_at[cpu] is None:
            self.open_at[cpu] = len(self.recorded[cpu]) - 1

    def take(self, cpu: int, most: int) -> tuple[list[int], bool, bool]:
        """Times of the next events, whether more could be read, and whether one is being written."""
        start, end = self.read[cpu], len(self.recorded[cpu])
        place = self.open_at[cpu]
        visible = end if place is None else place
        stop = min(visible, start + most)
        self.read[cpu] = stop
        return self.recorded[cpu][start:stop], stop < visible, place is not None and stop == place


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, CPUS - 1), st.booleans()),
        st.tuples(st.just("finish"), st.integers(0, CPUS - 1), st.just(False)),
        st.tuples(st.just("read"), st.integers(1, 4), st.booleans()),
    ),
    max_size=60,
)
"""What happens between the reads of two CPUs."""


@given(st.lists(STEPS, min_size=1, max_size=8), st.integers(1, 5))
def test_no_event_is_returned_behind_a_younger_one(passes: list[list[tuple[str, int, bool]]], most: int) -> None:
    kernel, merger, returned = Kernel(), Merger(), list[int]()

    def happen(steps: list[tuple[str, int, bool]]) -> None:
        for name, number, flag in steps:
            if name == "write":
                kernel.write(number, stays_open=flag)
            elif name == "finish":
                kernel.open_at[number] = None

    for steps in passes:
        third = len(steps) // CPUS + 1
        runs, ends, before_open, drained = [], [], [], True
        for cpu in range(CPUS):
            happen(steps[cpu * third : (cpu + 1) * third])
            stamps, has_more, is_open = kernel.take(cpu, most)
            drained = drained and not has_more
            if stamps:
                ends.append(stamps[-1])
                runs.append(rows_from_lists(stamps, stamps, [1] * len(stamps)))
            if is_open:
                before_open.append(stamps[-1] if stamps else -1)
        returned += merger.merge(runs, ends, ends, drained, before_open).stamps.tolist()
    assert returned == sorted(returned)
    kernel.open_at = [None] * CPUS
    for cpu in range(CPUS):
        stamps = kernel.take(cpu, 1 << 20)[0]
        runs = [rows_from_lists(stamps, stamps, [1] * len(stamps))] if stamps else []
        returned += merger.merge(runs, stamps[-1:], stamps[-1:], False).stamps.tolist()
    returned += merger.flush().stamps.tolist()
    assert sorted(returned) == list(range(1, kernel.now + 1))


def test_a_ring_that_is_being_written_for_long_holds_back_no_more_than_its_time() -> None:
    """Others are returned up to its last event, though it has one in the making at each read."""
    merger = Merger()
    for number in range(1, 50):
        runs = [rows_from_lists([10 * number + place], [0], [1]) for place in range(2)]
        rows = merger.merge(runs, [10 * number, 10 * number + 1], [10 * number, 10 * number + 1], True, [10 * number])
        assert rows.stamps.tolist() == ([10 * number - 10, 10 * number - 9] if number > 1 else [])


def test_a_recording_keeps_that_a_record_was_being_written() -> None:
    batch = Batch((Chunk(0, b"", is_being_written=True), Chunk(1, b"x", text=True), Chunk(2, b"y")), drained=True)
    assert list(unpack_batches(pack_batch(batch))) == [batch]
