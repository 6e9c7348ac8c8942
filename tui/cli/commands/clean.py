"""`probewright clean`: remove what a session that died has left in the kernel; living ones are never touched."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from kernel.cleanup import leftovers
from kernel.connection.planner import Connection
from kernel.errors import SettingChanged, TargetUnusable
from tui.cli.console.output import connect, emit, plain, require_line
from tui.cli.status import DONE, REFUSED


def run(arguments: argparse.Namespace) -> int:
    connection = connect(arguments.target)
    try:
        failed = False
        unheard: BrokenPipeError | None = None
        _require_tracefs(connection)
        found = leftovers.find(connection.target)
        for leftover in found:
            left_alone: list[SettingChanged] = []
            errors = leftovers.remove(connection.target, leftover, left_alone.append)
            failed |= bool(errors)
            try:
                _tell(leftover.group, errors, [*map(str, left_alone)], as_json=arguments.json)
            except BrokenPipeError as error:  # nobody reads it: the others go all the same
                unheard = error
        if not found and not arguments.json:
            print("nothing was left behind")
        if unheard is not None and not failed:
            raise unheard
        require_line(connection)
        return REFUSED if failed else DONE
    finally:
        connection.close()


def _tell(group: str, errors: Sequence[str], left_alone: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        told = {"left_alone": left_alone} if left_alone else {}
        emit({"group": group, "removed": not errors, "errors": list(errors), **told})
    else:
        print(plain(f"{group}: {'; '.join([*(errors or ['removed']), *left_alone])}"))


def _require_tracefs(connection: Connection) -> None:
    """Where nobody can look, nobody can say that nothing is there. Raises TargetUnusable."""
    facts = connection.facts
    if connection.target.is_kernel and not facts.readme:
        what, remedy = next(((t.what, t.remedy) for t in facts.troubles if t.fatal), ("tracefs cannot be read", ""))
        raise TargetUnusable(f"{connection.target.name}: {what}", remedy, facts.troubles)
