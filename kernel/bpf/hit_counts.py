"""Count the calls of many functions, each by itself, while something else is measured."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence

from events.names.name_pattern import is_address
from kernel.bpf import calls
from kernel.bpf.calls import MapType
from kernel.target import Target
from probes.bpf.instructions import MapRole, encode
from probes.bpf.tracing.hit_counter import HIT_BYTES, count_hits


class CallCounter:
    """Program that counts the calls of functions, until it is closed."""

    def __init__(self, target: Target, functions: Sequence[str]) -> None:
        """Begin to count. Raises BpfRefused, FileRefused, TargetLost: nothing is left of it."""
        self._target = target
        self._functions = functions
        self._size = HIT_BYTES * len(functions)
        self._files: list[int] = []
        try:
            self._files.append(calls.create_map(target, MapType.ARRAY, 4, self._size, 1, "pw_hits"))
            code = encode(count_hits(len(functions)), {MapRole.HITS: self._files[0]})
            self._files.append(calls.load_program(target, code, "pw_hits"))
            for by_address in (False, True):  # a link takes names or addresses
                numbers = [number for number, name in enumerate(functions) if is_address(name) is by_address]
                if numbers:
                    names = [functions[number] for number in numbers]
                    self._files.append(calls.attach(target, self._files[1], names, cookies=numbers))
            self._start, self._before = time.monotonic(), self._read()
        except BaseException:
            self.close()
            raise

    def rates(self) -> dict[str, float]:
        """Return the calls a second of functions that were called, the most frequent first.

        Raises BpfRefused, TargetLost.
        """
        counts, seconds = self._read(), time.monotonic() - self._start
        counted = zip(self._functions, self._before, counts, strict=True)
        rates = {name: (late - early) / seconds for name, early, late in counted if late > early}
        return dict(sorted(rates.items(), key=lambda one: -one[1]))

    def close(self) -> None:
        """Detach and close the program. Raises TargetLost."""
        files, self._files = self._files, []
        self._target.close_bpf([*reversed(files)])

    def _read(self) -> tuple[int, ...]:
        data = calls.read_element(self._target, self._files[0], 0, self._size)
        return struct.unpack(f"<{len(self._functions)}Q", data)
