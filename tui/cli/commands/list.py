"""`probewright list [PATTERN]`: list functions and the kinds of probe that can attach to them."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence
from functools import cache

from btf.search import Search
from kernel.attach.explain import AttachExplainer
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.program_events import program_events, require_user_events
from probes.attaching.values import ALL, Attachability
from probes.probe import ProbeKind
from tui.cli.console.output import connect, json_line, plain, require_connection
from tui.cli.console.waiting import waiting
from tui.cli.status import DONE, REFUSED
from tui.cli.tables.program_events import is_about_programs, matching, print_row


def run(arguments: argparse.Namespace) -> int:
    gc.disable()  # nearly all objects made here live until the end
    info = connect(arguments.target)
    try:
        if is_about_programs(arguments.pattern):
            return _list_program_events(info, arguments)
        with waiting("reading functions and types"):
            names = info.catalog.names
        if arguments.pattern:
            hits: Sequence[int] = Search(names).find(arguments.pattern).indices
        else:
            hits = range(len(names))
        if not hits:
            print(f"probewright: {_nothing(arguments.pattern if names else '')}", file=sys.stderr)
        attaching = AttachExplainer(info)
        if hits and attaching.near:
            with waiting("reading symbols"):
                attaching.attachability(names[hits[0]])  # from here on the reasons are exact
        wanted = [names[index] for index in hits[: arguments.limit or len(hits)]]
        survey = info.catalog.survey(wanted)
        if arguments.json:
            lines = (_json(survey.attachability(name)) for name in wanted)
        else:  # most functions take every probe and need no reason
            usual, alike = survey.traced, f" {_letters(ALL)}\n"
            lines = (f"{name:<48}{alike}" if name in usual else _text(survey.attachability(name)) for name in wanted)
        sys.stdout.writelines(lines)
        require_connection(info)
        return DONE if hits else REFUSED
    finally:
        info.close()
        gc.enable()


def _list_program_events(info: KernelInfo, arguments: argparse.Namespace) -> int:
    """Print the events that programs have registered; REFUSED where there is none."""
    require_user_events(info)
    found = matching(program_events(info), arguments.pattern)
    for event in found[: arguments.limit or len(found)]:
        print_row(event, json=arguments.json)
    if not found:
        print("probewright: no program has registered such an event", file=sys.stderr)
    require_connection(info)
    return DONE if found else REFUSED


@cache  # few sets differ
def _letters(kinds: frozenset[ProbeKind]) -> str:
    return " ".join(sorted(map(str, kinds))) or "-"


def _json(about: Attachability) -> str:
    """Return the line of a function as JSON."""
    value = {
        "name": about.name,
        "module": about.module,
        "kinds": sorted(map(str, about.kinds)),
        "reason": about.text or None,
    }
    return f"{json_line(value)}\n"


def _text(about: Attachability) -> str:
    """Return the line of a function for people."""
    where = f"  [{about.module}]" if about.module else ""
    return plain(f"{about.name:<48} {_letters(about.kinds):<6}{where}  {about.text}".rstrip()) + "\n"


def _nothing(pattern: str) -> str:
    """Return the message for an empty list; without a pattern no function can be read at all."""
    if not pattern:
        return "no functions can be read here; `doctor` says why"
    return f"no function has {plain(pattern)} in its name"
