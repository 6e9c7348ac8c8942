"""Send events to a collector by OTLP/HTTP, in batches bounded in bytes and age, with retries where they may help.

A thread of its own sends. While a collector is unreachable, log records wait, up to a bound in bytes; later ones are
dropped, and counted apart from rejected and abandoned ones. The events are never held up.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from events.export.formats.otlp import Encoder
from events.record import Record
from foreign.count_text import counted
from tui.output.otlp_http import OtlpAnswer, OtlpHttp
from tui.output.otlp_settings import Settings
from tui.output.sink import Sink, SinkReport

Wall = Callable[[int], int | None]
"""Nanoseconds of the trace clock -> nanoseconds since 1970; None: unknown."""

_SILENCE = 30.0
"""Seconds between two messages about dropped events."""


class OtlpBounds(NamedTuple):
    """Bounds of memory and time."""

    batch: int = 512 << 10
    """Bytes of log records that make a batch full, before compression."""
    age: float = 1.0
    """Seconds until a partial batch is sent."""
    max_bytes: int = 16 << 20
    """Bytes of log records that may wait."""
    first: float = 1.0
    """Seconds until the first retry of a batch; doubled each time, plus or minus half."""
    most: float = 30.0
    """Longest time between two retries in seconds, unless the collector asks for more."""
    max_age: float = 300.0
    """Seconds until a batch is abandoned."""
    finish: float = 10.0
    """Seconds for sending the rest at the end."""


class _Batch(NamedTuple):
    records: list[bytes]
    size: int
    began: float


class OtlpSink(Sink):
    """Sink that sends log records to a collector from a thread of its own."""

    def __init__(
        self,
        http: OtlpHttp,
        encoder: Encoder,
        settings: Settings,
        wall: Wall = lambda _: None,
        bounds: OtlpBounds = OtlpBounds(),  # noqa: B008 - frozen
        say: Callable[[str], None] = lambda text: print(text, file=sys.stderr),
    ) -> None:
        """Start the thread.

        Args:
            http: connection to the collector.
            encoder: makes log records of events.
            settings: settings of the connection.
            wall: converts the time of an event.
            bounds: bounds of memory and time.
            say: receives messages about obstacles, from the sending thread; the text may hold foreign words.
        """
        self.sent = 0
        """Events that the collector accepted."""
        self.rejected = 0
        self.abandoned = 0
        self.overfull = 0
        """Events dropped for lack of room."""
        self._http = http
        self._encoder = encoder
        self._settings = settings
        self._wall = wall
        self._bounds = bounds
        self._say = say
        self._reported_at = -_SILENCE
        self._last_reason = ""
        """Last obstacle."""
        self._is_unreachable = False
        """True after it was reported that the collector does not accept events."""
        self._not_before = 0.0
        """Time until which the collector asked for no requests, by time.monotonic()."""
        self._new = threading.Condition()
        self._open: list[bytes] = []
        self._open_size, self._open_since = 0, 0.0
        self._held = 0
        self._ready: deque[_Batch] = deque()
        self._sending: _Batch | None = None
        self._end: float | None = None
        """Time at which everything must be over, by time.monotonic()."""
        self._thread = threading.Thread(target=self._run, name="otlp", daemon=True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        """Number of events that the collector did not get."""
        return self.rejected + self.abandoned + self.overfull

    @property
    def omitted(self) -> int:
        return self.dropped

    @property
    def notes(self) -> tuple[str, ...]:
        because = f": {self._last_reason}" if self._last_reason else ""
        held = f"{self._bounds.max_bytes >> 20} MiB"
        told = (
            (self.overfull, f"dropped: the collector was away or too slow, and {held} waited{because}"),
            (self.rejected, f"dropped: the collector refused them{because}"),
            (self.abandoned, f"dropped: not sent in time{because}"),
        )
        return tuple(f"{counted(number, 'event')} {text}" for number, text in told if number)

    def take(self, record: Record) -> None:
        data = self._encoder.record(record, self._wall(record.ts), time.time_ns())
        with self._new:
            if self._held + len(data) > self._bounds.max_bytes:
                self.overfull += 1
                return
            if not self._open:
                self._open_since = time.monotonic()
                self._new.notify()
            self._open.append(data)
            self._open_size += len(data)
            self._held += len(data)
            if self._open_size >= self._bounds.batch:
                self._close_batch()

    def idle(self) -> None:
        """Skip: the thread watches the time by itself."""

    def finish(self) -> None:
        with self._new:
            self._end = time.monotonic() + self._bounds.finish
            self._close_batch()
            self._new.notify()
        self._thread.join(self._bounds.finish)
        if self._thread.is_alive():
            self._http.abort()
            self._thread.join(1.0)
        self._drop_the_rest()
        self._http.close()

    def discard(self) -> None:
        with self._new:
            self._end = time.monotonic()
            self._new.notify()
        self._http.abort()
        self._thread.join(1.0)

    def report(self) -> SinkReport:
        values: dict[str, str | int] = {
            "url": self._settings.url_text,
            "format": "otlp",
            "events": self.sent,
            "dropped": self.dropped,
        }
        return SinkReport(
            f"{self._settings.url_text}: {counted(self.sent, 'event')}",
            values,
            failed=bool(self.dropped and not self.sent),
        )

    def _drop_the_rest(self) -> None:
        """Count the records that will not be sent; the thread may hang in a request."""
        with self._new:
            late, self._sending = self._sending, None
            waiting = [*([late] if late else []), *self._ready]
            self.abandoned += sum(len(batch.records) for batch in waiting)
            self._ready.clear()
            self._held = 0

    def _close_batch(self) -> None:
        if self._open:
            self._ready.append(_Batch(self._open, self._open_size, time.monotonic()))
            self._open, self._open_size = [], 0
            self._new.notify()

    # -- the thread that sends -----------------------------------------------------------------------------------

    def _run(self) -> None:
        while (batch := self._next()) is not None:
            self._deliver(batch)

    def _next(self) -> _Batch | None:
        """Return the next batch, when it is full or old enough; None: the sink has ended."""
        with self._new:
            while not self._ready:
                if self._end is not None:
                    return None
                left = self._open_since + self._bounds.age - time.monotonic() if self._open else None
                if left is not None and left <= 0:
                    self._close_batch()
                else:
                    self._new.wait(left)
            self._sending = self._ready.popleft()
            return self._sending

    def _deliver(self, batch: _Batch) -> None:
        packed = self._http.packed(self._encoder.request(batch.records))
        pause, answer = self._bounds.first, OtlpAnswer(False, can_retry=True, reason=self._last_reason)
        while self._wait_to_send(batch):
            answer = self._http.post(packed, max(0.1, min(self._settings.timeout, self._time_left(batch))))
            if answer.is_accepted or not answer.can_retry:
                break
            self._last_reason = answer.reason
            wait = 0.0 if answer.wait else min(pause, self._bounds.most) * _jitter()
            self._not_before = time.monotonic() + (answer.wait or 0.0)
            if wait >= self._time_left(batch):
                break
            if not self._is_unreachable:
                self._is_unreachable = True
                self._say(f"{self._settings.url_text}: {answer.reason}; it is tried again")
            self._sleep(wait)
            pause *= 2
        self._settle(batch, answer)

    def _wait_to_send(self, batch: _Batch) -> bool:
        """Wait as long as the collector asked for, for any batch; return False if this one is abandoned before."""
        until = min(self._not_before, batch.began + self._bounds.max_age)
        with self._new:
            while (left := until - time.monotonic()) > 0:
                if self._end is not None and self._end <= self._not_before:
                    return False
                self._new.wait(left)
        return self._not_before <= time.monotonic()

    def _settle(self, batch: _Batch, answer: OtlpAnswer) -> None:
        """Count the records of a finished batch."""
        number = len(batch.records)
        with self._new:
            if self._sending is None:  # it was counted already
                return
            self._sending = None
            self._held -= batch.size
            if answer.is_accepted:
                rejected = min(answer.rejected, number)
                self.sent += number - rejected
                self.rejected += rejected
                number = rejected
            elif answer.can_retry:
                self.abandoned += number
            else:
                self.rejected += number
        if answer.reason:
            self._last_reason = answer.reason
        if number and (not answer.is_accepted or answer.rejected):
            why = answer.reason or "no reason was given"
            self._report_drops(f"{self._settings.url_text}: {counted(number, 'event')} dropped: {why}")
        elif self._is_unreachable:
            self._is_unreachable = False
            self._say(f"{self._settings.url_text}: takes events again")

    def _time_left(self, batch: _Batch) -> float:
        now = time.monotonic()
        left = batch.began + self._bounds.max_age - now
        return left if self._end is None else min(left, self._end - now)

    def _sleep(self, seconds: float) -> None:
        """Wait, but no longer than the end allows."""
        until = time.monotonic() + seconds
        with self._new:
            while (left := until - time.monotonic()) > 0 and (self._end is None or self._end > until):
                self._new.wait(left)

    def _report_drops(self, text: str) -> None:
        """Report dropped records, but rarely, and not at the end, where the totals are printed."""
        now = time.monotonic()
        if self._end is None and now - self._reported_at >= _SILENCE:
            self._reported_at = now
            self._say(text)


def _jitter() -> float:
    return random.uniform(0.5, 1.5)  # noqa: S311 - no secret
