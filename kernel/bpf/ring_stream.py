"""Read BPF ring buffers with the ring buffers of a trace instance, as sub-buffers that all other readers know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from events.batch import Batch
from events.format import HeaderPage
from kernel.target import RecordForm, RingMap, Stream

if TYPE_CHECKING:
    from events.bpf_records import RecordConverter


class ConvertedStream:
    """Stream of a trace instance, with records of BPF programs as its events; a `kernel.target.Stream`."""

    def __init__(self, stream: Stream) -> None:
        self.header = HeaderPage()
        """Layout of the sub-buffers; set before the first ring buffer is added."""
        self._stream = stream
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
        batch = self._stream.read(timeout)
        return self._converter.converted(batch) if batch is not None and self._converter is not None else batch

    def lost(self, number: int) -> dict[int, int]:
        """Return the records of a ring buffer that were lost, by CPU, as far as later records tell."""
        return self._converter.lost(number) if self._converter is not None else {}

    def require_answer(self) -> bool:
        return self._stream.require_answer()

    def add_rings(self, number: int, record: int | RecordForm, maps: Sequence[RingMap]) -> None:
        from events.bpf_records import RecordConverter  # and numpy, which sessions of tracefs events need later

        if self._converter is None:
            self._converter = RecordConverter(self.header)
        self._converter.sizes[number] = record if isinstance(record, int) else record.size
        self._stream.add_rings(number, record, maps)

    def remove_rings(self, number: int) -> None:
        self._stream.remove_rings(number)

    def close(self) -> None:
        self._stream.close()
