"""Hold one monitor: its samples come by the reader of BPF ring buffers, and there is nothing of it in the kernel."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from typing import Final

from kernel.bpf.loaded import ProgramCounts
from kernel.bpf.ring_stream import ConvertedStream
from kernel.errors import FileRefused, KernelError, TargetUnusable
from kernel.target import RingMap, SampleForm
from probes.bpf.program import ProgramMode
from probes.plans.plan import Plan
from probes.plans.sampled_number import SampledNumber

_NO_PYTHON: Final = "the remote host needs python3 for monitors"


class LoadedMonitor:
    """Samples of the number of one plan, which are not taken at first."""

    def __init__(self, stream: ConvertedStream, plan: Plan, event: int, numbers: Iterator[int]) -> None:
        """Take a plan of a monitor.

        Args:
            stream: reader of the session.
            plan: the plan.
            event: id of its event.
            numbers: numbers for its buffers.
        """
        assert plan.sampled is not None  # noqa: S101
        self._stream, self._path = stream, plan.events[0].path
        self._forms = {next(numbers): one for one in forms_of(plan.sampled, event)}
        self._is_on = False

    @property
    def rings(self) -> tuple[int, ...]:
        """Numbers of its buffers."""
        return tuple(self._forms)

    def switch(self, mode: ProgramMode) -> None:
        """Take samples, or none. Raises FileRefused, TargetUnusable, TargetLost: none are taken."""
        is_on = mode is ProgramMode.RECORD
        if is_on == self._is_on:
            return
        if not is_on:
            self.close()
            return
        try:
            for number, (cpu, form) in self._forms.items():
                self._is_on = True
                self._stream.add_rings(number, form, (RingMap(cpu, 0, 0),))
        except FileRefused as error:
            self.close()
            if error.errno == errno.ENOSYS:
                raise TargetUnusable(f"no number is sampled: {_NO_PYTHON}") from None
            raise

    def counts(self) -> dict[str, ProgramCounts]:
        """Return no counts: the samples themselves tell of those that were missed."""
        return {self._path: ProgramCounts(0, 0, {}, 0, 0)}

    def close(self) -> None:
        """Take no more samples."""
        if self._is_on:
            self._is_on = False
            for number in self._forms:
                with contextlib.suppress(KernelError):
                    self._stream.remove_rings(number)


def forms_of(number: SampledNumber, event: int) -> list[tuple[int, SampleForm]]:
    """Return the CPU that samples are told of, and their form, for each buffer."""
    if number.file is not None:
        return [(0, SampleForm(number, event))]
    if number.is_summed:
        return [(0, SampleForm(number, event, tuple(base for _, base in number.bases)))]
    return [(cpu, SampleForm(number, event, (base,))) for cpu, base in number.bases]
