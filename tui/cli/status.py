"""Exit statuses of the commands, as docs/commands.md lists them; apart, so that a command needs nothing of `main`."""

from typing import Final

DONE: Final = 0
REFUSED: Final = 1
"""The kernel, a bound or a check said no, or nothing was found."""
USAGE: Final = 2
"""Arguments that can't be meant, as argparse has it."""
UNUSABLE: Final = 3
"""A target that can't be opened or used."""
PARTIAL: Final = 4
"""Some of several hosts failed."""
INTERRUPTED: Final = 130
"""A signal came before the command began to arm."""


class UsageFault(Exception):
    """Arguments that can't be used; the text is the reason."""
