"""`probewright lab`: the application on a throw-away machine."""

from __future__ import annotations

import argparse

from tui.cli import app


def run(arguments: argparse.Namespace) -> int:
    arguments.target = f"lab:{arguments.kernel}"
    return app.run(arguments)
