"""`probewright clean`: remove what a session that died has left in the kernel; living ones are never touched."""

from __future__ import annotations

import argparse

from kernel import leftovers
from kernel.connection import Connection
from kernel.errors import TargetUnusable
from tui.cli.main import DONE, REFUSED
from tui.cli.output import connect, emit, plain


def run(arguments: argparse.Namespace) -> int:
    connection = connect(arguments.target)
    try:
        failed = False
        _require_tracefs(connection)
        found = leftovers.find(connection.target)
        for leftover in found:
            left_alone: list[str] = []
            errors = leftovers.remove(connection.target, leftover, left_alone.append)
            failed |= bool(errors)
            if arguments.json:
                told = {"left_alone": left_alone} if left_alone else {}
                emit({"group": leftover.group, "removed": not errors, "errors": list(errors), **told})
            else:
                print(plain(f"{leftover.group}: {'; '.join([*(errors or ['removed']), *left_alone])}"))
        if not found and not arguments.json:
            print("nothing was left behind")
        return REFUSED if failed else DONE
    finally:
        connection.close()


def _require_tracefs(connection: Connection) -> None:
    """Where nobody can look, nobody can say that nothing is there. Raises TargetUnusable."""
    facts = connection.facts
    if connection.target.owner and not facts.readme:
        what, remedy = next(((t.what, t.remedy) for t in facts.troubles if t.fatal), ("tracefs cannot be read", ""))
        raise TargetUnusable(f"{connection.target.name}: {what}", remedy, facts.troubles)
