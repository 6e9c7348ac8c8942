"""The application without a terminal, played by keys; each picture is taken when the screen shows what it is of."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from pathlib import Path

from textual import events
from textual.pilot import Pilot

from tui.app.app import Probewright
from tui.app.typed_ahead import PAUSE

PATIENCE = 20.0
_WEB_FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
_FAMILY = re.compile(r"font-family: [^;]*;")
_LOCAL_FAMILY = "font-family: 'DejaVu Sans Mono', Menlo, Consolas, monospace;"
_SIZE = "font-size: 20px;"
_SIZE_OF_CELL = "font-size: 20.26px;"
"""Size of letters as wide as a cell, for viewers that do not know `textLength`."""


class Stage:
    """One run of the application at one size."""

    def __init__(self, pilot: Pilot[None], app: Probewright, folder: Path, patience: float = PATIENCE) -> None:
        """Take the folder of the pictures, and how many seconds a scene may take to come."""
        self.app = app
        self._pilot = pilot
        self._folder = folder
        self._patience = patience
        self.saved: list[Path] = []

    async def press(self, *keys: str) -> None:
        """Press keys, after a pause: of one that comes at once it is not known that it was meant as a command."""
        await asyncio.sleep(PAUSE)
        await self._pilot.press(*keys)
        await self._pilot.pause()

    async def type(self, text: str) -> None:
        await self.press(*("space" if letter == " " else letter for letter in text))

    async def paste(self, text: str) -> None:
        """Paste a text into the line that has the keyboard."""
        focused = self.app.screen.focused
        assert focused is not None
        focused.post_message(events.Paste(text))
        await self._pilot.pause()

    async def until(self, holds: Callable[[], object], what: str) -> None:
        """Wait for a condition. Raises TimeoutError."""
        end = time.monotonic() + self._patience
        while not holds():
            if time.monotonic() > end:
                raise TimeoutError(what)
            await self._pilot.pause()
            await asyncio.sleep(0.02)
        await self._pilot.pause()

    async def sees(self, text: str) -> None:
        """Wait until a text is on the screen."""
        await self.until(lambda: text in self.text, f"{text!r} is not on the screen:\n{self.text}")

    @property
    def text(self) -> str:
        """Text on the screen, without its colours."""
        return "\n".join(strip.text for strip in self.app.screen._compositor.render_strips())

    def save(self, name: str) -> None:
        """Take the picture; it loads no font from elsewhere."""
        svg = self.app.export_screenshot(title="probewright", simplify=True)
        svg = _FAMILY.sub(_LOCAL_FAMILY, _WEB_FONT.sub("", svg)).replace(_SIZE, _SIZE_OF_CELL)
        svg = svg.replace("<svg ", '<svg xml:space="preserve" ', 1)  # a run of blanks is one of cells
        path = self._folder / f"{name}.svg"
        path.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n")
        self.saved.append(path)
