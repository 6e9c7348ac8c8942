"""`probewright list [PATTERN]`: functions and what can attach to them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from btf.search import Search
from kernel.attaching import Attaching
from tui.cli.main import DONE, REFUSED
from tui.cli.output import connect, emit, plain


def run(arguments: argparse.Namespace) -> int:
    connection = connect(arguments.target)
    try:
        names = connection.catalog.names
        if arguments.pattern:
            hits: Sequence[int] = Search(names).find(arguments.pattern).indices
        else:
            hits = range(len(names))
        if not hits:
            print(f"probewright: {_nothing(arguments.pattern if names else '')}", file=sys.stderr)
        attaching = Attaching(connection)
        if hits and attaching.near:
            attaching.about(names[hits[0]])  # the reasons are exact from here on
        for index in hits[: arguments.limit or len(hits)]:
            function = connection.function(names[index])
            kinds = sorted(str(kind) for kind in function.kinds)
            if arguments.json:
                emit(
                    {
                        "name": function.name,
                        "module": function.module,
                        "kinds": kinds,
                        "reason": function.reason or None,
                    }
                )
            else:
                where = f"  [{function.module}]" if function.module else ""
                print(plain(f"{function.name:<48} {' '.join(kinds) or '-':<6}{where}  {function.reason}".rstrip()))
        return DONE if hits else REFUSED
    finally:
        connection.close()


def _nothing(pattern: str) -> str:
    """Why there is no line; without a pattern there is no function at all."""
    if not pattern:
        return "no functions can be read here; `doctor` says why"
    return f"no function has {plain(pattern)} in its name"
