"""Read a target's functions and the first rows of a recording in a forked child.

The parent imports the screen meanwhile. Python runs one thread at a time, so a thread that reads a kernel would delay
the first picture by its CPU time. Signatures and everything else come from the parent's own connection, right after.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernel.target import Target
from tui.present.first_row import FirstRows, Preview

_EVENTS, _FUNCTIONS = b"e", b"f"
"""First byte from the child, sent before any reading: whether the target holds events."""


class PreviewReader(threading.Thread):
    """Thread that waits for the child; `preview` is None if the target can't be opened (the connection shows why)."""

    def __init__(self, spec: str) -> None:
        """Fork the child; must be called before any thread was started."""
        super().__init__(name="preview", daemon=True)
        self.preview: Preview | None = None
        self._kind = b""
        self._kind_read = threading.Event()
        self._pipe, writer = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(self._pipe)
            _look(spec, writer)
        os.close(writer)

    @staticmethod
    def suits(spec: str) -> bool:
        """Return True if a target can be read twice at no cost: this machine and files, but no ssh connection or
        guest.
        """
        return not spec.startswith(("ssh://", "lab"))

    def holds_events(self) -> bool:
        """Return True if the target is a recording with events; waits for the child's first byte only."""
        self._kind_read.wait()
        return self._kind == _EVENTS

    def run(self) -> None:
        self._kind = os.read(self._pipe, 1)
        self._kind_read.set()
        with open(self._pipe, "rb") as pipe:
            data = pipe.read()
        os.waitpid(self._child, 0)
        with contextlib.suppress(EOFError, pickle.UnpicklingError):  # the child found nothing to show, or was ended
            target, kernel, names, events = pickle.loads(data)  # noqa: S301 - written by our own child
            self.preview = Preview(target, kernel, tuple(names.split("\n")), events)


def _look(spec: str, writer: int) -> None:
    """Write the first byte, then a preview with its names in one text; never returns."""
    with contextlib.suppress(BaseException):
        if len(os.sched_getaffinity(0)) == 1:
            os.nice(5)  # the parent, which imports the screen, must not wait for the child
        from kernel.connection.open_target import choose

        target = choose(spec).target
        recorded = _has_events(target)
        os.write(writer, _EVENTS if recorded else _FUNCTIONS)
        facts = target.facts()
        names = sorted({line.partition(" ")[0] for line in facts.functions})
        if names:
            rows = _first_rows(target) if recorded else None
            data = pickle.dumps((target.name, facts.title, "\n".join(names), rows))
            while data:
                data = data[os.write(writer, data) :]
    os._exit(0)


def _has_events(target: Target) -> bool:
    """Return whether the target is a recording with events."""
    if target.recording is None:  # a kernel: detected without further imports
        return False
    from kernel.recording.target import holds_events

    return holds_events(target)


def _first_rows(target: Target) -> FirstRows | None:
    """Return the first rows; None if the recording is damaged: opening it reports that."""
    with contextlib.suppress(Exception):
        from tui.present.first_rows import first_rows

        return first_rows(target)
    return None
