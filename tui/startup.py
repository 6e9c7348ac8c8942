"""Opens the target in a thread of its own, so that reading a kernel and importing the screen go side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable

from kernel.connection import Connection


class Opening(threading.Thread):
    """One attempt to open a target; `wait` gives the connection or raises what went wrong."""

    def __init__(self, spec: str, progress: Callable[[str, float | None], None] | None = None) -> None:
        super().__init__(name=f"open {spec}", daemon=True)
        self.spec = spec
        self.cancel = threading.Event()
        """Set it to give up (a guest that boots, a kernel that builds)."""
        self._progress = progress
        self._connection: Connection | None = None
        self._error: Exception | None = None

    def run(self) -> None:
        from kernel.open import open_target

        try:
            connection = Connection(open_target(self.spec, progress=self._progress, cancel=self.cancel))
            if self.cancel.is_set():
                connection.close()
                return
            connection.warm()
            self._connection = connection
        except Exception as error:  # handed to whoever waits
            self._error = error

    def wait(self, timeout: float | None = None) -> Connection | None:
        """The connection; None: not yet (or cancelled). Raises what the attempt raised."""
        self.join(timeout)
        if self._error is not None:
            raise self._error
        return self._connection
