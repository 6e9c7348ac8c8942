"""`probewright list [PATTERN]`: functions and what can attach to them."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence

from btf.search import Search
from kernel.attaching import Attaching
from probes.attaching.reasons import Attachability
from probes.probe import Kind
from tui.cli.main import DONE, REFUSED
from tui.cli.output import connect, json_line, plain
from tui.cli.waiting import waiting

_KINDS: dict[frozenset[Kind], tuple[str, ...]] = {}
"""Their letters in order; there are few different sets."""


def run(arguments: argparse.Namespace) -> int:
    gc.disable()  # nearly all that is made here stays until the end
    connection = connect(arguments.target)
    try:
        with waiting("reading functions and types"):
            names = connection.catalog.names
        if arguments.pattern:
            hits: Sequence[int] = Search(names).find(arguments.pattern).indices
        else:
            hits = range(len(names))
        if not hits:
            print(f"probewright: {_nothing(arguments.pattern if names else '')}", file=sys.stderr)
        attaching = Attaching(connection)
        if hits and attaching.near:
            with waiting("reading symbols"):
                attaching.about(names[hits[0]])  # the reasons are exact from here on
        wanted = [names[index] for index in hits[: arguments.limit or len(hits)]]
        line_of = _json if arguments.json else _text
        sys.stdout.writelines(map(line_of, connection.catalog.attachabilities(wanted)))
        return DONE if hits else REFUSED
    finally:
        connection.close()
        gc.enable()


def _kinds(kinds: frozenset[Kind]) -> tuple[str, ...]:
    return _KINDS.get(kinds) or _KINDS.setdefault(kinds, tuple(sorted(map(str, kinds))))


def _json(about: Attachability) -> str:
    """Return the line of a function as JSON."""
    value = {
        "name": about.name,
        "module": about.module,
        "kinds": _kinds(about.kinds),
        "reason": about.text or None,
    }
    return f"{json_line(value)}\n"


def _text(about: Attachability) -> str:
    """Return the line of a function for people."""
    where = f"  [{about.module}]" if about.module else ""
    return plain(f"{about.name:<48} {' '.join(_kinds(about.kinds)) or '-':<6}{where}  {about.text}".rstrip()) + "\n"


def _nothing(pattern: str) -> str:
    """Why there is no line; without a pattern there is no function at all."""
    if not pattern:
        return "no functions can be read here; `doctor` says why"
    return f"no function has {plain(pattern)} in its name"
