"""An event of a program (`probewright_events`) while nobody listens: a write beside an empty function call."""

from __future__ import annotations

import functools
import timeit
from collections.abc import Iterable

import probewright_events
from probewright_events import Event
from tests.bench._measure import Figure, Part, Row, Timer, interleaved

CALLS = 100_000
WRITE = Figure("write(2 values) / the call of an empty function", "x", most=2, digits=2)
LOOK = Figure("`if event.enabled:` / the call of an empty function", "x", most=2, digits=2)


def _timer(statement: str, **names: object) -> Timer:
    clock = timeit.Timer(statement, globals=names)
    return functools.partial(clock.timeit, CALLS)


def unheard() -> Iterable[Row]:
    """Seconds of so many calls; the kernel would set the bit that is looked at, in the same memory, and does not."""
    event = Event("bench", "u64 length", "__rel_loc char[] path")
    event._word = probewright_events._process.take_slot().word

    def empty(*values: object) -> bool:
        return False

    call, write, look = interleaved(
        _timer("empty(1, 'a')", empty=empty),
        _timer("write(1, 'a')", write=event.write),
        _timer("if event.enabled: pass", event=event),
    )
    for figure, ours in ((WRITE, write), (LOOK, look)):
        yield figure.of(ours.over(call), f"{ours.median / CALLS * 1e9:.0f} ns beside {call.median / CALLS * 1e9:.0f}")


PARTS = (Part("unheard", (WRITE, LOOK), unheard),)
