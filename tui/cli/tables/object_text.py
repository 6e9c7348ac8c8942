"""`probewright show FILE.bpf.o`: print the programs, maps and types of a compiled BPF object. No kernel is asked."""

from __future__ import annotations

import argparse
import sys

from btf.errors import BtfError
from btf.render import c_type
from foreign.count_text import counted
from kernel.connection.object_plans import ObjectFiles
from probes.objects.elf_object import ObjectError
from probes.objects.object_file import BpfObject, ObjectMap, ObjectProgram
from probes.objects.object_plan import attaches_to
from probes.objects.record_fields import RecordChoice, choose_record, likely_structs
from probes.objects.request import ObjectProbe, parse_object
from probes.refusal import CannotLower
from probes.syntax.parse_error import ParseError
from tui.cli.console.output import emit, plain
from tui.cli.status import DONE, REFUSED


def show_object(arguments: argparse.Namespace) -> int:
    """Print an object; return REFUSED where it can't be read."""
    try:
        probe = parse_object(arguments.name)
        found = ObjectFiles().read(probe.path)
        records = {
            one.name: choose_record(found, one, dict(probe.records).get(one.name, ""))
            for one in found.maps
            if one.has_records
        }
    except (CannotLower, ParseError, ObjectError, BtfError) as error:
        print(plain(f"probewright: {error}"), file=sys.stderr)
        return REFUSED
    if arguments.json:
        emit(_as_json(probe, found, records))
        return DONE
    for text in _lines(probe, found, records):
        print(plain(text))
    return DONE


def _lines(probe: ObjectProbe, found: BpfObject, records: dict[str, RecordChoice]) -> list[str]:
    counts = f"{counted(len(found.programs), 'program')}, {counted(len(found.maps), 'map')}"
    lines = [f"{probe.subject}: {counts}, license {found.license or 'none'}"]
    if found.kconfig:
        lines.append(f"asks for settings of the kernel: {', '.join(found.kconfig)}")
    names = [*(one.name for one in found.programs), *(one.name for one in found.maps)]
    width = max(map(len, names))
    lines += [f"  {one.name:<{width}}  {_program(one)}" for one in found.programs]
    for one in found.maps:
        lines.append(f"  {one.name:<{width}}  {one.type_name}, {_types(found, one)}")
        choice = records.get(one.name)
        if choice is None:
            continue
        if choice.struct:
            lines.append(f"  {'':<{width}}  records: {choice.struct}")
        lines += [f"  {'':<{width}}    {field.type.declared} {field.name}" for field in choice.layout.fields]
        if choice.note:
            lines.append(f"  {'':<{width}}  {choice.note}")
    return lines


def _program(one: ObjectProgram) -> str:
    if one.place.kind is None:
        return f"not attached here: {one.place.reason}"
    optional = ", left out unless it is named" if one.place.is_optional else ""
    return f"{attaches_to(one)}, {counted(one.instructions, 'instruction')}{optional}"


def _types(found: BpfObject, one: ObjectMap) -> str:
    if one.has_records:
        size = f"{one.max_entries:,} bytes" if one.max_entries else "a buffer a CPU"
        lengths = ", ".join(map(str, sorted(one.record_sizes)))
        return f"{size}{f', records of {lengths} bytes' if lengths else ''}"
    key = c_type(found.btf, one.key_type) if one.key_type else f"{one.key_size} bytes"
    value = c_type(found.btf, one.value_type) if one.value_type else f"{one.value_size} bytes"
    return f"at most {counted(one.max_entries, 'element')}, {key} to {value}"


def _as_json(probe: ObjectProbe, found: BpfObject, records: dict[str, RecordChoice]) -> dict[str, object]:
    return {
        "object": probe.path,
        "license": found.license,
        "kconfig": list(found.kconfig),
        "programs": [
            {
                "name": one.name,
                "section": one.section,
                "kind": one.place.kind.value if one.place.kind is not None else None,
                "target": one.place.target or None,
                "optional": one.place.is_optional,
                "reason": one.place.reason or None,
                "instructions": one.instructions,
            }
            for one in found.programs
        ],
        "maps": [_map_as_json(found, one, records.get(one.name)) for one in found.maps],
    }


def _map_as_json(found: BpfObject, one: ObjectMap, choice: RecordChoice | None) -> dict[str, object]:
    plain_map: dict[str, object] = {
        "name": one.name,
        "type": one.type_name,
        "key": c_type(found.btf, one.key_type) if one.key_type else None,
        "value": c_type(found.btf, one.value_type) if one.value_type else None,
        "key_size": one.key_size,
        "value_size": one.value_size,
        "max_entries": one.max_entries,
    }
    if choice is not None:
        plain_map |= {
            "record_sizes": sorted(one.record_sizes),
            "struct": choice.struct or None,
            "likely": likely_structs(found, one),
            "fields": [{"name": field.name, "type": field.type.declared} for field in choice.layout.fields],
        }
    return plain_map
