"""Read BPF ring buffers with the ring buffers of a trace instance, as sub-buffers that all other readers know."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from events.batch import Batch
from events.format import HeaderPage
from kernel.errors import KernelError
from kernel.target import AnyRecord, RingMap, SampleForm, Stream

if TYPE_CHECKING:
    from events.bpf_records import RecordConverter


class ConvertedStream:
    """Stream of a trace instance, with records of BPF programs as its events; a `kernel.target.Stream`."""

    def __init__(self, stream: Stream, again: Callable[[], Stream] | None = None) -> None:
        """Take a stream; `again` opens it anew once it was closed, for `released`."""
        self.header = HeaderPage()
        """Layout of the sub-buffers; set before the first ring buffer is added."""
        self._stream = stream
        self._again = again
        self._rings: dict[int, tuple[AnyRecord, Sequence[RingMap]]] = {}
        self._changed = threading.Condition()
        self._is_released = False
        self._is_reading = False
        self._error: KernelError | None = None
        self._converter: RecordConverter | None = None

    @property
    def errors(self) -> int:
        """Reads that the kernel rejected, if the stream counts them, and those that gave no records."""
        broken = self._converter.broken_chunks if self._converter is not None else 0
        return int(getattr(self._stream, "errors", 0)) + broken

    @property
    def comms(self) -> Mapping[int, str]:
        """Names of the threads that programs have recorded, by thread id."""
        return self._converter.comms if self._converter is not None else {}

    def read(self, timeout: float) -> Batch | None:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_released)
            if self._error is not None:
                raise self._error
            self._is_reading = True
        try:
            batch = self._stream.read(timeout)
        finally:
            with self._changed:
                self._is_reading = False
                self._changed.notify_all()
        return self._converter.converted(batch) if batch is not None and self._converter is not None else batch

    def lost(self, number: int) -> dict[int, int]:
        """Return the records of a ring buffer that were lost, by CPU, as far as later records or notices tell."""
        return self._converter.lost(number) if self._converter is not None else {}

    def require_answer(self) -> bool:
        return self._stream.require_answer()

    def expect_stacks(self, number: int, begin: int, event: int) -> None:
        """Take the stacks behind `begin` bytes of each record of ring buffers to come, as events of an id."""
        from events.bpf_records import StackPart

        self._converter_of_records().stacks[number] = StackPart(begin, event)

    def add_rings(self, number: int, record: AnyRecord, maps: Sequence[RingMap]) -> None:
        converter = self._converter_of_records()
        converter.sizes[number] = record if isinstance(record, int) else record.size
        if isinstance(record, SampleForm):
            converter.samples.add(number)
        self._stream.add_rings(number, record, maps)
        self._rings[number] = record, maps

    def _converter_of_records(self) -> RecordConverter:
        from events.bpf_records import RecordConverter  # and numpy, which sessions of tracefs events need later

        if self._converter is None:
            self._converter = RecordConverter(self.header)
        return self._converter

    def remove_rings(self, number: int) -> None:
        self._rings.pop(number, None)
        self._stream.remove_rings(number)

    @contextlib.contextmanager
    def released(self) -> Iterator[None]:
        """Close the stream inside, and open it again; what it has read must have been taken, or is lost.

        The reader waits meanwhile. Raises FileRefused, TargetLost.
        """
        if self._again is None:
            yield
            return
        with self._changed:
            self._is_released = True
            self._changed.wait_for(lambda: not self._is_reading)
        try:
            self._stream.close()
            yield
        finally:
            self._open_again(self._again)

    def _open_again(self, again: Callable[[], Stream]) -> None:
        try:
            self._stream = again()
            for number, (record, maps) in self._rings.items():
                self._stream.add_rings(number, record, maps)
        except KernelError as error:
            self._error = error  # the reader raises it
        finally:
            with self._changed:
                self._is_released = False
                self._changed.notify_all()

    def close(self) -> None:
        self._stream.close()
