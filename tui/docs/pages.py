"""Table of the pages of `docs/` that are generated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tui.docs.commands import reference
from tui.docs.errors import errors
from tui.docs.keys import keys
from tui.docs.manpage import manpage

PAGES: Final[dict[str, Callable[[], str]]] = {
    "keys.md": keys,
    "errors.md": errors,
    "commands.md": reference,
    "probewright.1": manpage,
}
"""Function that generates a page, by file name."""
