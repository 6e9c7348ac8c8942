"""Start a program on a target, and hold it until its calls are traced."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Sequence
from typing import Final

from kernel.errors import TargetUnusable
from kernel.target import Target

_SCRIPT: Final = 'echo $$; read -r _ || exit; exec "$@" </dev/null 2>&1'
"""Shell that says its process, and becomes the program at the end of a line."""
_PATIENCE: Final = 2.0
"""Seconds that the output of a program that has ended is waited for; a process that it left may hold it open."""


class HeldProgram:
    """Program that has a process already, and runs from `release` on. Its output goes to standard error of ours."""

    def __init__(self, target: Target, words: Sequence[str]) -> None:
        """Start it on the machine of a target; over SSH as the user who has logged in. Raises TargetUnusable."""
        start = getattr(target, "start", None)
        if start is None:
            raise TargetUnusable(f"{target.name}: no program can be started there")
        try:
            self._process: subprocess.Popen[bytes] = start(["sh", "-c", _SCRIPT, "sh", *words])
        except OSError as error:
            raise TargetUnusable(f"{target.name}: no program can be started there ({error.strerror})") from None
        self._copier: threading.Thread | None = None
        line = self._process.stdout.readline(32) if self._process.stdout else b""
        if not line.strip().isdigit():
            self.close()
            raise TargetUnusable(f"{target.name}: no program can be started there")
        self.pid = int(line)
        """Process of the program, on its machine."""

    @property
    def has_ended(self) -> bool:
        """True once the program has ended."""
        return self._process.poll() is not None

    def release(self) -> None:
        """Let the program run."""
        self._copier = threading.Thread(target=self._copy_output, daemon=True, name="program output")
        self._copier.start()
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(b"\n")

    def close(self) -> None:
        """End the program, if it runs on this machine, and leave it else."""
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        if not self.has_ended:
            self._process.terminate()
        self._process.wait()
        if self._copier is not None:
            self._copier.join(_PATIENCE)  # what the program has written is shown first
        elif self._process.stdout is not None:
            self._process.stdout.close()

    def _copy_output(self) -> None:
        output = self._process.stdout
        with contextlib.suppress(OSError, ValueError), output or contextlib.nullcontext():
            while data := output.read(1 << 16) if output is not None else b"":
                os.write(2, data)
