"""Every record of a BPF ring buffer that the kernel fills at full speed is a row, or is told as lost at its place."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from events.bpf_layout import RING_HEADER
from tests.ring_producer import NoPrograms, RingProducer, RingReader, layout

SMALL, LARGE = 1 << 16, 1 << 24


@contextlib.contextmanager
def ring(size: int, folder: Path) -> Iterator[tuple[RingProducer, RingReader]]:
    try:
        producer = RingProducer(size)
    except NoPrograms as error:
        pytest.skip(f"no program runs here: {error}")
    with producer, contextlib.closing(RingReader(producer, folder)) as reader:
        yield producer, reader


def test_what_finds_no_room_is_told_where_it_was_lost(tmp_path: Path) -> None:
    room = SMALL // (layout().size + RING_HEADER)
    with ring(SMALL, tmp_path) as (producer, reader):
        for _ in range(3):
            producer.run(5_000)
            reader.read()
        assert producer.counts == (15_000, 15_000 - 3 * room)
        expected = np.concatenate([np.arange(first, first + room) for first in (0, 5_000, 10_000)])
        assert np.array_equal(reader.numbers(), expected)
        assert reader.store.lost_events == 2 * (5_000 - room), "of the last losses no record tells"


def test_a_ring_that_is_read_while_it_is_filled_loses_nothing_untold(tmp_path: Path) -> None:
    runs = 300_000
    with ring(LARGE, tmp_path) as (producer, reader):
        filler = threading.Thread(target=producer.run, args=(runs,))
        filler.start()
        reader.read(lambda: not filler.is_alive())
        filler.join()
        made, lost = producer.counts
        numbers = reader.numbers()
        assert made == runs == len(numbers) + lost
        assert (np.diff(numbers) > 0).all()
        assert reader.store.lost_events == int(numbers[-1]) + 1 - len(numbers)
