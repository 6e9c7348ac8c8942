"""The end that a signal asks for: once, and not in the midst of what has to be whole."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


class Stopped(Exception):
    """Somebody asked the process to end."""


class _Held:
    """Whether a signal has to wait, and whether one does."""

    on = False
    late = False


@contextlib.contextmanager
def whole() -> Iterator[None]:
    """A signal that comes inside ends a `stoppable` block after it, so that nothing is taken by half.

    A second one ends it at once: whoever reads what is printed may have stopped reading.
    """
    _Held.on = True
    try:
        yield
    finally:
        _Held.on = False
        late, _Held.late = _Held.late, False
    if late:
        stoppable.ignore()
        raise Stopped


class stoppable:  # noqa: N801 - used as a with statement
    """SIGINT, SIGTERM and SIGHUP end the block by `Stopped`, once: from then on the probes are taken away."""

    _SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __enter__(self) -> None:
        def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as `signal` calls it
            if _Held.on and not _Held.late:
                _Held.late = True
                return
            _Held.late = False
            self.ignore()
            raise Stopped

        for number in self._SIGNALS:
            signal.signal(number, stop)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> bool:
        self.ignore()  # a signal must not cut short what follows
        return kind is Stopped

    @classmethod
    def ignore(cls) -> None:
        """No such signal counts any more."""
        for number in cls._SIGNALS:
            signal.signal(number, signal.SIG_IGN)
