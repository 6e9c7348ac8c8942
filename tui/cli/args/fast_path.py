"""Fast path for a command line that is empty or holds a lone target, as most people start the application.

argparse would take a tenth of the time to the first picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

_WORDS = "list show check run record graph errors refs compare preset export boot write doctor clean lab completion"
COMMANDS = tuple(_WORDS.split())


def parse_simple(words: Sequence[str]) -> SimpleNamespace | None:
    """Return the namespace that `tui.cli.args.parser.parse` would return; None: the words need the full parser."""
    if len(words) > 1 or (words and (words[0].startswith("-") or words[0] in COMMANDS)):
        return None
    return SimpleNamespace(command="app", recording=words[0] if words else None, target="auto")
