"""`probewright list [PATTERN]`: list functions, tracepoints and events, and the kinds of probe that can attach."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Iterator, Sequence
from functools import cache

from events.names.function_choice import is_typed_place
from events.names.place_kinds import PlaceKind, kind_of_place
from kernel.attach.explain import AttachExplainer
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.program_events import program_events, require_user_events
from probes.attaching.attach import AttachabilitySurvey
from probes.attaching.places import place_row
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
            wanted = _in_programs(info, arguments) or _matching(info, arguments)
        if not wanted:
            print(f"probewright: {_nothing(arguments, info)}", file=sys.stderr)
        functions = [name for name in wanted if kind_of_place(name) is PlaceKind.FUNCTION]
        attaching = AttachExplainer(info)
        if functions and attaching.near:
            with waiting("reading symbols"):
                attaching.attachability(functions[0])  # from here on the reasons are exact
        sys.stdout.writelines(_lines(info, wanted, info.catalog.survey(functions), json=arguments.json))
        require_connection(info)
        return DONE if wanted else REFUSED
    finally:
        info.close()
        gc.enable()


def _matching(info: KernelInfo, arguments: argparse.Namespace) -> list[str]:
    """Return the names of the places that are wanted, best first."""
    names: Sequence[str] = info.places.names
    if arguments.pattern:
        names = [names[index] for index in info.places.search_with().find(arguments.pattern).indices]
    if arguments.kind:
        names = [name for name in names if kind_of_place(name) in arguments.kind]
    return list(names[: arguments.limit or len(names)])


def _in_programs(info: KernelInfo, arguments: argparse.Namespace) -> list[str]:
    """Return the places of the program that the pattern names, `/usr/bin/bash:read`, or the programs of that name."""
    programs, text = info.programs, arguments.pattern.strip()
    if programs is None or not text or is_typed_place(text):
        return []
    if text.startswith("/") or ":" in text or not arguments.kind or PlaceKind.PROGRAM in arguments.kind:
        programs.learn(text)
    found = programs.search(text, sys.maxsize)
    if found is None:
        return []
    names = list(found.names) if found.of_program else [*_matching(info, arguments), *found.names]
    if arguments.kind:
        names = [name for name in names if kind_of_place(name) in arguments.kind]
    return names[: arguments.limit or len(names)]


def _lines(info: KernelInfo, names: Sequence[str], survey: AttachabilitySurvey, *, json: bool) -> Iterator[str]:
    """Yield the lines of places; `survey`: of the functions among them."""
    # Most functions take every probe and need no reason.
    usual, alike = frozenset[str]() if json else survey.traced, f" {_letters(ALL)}\n"
    for name in names:
        if name in usual:
            yield f"{name:<48}{alike}"
        elif kind_of_place(name) is PlaceKind.FUNCTION:
            yield (_json if json else _text)(survey.attachability(name))
        else:
            yield (_place_json if json else _place_text)(name, _about(info, name))


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
        "place": PlaceKind.FUNCTION,
        "module": about.module,
        "kinds": sorted(map(str, about.kinds)),
        "reason": about.text or None,
    }
    return f"{json_line(value)}\n"


def _text(about: Attachability) -> str:
    """Return the line of a function for people."""
    where = f"  [{about.module}]" if about.module else ""
    return plain(f"{about.name:<48} {_letters(about.kinds):<6}{where}  {about.text}".rstrip()) + "\n"


def _about(info: KernelInfo, name: str) -> str:
    """Return the number of arguments of a static probe of a program, with their types; empty: it is none."""
    return info.programs.arguments_text(name) if info.programs is not None else ""


def _place_json(name: str, about: str) -> str:
    """Return the line of a place that is no function of the kernel as JSON."""
    kind, kinds = kind_of_place(name), sorted(map(str, place_row(name).kinds))
    value: dict[str, object] = {"name": name, "place": kind, "module": None, "kinds": kinds, "reason": None}
    if kind is PlaceKind.USDT:
        value["arguments"] = about.partition(": ")[2].split()
    return f"{json_line(value)}\n"


def _place_text(name: str, about: str) -> str:
    """Return the line of a place that is no function of the kernel for people."""
    line = f"{name:<48} {_letters(place_row(name).kinds):<6}  {kind_of_place(name)}  {about}"
    return plain(line.rstrip()) + "\n"


def _nothing(arguments: argparse.Namespace, info: KernelInfo) -> str:
    """Return the message for an empty list; without a function none can be read at all."""
    if (found := info.programs and info.programs.search(arguments.pattern.strip(), 1)) and found.note:
        return found.note
    if not info.places.names:
        return "no functions can be read here; `doctor` says why"
    *others, last = arguments.kind or [kind for kind, indices in info.places.ranges.items() if indices]
    what = f"{', '.join(others)} or {last}" if others else last
    has = f"has {plain(arguments.pattern)} in its name" if arguments.pattern else "is known here"
    return f"no {what} {has}"
