"""`probewright show FUNCTION|TYPE|EVENT|FILE`: print a signature, a type, an event, an object, a recording."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from btf.btf import Btf
from btf.functions.functions_of_type import functions_using
from btf.kinds import Kind
from btf.render import definition
from btf.search import Search
from events.names.place_kinds import PlaceKind, kind_of_place
from foreign.refusal import InputRefusal
from kernel.attach.debug_places import find_source_places
from kernel.attach.explain import AttachExplainer
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.program_events import program_events, require_user_events
from probes.attaching.places import as_armed, place_row, probe_at
from probes.attaching.spellings import closest, distance, is_like
from probes.attaching.values import ReasonKind
from probes.functions.capture_tree import CaptureNode
from probes.objects.request import is_object
from probes.translation.source_line import is_source_line
from probes.user_events.kernel_reading import GROUP
from tui.cli.console.output import connect, emit, plain, require_connection
from tui.cli.console.waiting import waiting
from tui.cli.specs import attach_text
from tui.cli.status import DONE, REFUSED
from tui.cli.tables.program_events import is_about_programs, print_event

_TYPE_KINDS = (Kind.STRUCT, Kind.UNION, Kind.ENUM, Kind.ENUM64, Kind.TYPEDEF, Kind.INT)
_TAGGED = (Kind.STRUCT, Kind.UNION, Kind.ENUM)
_USES = 8
"""Functions named below a type; --json lists all."""


def run(arguments: argparse.Namespace) -> int:
    if is_object(arguments.name):
        from tui.cli.tables.object_text import show_object

        return show_object(arguments)
    if arguments.name.endswith(".pwr"):
        from tui.cli.tables.recording_text import show_recording

        return show_recording(arguments)
    info = connect(arguments.target)
    try:
        status = _program_event(info, arguments) if is_about_programs(arguments.name) else _show(info, arguments)
        require_connection(info)
        return status
    finally:
        info.close()


def _show(info: KernelInfo, arguments: argparse.Namespace) -> int:
    if (place := _place_meant(info, arguments.name)) is not None:
        return _place(info, place, arguments)
    if is_source_line(arguments.name):
        return _source_line(info, arguments)
    words = arguments.name.split()
    lone = words[0] if len(words) == 1 else ""
    with waiting("reading functions and types"):
        _ = info.catalog
    if arguments.code:
        return _code(info, lone or arguments.name, arguments)
    if arguments.regs or arguments.measure:
        return _registers(info, lone or arguments.name, arguments)
    if lone and not info.catalog.attachability(lone).has(ReasonKind.UNKNOWN):
        return _function(info, lone, arguments)
    name = words[-1] if words else ""
    for kind in _TYPE_KINDS:
        found = info.btf.find(name, kind) if info.btf else None
        if info.btf and found is not None:
            return _type(info.btf, name, found, as_json=arguments.json)
    if lone and _function(info, lone, arguments) == DONE:
        return DONE
    return _nothing(info, arguments.name)


def _vmlinux(arguments: argparse.Namespace) -> Path | None:
    return Path(arguments.vmlinux) if arguments.vmlinux else None


def _code(info: KernelInfo, name: str, arguments: argparse.Namespace) -> int:
    """Print the code of a function, or the variables at one of its instructions; return REFUSED if it is unknown or
    can't be read.
    """
    from tui.cli.tables.code_text import show_code, show_instruction

    symbol, plus, written = name.partition("+")
    if AttachExplainer(info).attachability(symbol).has(ReasonKind.UNKNOWN):
        return _nothing(info, symbol)
    try:
        if plus:
            return show_instruction(info, symbol, written, as_json=arguments.json, vmlinux=_vmlinux(arguments))
        return show_code(info, name, as_json=arguments.json, vmlinux=_vmlinux(arguments))
    except InputRefusal as error:
        print(plain(f"probewright: {error}"), file=sys.stderr)
        return REFUSED


def _source_line(info: KernelInfo, arguments: argparse.Namespace) -> int:
    """Print the instructions at which a line of source begins; return REFUSED if they are not known."""
    file, _, line = arguments.name.rpartition(":")
    try:
        with waiting("reading debug information"):
            found = find_source_places(info, file, int(line), _vmlinux(arguments))
    except InputRefusal as error:
        print(plain(f"probewright: {error}"), file=sys.stderr)
        return REFUSED
    if arguments.json:
        emit({"source": found.source, "places": list(found.places)})
    else:
        print(plain(f"{found.source} begins at:"))
        for place in found.places:
            print(plain(f"  p {place}"))
    return DONE


def _registers(info: KernelInfo, name: str, arguments: argparse.Namespace) -> int:
    """Print what can be read of a function's call by each means; return REFUSED if the function is unknown."""
    from tui.cli.tables.register_text import show_registers

    if AttachExplainer(info).attachability(name).has(ReasonKind.UNKNOWN):
        return _nothing(info, name)
    try:
        return show_registers(info, name, as_json=arguments.json, measured=arguments.measure)
    except InputRefusal as error:
        print(plain(f"probewright: {error}"), file=sys.stderr)
        return REFUSED


def _program_event(info: KernelInfo, arguments: argparse.Namespace) -> int:
    """Print an event that a program has registered; REFUSED where there is none of this name."""
    require_user_events(info)
    event = next((one for one in program_events(info) if one.path == arguments.name), None)
    if event is None:
        message = f"probewright: no program has registered {arguments.name}; `list {GROUP}/` lists those there are"
        print(plain(message), file=sys.stderr)
        return REFUSED
    print_event(event, json=arguments.json)
    return DONE


def _function(info: KernelInfo, name: str, arguments: argparse.Namespace) -> int:
    """Print all facts about a function; return REFUSED, and print nothing, if the function is unknown."""
    attaching, about = AttachExplainer(info, _vmlinux(arguments)), info.catalog.attachability(name)
    if not about.kinds or about.has(ReasonKind.TWINS):
        about = attaching.attachability(name)
    unseen = (about.has(ReasonKind.INLINED) or about.has(ReasonKind.UNKNOWN)) and attaching.debug_info
    wanted = arguments.callers or unseen or (about.has_code and not about.kinds)
    found = attach_text.find_callers(attaching, name) if wanted else None
    if about.has(ReasonKind.UNKNOWN) and not (found and found.reasons):
        return REFUSED
    roots = info.tree(name).roots()
    function = info.function(name)  # read after the types of its module are loaded
    kinds = sorted(str(kind) for kind in function.kinds)
    if arguments.json:
        emit(
            {
                "function": name,
                "module": function.module or None,
                "prototype": function.prototype or None,
                "kinds": kinds,
                "reason": function.reason or None,
                "copies": list(function.copies),
                **attach_text.as_json(about, found),
                "fetchargs": [_node(node) for node in roots],
            }
        )
        return DONE
    print(plain(function.prototype or f"{name}: its signature is not in BTF"))
    print(plain(f"kinds: {' '.join(kinds) or 'none'}"))
    for line in attach_text.lines(about, found):
        print(line)
    for node in roots if function.kinds else ():
        print(plain(_row(node)))
    return DONE


def _place_meant(info: KernelInfo, text: str) -> str | None:
    """Return the tracepoint or event that a text names, as `t sched_switch`, `sched/sched_switch` or with a colon."""
    name = text.replace(":", "/", 1) if " " not in text else text
    return name if info.places.has(probe_at(name)) else None


def _place(info: KernelInfo, name: str, arguments: argparse.Namespace) -> int:
    """Print what a probe on a tracepoint or event can record."""
    kind = kind_of_place(name)
    is_tracepoint = kind is PlaceKind.TRACEPOINT
    roots = (
        [node for node in info.tree(name).roots() if not node.at_exit] if is_tracepoint else info.event_values(name)
    )
    if arguments.json:
        kinds = sorted(map(str, place_row(name).kinds))
        emit({"name": name, "place": kind, "kinds": kinds, "fetchargs": [_node(node) for node in roots]})
        return DONE
    print(plain(f"{name}: {kind}"))
    for node in roots:
        print(plain(_row(node)))
    print(plain(f"record it: probewright run '{as_armed(probe_at(name))}'"))
    return DONE


def _row(node: CaptureNode) -> str:
    offset = "" if node.offset is None else f"+{node.offset}"
    return f"  {node.label:<20} {node.c_type:<32} {node.kernel_type:<8} {offset:<6} {node.reason}".rstrip()


def _node(node: CaptureNode) -> dict[str, object]:
    return {
        "label": node.label,
        "fetcharg": None if node.fetcharg is None else str(node.fetcharg),
        "c_type": node.c_type,
        "kernel_type": node.kernel_type,
        "offset": node.offset,
        "expandable": node.expandable,
        "at_exit": node.at_exit,
        "reason": node.reason or None,
    }


def _type(btf: Btf, name: str, type_id: int, *, as_json: bool) -> int:
    uses = functions_using(btf, name)
    text = definition(btf, type_id)
    if as_json:
        emit({"type": name, "definition": text, "takes": list(uses.takes), "returns": list(uses.returns)})
        return DONE
    print(plain(text).replace("\\x09", "\t"))
    for what, functions in (("taken by", uses.takes), ("returned by", uses.returns)):
        if functions:
            more = f" and {len(functions) - _USES} more" if len(functions) > _USES else ""
            print(plain(f"{what} {', '.join(functions[:_USES])}{more}"))
    return DONE


def _near(info: KernelInfo, typed: str) -> list[str]:
    """Return up to three similar names: only of types where the text begins with `struct`, `union` or `enum`."""
    words = typed.split()
    name = words[-1] if words else ""
    kinds = [kind for kind in _TYPE_KINDS if len(words) < 2 or kind.name.lower() == words[0]]
    prefixes = {kind: f"{kind.name.lower()} " if kind in _TAGGED else "" for kind in kinds}
    btf = info.btf
    types = {one: f"{prefixes[kind]}{one}" for kind in kinds for one in (btf.names_of(kind) if btf else ())}
    similar = [types[one] for one in closest(name, types)]
    if len(words) > 1:
        return similar if info.catalog.attachability(name).has(ReasonKind.UNKNOWN) else [name, *similar][:3]
    names = info.catalog.names
    functions = [one for index in Search(names).find(name).indices[:9] if is_like(name, one := names[index])]
    return sorted((*functions[:3], *similar), key=lambda one: distance(name, one.split()[-1]))[:3]


def _nothing(info: KernelInfo, name: str) -> int:
    near = _near(info, name)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    print(plain(f"probewright: {name}: neither a function nor a type of this kernel{hint}"), file=sys.stderr)
    return REFUSED
