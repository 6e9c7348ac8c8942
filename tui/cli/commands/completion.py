"""`probewright completion SHELL`: a script that has a shell complete our words."""

from __future__ import annotations

import argparse

from tui.cli.args.completion_scripts import SCRIPTS
from tui.cli.args.grammar import commands


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    print(SCRIPTS[arguments.shell](commands()), end="")
    return 0
