"""Count the calls of many functions for a moment, each by itself."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence

from kernel.bpf import calls
from kernel.bpf.calls import MapType
from kernel.target import Target
from probes.bpf.hit_counter import HIT_BYTES, count_hits
from probes.bpf.instructions import MapRole, encode


def count_calls(target: Target, functions: Sequence[str], seconds: float) -> dict[str, float]:
    """Return the calls a second of functions that were called, the most frequent first.

    Raises BpfRefused, FileRefused, TargetLost: nothing is left of it.
    """
    size, files = HIT_BYTES * len(functions), list[int]()
    try:
        files.append(calls.create_map(target, MapType.ARRAY, 4, size, 1, "pw_hits"))
        code = encode(count_hits(len(functions)), {MapRole.HITS: files[0]})
        files.append(calls.load_program(target, code, "pw_hits"))
        files.append(calls.attach(target, files[1], functions, numbered=True))
        start = time.monotonic()
        before = calls.read_element(target, files[0], 0, size)
        time.sleep(seconds)
        after = calls.read_element(target, files[0], 0, size)
        took = time.monotonic() - start
    finally:
        target.close_bpf([*reversed(files)])
    numbers = [struct.unpack(f"<{len(functions)}Q", data) for data in (before, after)]
    rates = {name: (late - early) / took for name, early, late in zip(functions, *numbers, strict=True)}
    return dict(sorted(((name, rate) for name, rate in rates.items() if rate), key=lambda one: -one[1]))
