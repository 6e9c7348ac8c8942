"""The functions of a target, read by a forked child while the parent imports the screen.

Python runs one thread at a time, so a thread that reads a kernel holds up the first paint by as much as it works. The
child looks at the facts only; signatures and everything else come from the parent's own connection, right after.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import NamedTuple


class Preview(NamedTuple):
    """What the first paint shows."""

    target: str
    kernel: str
    """`Linux 7.2.13 x86-64`."""
    names: tuple[str, ...]
    """Functions that can be traced, sorted."""


class PreviewReader(threading.Thread):
    """Waits for the child; `preview` is None where the target could not be opened (the connection will say why)."""

    def __init__(self, spec: str) -> None:
        """Fork; so this has to be called before any thread was started."""
        super().__init__(name="preview", daemon=True)
        self.preview: Preview | None = None
        self._pipe, writer = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(self._pipe)
            _look(spec, writer)
        os.close(writer)

    @staticmethod
    def suits(spec: str) -> bool:
        """Whether a target can be looked at twice at no cost: this machine and files can, a line or a guest can't."""
        return not spec.startswith(("ssh://", "lab"))

    def run(self) -> None:
        parts = []
        while part := os.read(self._pipe, 1 << 20):
            parts.append(part)
        os.close(self._pipe)
        os.waitpid(self._child, 0)
        head, _, names = b"".join(parts).decode("utf-8", "surrogateescape").partition("\n")
        with contextlib.suppress(ValueError):
            target, kernel = head.split("\0")
            self.preview = Preview(target, kernel, tuple(names.split("\n")))


def _look(spec: str, writer: int) -> None:
    """The child: target and kernel in a line, then the names; never returns."""
    with contextlib.suppress(BaseException):
        os.nice(5)  # it has time: the parent, which imports the screen, must not wait for it
        from kernel.open import choose

        target = choose(spec).target
        facts = target.facts()
        names = sorted({line.partition(" ")[0] for line in facts.functions})
        head = f"{target.name}\0{facts.title}".replace("\n", " ")
        data = "\n".join([head, *names]).encode("utf-8", "surrogateescape") if names else b""
        while data:
            data = data[os.write(writer, data) :]
    os._exit(0)
