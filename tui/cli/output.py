"""What the commands print: JSON a line, or text that no foreign string can break."""

from __future__ import annotations

import json
import sys
from typing import Any

from kernel.connection import Connection
from kernel.open import open_target


def connect(spec: str) -> Connection:
    """Open a target for a command; progress goes to standard error where a person watches."""

    def progress(text: str, fraction: float | None = None) -> None:
        if sys.stderr.isatty():
            share = "" if fraction is None else f" {fraction:.0%}"
            print(f"\r\x1b[K{plain(text)}{share}", end="", file=sys.stderr, flush=True)

    connection = Connection(open_target(spec, progress=progress))
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return connection


def emit(value: dict[str, Any]) -> None:
    """One JSON object on a line of its own."""
    print(json.dumps(value, ensure_ascii=True, separators=(",", ":")), flush=True)


def line(text: str) -> str:
    """As `plain`, in one line: a string of the kernel's must not look like an event of its own."""
    return plain(text.replace("\n", "\\n"))


def plain(text: str) -> str:
    """Text without control characters; foreign strings pass here on their way to a terminal."""
    return "".join(ch if ch.isprintable() or ch == "\n" else f"\\x{ord(ch):02x}" for ch in text)
