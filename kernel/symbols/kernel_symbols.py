"""Read the symbols of a kernel when first asked for, and keep those of its earlier boots, which moved functions."""

from __future__ import annotations

import contextlib
import errno
import threading
from functools import cached_property
from typing import TYPE_CHECKING

from events.names.kallsyms import Symbols
from events.names.kallsyms_table import require_symbol_table
from events.recording.reader import RecordingError
from foreign.refusal import InputRefusal
from kernel.errors import FileRefused, KernelError, TargetLost

if TYPE_CHECKING:
    from kernel.target import Target


_OTHER_BOOTS = 4
"""Most boots before or after `KernelSymbols.boot` whose symbols are in memory, the latest: some 10 MB each."""


class KernelSymbols:
    """Names of the kernel's addresses by boot of the machine, or of what a recording has of it."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._loaded = self._lost = self._wanted = False
        self._loading = threading.Lock()
        self.are_read = False
        """`load` has read them, or seen that the kernel hides them."""
        self.boot = target.recording.boot if target.recording is not None else 0
        """Number of the boot that `current` is of: how often the machine was seen to reboot; of a recording, its
        first."""
        self._other_boots: dict[int, Symbols] = {}
        """Symbols of other boots, as far as they were read then, or recorded."""

    @cached_property
    def current(self) -> Symbols | None:
        """Symbols of the present boot, read at the first look; None where the kernel hides them."""
        self._lost = False
        try:
            return Symbols.parse(self.kallsyms(self.boot)) or None
        except TargetLost:
            self._lost = True
        except KernelError:
            pass
        return None

    @property
    def loaded(self) -> Symbols | None:
        """Symbols of the present boot, where `load` was called already; for who must not wait."""
        return self.current if self._loaded else None

    def load(self, *, by_name: bool = True) -> None:
        """Read the symbols now, so that nobody has to wait for them later; for a worker.

        `by_name`: with their index of names (10 MB), which who looks for addresses alone does without.
        """
        with self._loading:
            self._load(by_name)

    def _load(self, by_name: bool) -> None:
        if self._lost:  # with an earlier connection
            self.__dict__.pop("current", None)
        if self.current is not None:
            self.current.prepare()
            if by_name:
                self.current.named("_text")  # makes the index
            self._loaded = True
        for boot in self.recorded_boots:
            if (symbols := self.of(boot)) is not None:
                symbols.prepare()
        self.are_read = True

    def begin_boot(self, boot: int) -> None:
        """Begin a boot, which moves functions: symbols are read again when asked for, and earlier ones name what was
        recorded before.
        """
        if boot != self.boot and (earlier := self.loaded) is not None:
            self._keep(self.boot, earlier)
        self.boot, self._wanted = boot, self._wanted or self.are_read
        self._loaded = self.are_read = False
        self.__dict__.pop("current", None)

    def renew(self) -> None:
        """Read the symbols of a new boot if those of an earlier boot were read; for a worker."""
        if self._wanted and not self._loaded:
            self.load(by_name=False)

    def of(self, boot: int | None) -> Symbols | None:
        """Return the symbols of a boot, read where they were not yet; None: unknown, or of several boots."""
        if boot is None or boot == self.boot:
            return self.current if boot is not None else None
        if boot not in self._other_boots and boot in self.recorded_boots:
            self._keep(boot, Symbols.parse(self.kallsyms(boot)))
        return self._other_boots.get(boot)

    def loaded_of(self, boot: int | None) -> Symbols | None:
        """Return the symbols of a boot, where they were read; for who must not wait."""
        return self.loaded if boot == self.boot else self._other_boots.get(-1 if boot is None else boot)

    def kallsyms(self, boot: int) -> bytes:
        """Return /proc/kallsyms of the present boot, or as recorded in another. Raises FileRefused, TargetLost."""
        recording = self._target.recording
        if boot == self.boot or recording is None:
            data = self._target.read("/proc/kallsyms")
            _require_table(data)
            return data
        with contextlib.suppress(RecordingError):
            return recording.kallsyms(boot) or b""
        return b""

    @cached_property
    def recorded_boots(self) -> tuple[int, ...]:
        """Boots other than the first whose symbols a recording has, as many as memory may hold."""
        recording = self._target.recording
        boots = recording.boots_with_symbols if recording is not None else ()
        return tuple(boot for boot in boots if boot != self.boot)[-_OTHER_BOOTS:]

    def _keep(self, boot: int, symbols: Symbols) -> None:
        self._other_boots[boot] = symbols
        for oldest in sorted(self._other_boots)[:-_OTHER_BOOTS]:
            del self._other_boots[oldest]


def _require_table(data: bytes) -> None:
    """Check the symbols of a running kernel. Raises FileRefused: they are beyond every kernel."""
    try:
        require_symbol_table(data, "")
    except InputRefusal as error:
        raise FileRefused("/proc/kallsyms", errno.EFBIG) from error
