"""The kernel's side of events and ours: a stream that is held back while the kernel prints the same buffer."""

from __future__ import annotations

import re
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest

from events.batch import Batch
from events.text import parse_line
from kernel.lab.guest import Guest
from kernel.remote.target import RemoteTarget
from kernel.session.session import Session
from kernel.target import AnyRecord, Effect, RingMap, Step, Stream
from kernel.watch.watch import Watch
from tests.real.processes import PATIENCE, until


class Event(NamedTuple):
    """One event as both sides tell it."""

    stamp: int
    """Microseconds."""
    cpu: int
    pid: int
    comm: str
    text: str


class Held:
    """A stream that takes nothing out of the buffers until it is let go."""

    def __init__(self, begin: Callable[[], Stream]) -> None:
        self._begin = begin
        self._stream: Stream | None = None
        self._free = threading.Event()

    def let_go(self) -> None:
        """Begin to read, where it was not done."""
        if self._stream is None:
            self._stream = self._begin()
            self._free.set()

    def read(self, timeout: float) -> Batch | None:
        if not self._free.wait(timeout) or self._stream is None:
            return None
        return self._stream.read(timeout)

    def require_answer(self) -> bool:
        return False

    def add_rings(self, number: int, record: AnyRecord, maps: Sequence[RingMap]) -> None:
        self.let_go()
        if self._stream is not None:
            self._stream.add_rings(number, record, maps)

    def remove_rings(self, number: int) -> None:
        if self._stream is not None:
            self._stream.remove_rings(number)

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()


def hold(target: RemoteTarget, subbuf_kb: int = 0) -> list[Held]:
    """Have the next session's stream held back; it is in the list then."""
    made: list[Held] = []
    stream = target.stream

    def later(instance: str) -> Held:
        if subbuf_kb:
            target.perform(Step(Effect.WRITE, f"{instance}/buffer_subbuf_size_kb", b"%d" % subbuf_kb))
        made.append(Held(lambda: stream(instance)))
        if not target.access.startswith("agent"):  # it has processes of its own, known before anything is armed
            made[-1].let_go()
        return made[-1]

    target.stream = later  # type: ignore[method-assign]
    return made


def read_all(session: Session) -> None:
    """Switch a session off, and have all read that is in its buffers; its remote side has Python."""
    session.target.perform(session.instance.write("tracing_on", "0"))
    _read(session)


def bring_in(watch: Watch) -> None:
    """Have a row for every event that was recorded before this call; hold nothing back."""
    session, store = watch.session, watch.store
    assert isinstance(session, Session) and store is not None
    if session.target.access == "sh":
        _read_text(watch, session, store.next_seq)
    else:
        _read(session)
    latest = None
    while session.pump.wait(0) or watch.intake.unsettled:
        watch.tick()
        if latest is None and not session.pump.wait(0) and not watch.intake.has_backlog:
            latest = store.latest
        if latest is not None and store.next_seq and store.record(store.next_seq - 1).ts >= latest:
            break  # what came since is held: reading may hit what is probed, and there is no end
    assert watch.error is None


def _read(session: Session) -> None:
    """Whatever is performed makes a stream ask the remote side before it says that all was read."""
    session.target.perform(session.instance.write("tracing_on", session.instance.read("tracing_on").strip()))
    assert session.pump.settle(PATIENCE)


def _read_text(watch: Watch, session: Session, first: int) -> None:
    """Wait for a line of our own: what was recorded before it stands before it in trace_pipe."""
    mark = f"read until {secrets.token_hex(8)}"
    session.target.perform(session.instance.write("trace_marker", mark))

    def came() -> bool:
        nonlocal first
        watch.tick()
        rows, first = range(first, watch.store.next_seq), watch.store.next_seq
        return any(mark in watch.store.record(seq).text for seq in rows)

    assert until(came)


def kernel_side(guest: Guest, instance: str) -> list[Event]:
    """The kernel's side: `trace` of an instance that is switched off."""
    text = guest.run(f"cat {instance}/trace").decode("utf-8", "backslashreplace")
    found: list[Event] = []
    for line in text.removesuffix("\n").split("\n"):
        parsed = parse_line(line)
        if parsed is not None:
            found.append(Event(parsed.ts // 1000, parsed.cpu, parsed.pid, parsed.comm, parsed.text))
        elif found:  # a string with a line's end in it
            found[-1] = found[-1]._replace(text=f"{found[-1].text}\n{line}")
        elif words := re.search(r"entries-in-buffer/entries-written: (\d+)/(\d+)", line):
            assert words[1] == words[2], "the buffer is too small for the workload"
    return found


def assert_same(ours: Sequence[Event], theirs: Sequence[Event]) -> None:
    """Every event of one side is one of the other; else tells the first few that are not."""
    lacking, surplus = Counter(theirs) - Counter(ours), Counter(ours) - Counter(theirs)
    told = [f"kernel {event}" for event in list(lacking)[:8]] + [f"ours   {event}" for event in list(surplus)[:8]]
    if told:
        told.sort(key=lambda line: line[7:])
        counts = f"{len(theirs)} of the kernel, {len(ours)} of ours, {lacking.total()} and {surplus.total()} differ"
        pytest.fail("\n".join([counts, *told]), pytrace=False)
