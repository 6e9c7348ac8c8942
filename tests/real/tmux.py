"""A terminal that a person could sit at: tmux with a server of its own."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.real.processes import PATIENCE, children, until

TOP = Path(__file__).parents[2]


class Tmux:
    """One program in one window; use it in a with block."""

    def __init__(self, command: Sequence[str], columns: int = 120, rows: int = 40) -> None:
        self._server = f"probewright-{os.getpid()}-{secrets.token_hex(4)}"
        # Without the size that pytest tells its children. tmux itself now and then forgets to ask how a child ended.
        script = [
            "env",
            "-u",
            "COLUMNS",
            "-u",
            "LINES",
            "sh",
            "-c",
            '"$@"; echo "[ended $?]"; read -r x',
            "sh",
            *command,
        ]
        self._tmux(
            *("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(TOP)),
            f"exec {shlex.join(script)}",
        )
        shell = int(self._tmux("display-message", "-p", "#{pane_pid}"))
        assert until(lambda: children(shell)), self.screen()
        self.pid = children(shell)[0]
        """Of the program."""

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names: `Enter`, `C-q`, `a`."""
        for key in keys:
            self._tmux("send-keys", key)

    def screen(self) -> str:
        """What stands on the screen now."""
        return self._tmux("capture-pane", "-p")

    def wait(self, seen: Callable[[str], object], seconds: float = PATIENCE) -> str:
        """The screen, once `seen` says yes to it. Raises TimeoutError with the last one."""
        end = time.monotonic() + seconds
        while True:
            screen = self.screen()
            if seen(screen):
                return screen
            if time.monotonic() > end:
                raise TimeoutError(screen)
            time.sleep(0.15)  # each look starts a tmux

    def status(self, seconds: float = PATIENCE) -> int:
        """Exit status of the program, once it has ended. Raises TimeoutError."""
        return int(re.findall(r"\[ended (\d+)\]", self.wait(lambda screen: "[ended " in screen, seconds))[-1])

    def close(self) -> None:
        """End the server, and with it the program. Safe to call twice."""
        subprocess.run(["tmux", "-L", self._server, "kill-server"], capture_output=True, check=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(["tmux", "-u", "-L", self._server, *words], capture_output=True, check=True)
        return done.stdout.decode("utf-8", "replace")
