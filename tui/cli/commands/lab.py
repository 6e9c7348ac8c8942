"""`probewright lab`: run the application on a disposable virtual machine."""

from __future__ import annotations

import argparse

from tui.cli.commands import app as application


def run(arguments: argparse.Namespace) -> int:
    arguments.target = f"lab:{arguments.kernel}"
    return application.run(arguments)
