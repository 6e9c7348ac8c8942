"""`probewright completion SHELL`: a script that has a shell complete our words."""

from __future__ import annotations

import argparse

from tui.cli.shells import SCRIPTS
from tui.cli.words import commands


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    print(SCRIPTS[arguments.shell](commands()), end="")
    return 0
