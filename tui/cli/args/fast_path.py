"""The words of the command line where there are none or a lone target, as most people start the application.

argparse would take a tenth of the time to a first picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

_WORDS = "list show check run record graph preset export doctor clean lab completion"
COMMANDS = tuple(_WORDS.split())


def plain(words: Sequence[str]) -> SimpleNamespace | None:
    """As `tui.cli.args.parser.parse` would give it; None where that has to read the words."""
    if len(words) > 1 or (words and (words[0].startswith("-") or words[0] in COMMANDS)):
        return None
    return SimpleNamespace(command="app", recording=words[0] if words else None, target="auto")
