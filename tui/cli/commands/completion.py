"""`probewright completion SHELL`: print a completion script for a shell."""

from __future__ import annotations

import argparse

from tui.cli.args.completion_scripts import SCRIPTS
from tui.cli.args.grammar import commands


def run(arguments: argparse.Namespace) -> int:
    print(SCRIPTS[arguments.shell](commands()), end="")
    return 0
