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
            errors = leftovers.remove(connection.target, leftover)
            failed |= bool(errors)
            if arguments.json:
                emit({"group": leftover.group, "removed": not errors, "errors": list(errors)})
            else:
                print(plain(f"{leftover.group}: {'; '.join(errors) if errors else 'removed'}"))
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
