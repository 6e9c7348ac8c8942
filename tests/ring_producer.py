"""Fill a BPF ring buffer of this machine at full speed: its kernel runs a program again and again by itself.

BPF_PROG_TEST_RUN (net/bpf/test_run.c) repeats a program of type XDP without a call of ours for each run. No probe and
no traffic is needed; root is.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from events.bpf_layout import EVENT_ID, LOST, PID, STAMP
from events.decode import Decoder
from events.format import HeaderPage, parse_format
from events.store.store import Store
from kernel.agent.bpf_calls import BpfCalls
from kernel.bpf.ring_stream import ConvertedStream
from kernel.local.stream import LocalStream
from kernel.target import RingMap
from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.instructions import AluOperation, BpfInstruction, Helper, JumpCondition, MapRole, encode
from probes.bpf.record import RecordLayout, stored_type

_MAP_CREATE, _MAP_LOOKUP, _PROG_LOAD, _PROG_TEST_RUN = 0, 1, 5, 10
_ARRAY, _RINGBUF, _XDP = 2, 27, 6
_COUNTS: Final = struct.Struct("<QQ")
ID, THREAD = 0x8000, 77
_PATIENCE: Final = 0.05
"""Seconds for which nothing comes when all was read."""
_BATCH: Final = 100_000
"""Runs for each call."""


class NoPrograms(Exception):
    """This kernel runs no program for us; the text says why."""


def layout() -> RecordLayout:
    """Return the layout of a record: the number of the run."""
    kind = stored_type("u64")
    assert kind is not None
    return RecordLayout.of([("number", kind)])


def _program() -> tuple[BpfInstruction, ...]:
    """Return the program: count the run, and record its number or count it as lost, as programs of probes do."""
    out, full, done, record = Assembler(), JumpLabel(), JumpLabel(), layout()
    out.map_value(8, MapRole.COUNTERS)
    out.load(9, 8, 0, 8)
    out.move(1, 9)
    out.alu(AluOperation.ADD, 1, 1)
    out.store(8, 0, 1, 8)
    out.map(1, MapRole.RINGS)
    out.constant(2, record.size)
    out.constant(3, 0)
    out.call(Helper.RINGBUF_RESERVE)
    out.jump_if(JumpCondition.EQ, 0, 0, full)
    out.move(7, 0)
    out.call(Helper.KTIME_GET_NS)
    out.store(7, STAMP, 0, 8)
    for at in range(PID, record.size, 4):
        out.store_constant(7, at, 0, 4)
    out.store_constant(7, PID, THREAD, 4)
    out.store_constant(7, EVENT_ID, ID, 4)
    out.load(1, 8, 8, 8)
    out.store(7, LOST, 1, 4)
    out.store(7, record.fields[0].offset, 9, 8)
    out.move(1, 7)
    out.constant(2, 0)
    out.call(Helper.RINGBUF_SUBMIT)
    out.jump(done)
    out.place(full)
    out.load(1, 8, 8, 8)
    out.alu(AluOperation.ADD, 1, 1)
    out.store(8, 8, 1, 8)
    out.place(done)
    out.exit(1)
    return out.program()


class RingProducer:
    """Producer of records in one ring buffer; nothing is left of it at the end."""

    def __init__(self, ring_bytes: int) -> None:
        """Make the maps and load the program. Raises NoPrograms."""
        self._calls = BpfCalls()
        try:
            self._counts = self._map(_ARRAY, 4, _COUNTS.size, 1)
            self.ring = RingMap(0, self._map(_RINGBUF, 0, 0, ring_bytes), ring_bytes)
            code = encode(_program(), {MapRole.COUNTERS: self._counts, MapRole.RINGS: self.ring.fd})
            head = struct.pack("<IIQQIIQII16s", _XDP, len(code) // 8, 0, 0, 0, 0, 0, 0, 0, b"ring_producer")
            self._file = self._call(_PROG_LOAD, head, ((8, b"", code), (16, b"", b"GPL\0")))
        except BaseException:
            self._calls.close_all()
            raise

    def __enter__(self) -> RingProducer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._calls.close_all()

    def run(self, runs: int) -> None:
        """Run the program so often; the thread that calls it is busy until then, without the GIL."""
        for at in range(0, runs, _BATCH):
            head = struct.pack("<IIIIQQII", self._file, 0, 64, 0, 0, 0, min(_BATCH, runs - at), 0).ljust(80, b"\0")
            self._call(_PROG_TEST_RUN, head, ((16, b"", bytes(64)),))

    @property
    def counts(self) -> tuple[int, int]:
        """Number of runs, and of those whose record found no room."""
        parts = ((8, b"", bytes(4)), (16, b"r", b"%d" % _COUNTS.size))
        _, (data,) = self._calls.call(_MAP_LOOKUP, struct.pack("<IIQQQ", self._counts, 0, 0, 0, 0), parts)
        runs, lost = _COUNTS.unpack(data)
        return runs, lost

    def _map(self, kind: int, key: int, value: int, entries: int) -> int:
        return self._call(
            _MAP_CREATE, struct.pack("<7I16s", kind, key, value, entries, 0, 0, 0, b"").ljust(72, b"\0")
        )

    def _call(self, command: int, attributes: bytes, parts: tuple[tuple[int, bytes, bytes], ...] = ()) -> int:
        try:
            result, _ = self._calls.call(command, attributes, parts)
        except OSError as error:
            raise NoPrograms(str(error)) from None
        if result < 0:
            raise NoPrograms(os.strerror(-result))
        return result


class RingReader:
    """Reader of a producer's ring buffer, as this machine's are read: stream, sub-buffers, store."""

    def __init__(self, producer: RingProducer, folder: Path) -> None:
        """Take an empty folder, which stands for a trace instance without CPUs."""
        (folder / "per_cpu").mkdir()
        (folder / "events").mkdir()
        (folder / "events/header_page").touch()
        formats = {ID: parse_format(layout().format_text("event", ID, layout().size), "ring")}
        self.store = Store(Decoder(formats, HeaderPage()), 1 << 40)
        self._stream = ConvertedStream(LocalStream(str(folder)))
        self._stream.add_rings(1, layout().size, [producer.ring])

    def read(self, over: Callable[[], bool] = lambda: True) -> None:
        """Read until there is nothing more once it is over."""
        while True:
            ends = over()
            batch = self._stream.read(_PATIENCE)
            if batch is not None:
                self.store.feed(batch)
            elif ends:
                break
        self.store.flush()

    def numbers(self) -> NDArray[np.int64]:
        """Return the numbers of the runs of all rows."""
        found = self.store.columns(self.store.first_seq, self.store.next_seq)
        parts = [table.column(table.layout.format.fields[-1]).values for table in found.tables.values()]
        return np.concatenate(parts).astype(np.int64)

    def close(self) -> None:
        """End reading."""
        self._stream.close()
