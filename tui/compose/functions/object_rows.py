"""Make the rows of a compiled BPF object whose path is typed into the search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from btf.errors import BtfError
from btf.render import c_type
from foreign.count_text import counted
from probes.objects.object_plan import attaches_to
from probes.objects.plan_object import obstacle, reasons_to_leave_out
from probes.objects.request import ObjectProbe, parse_object
from probes.refusal import CannotLower
from probes.syntax.parse_error import ParseError
from widgets.functions.object_rows import ObjectRow, ObjectRows

if TYPE_CHECKING:
    from kernel.connection.planner import Planner
    from probes.objects.object_file import BpfObject, ObjectMap


def object_rows(planner: Planner, query: str) -> ObjectRows | str:
    """Return the rows of the object that a text names, or the reason why there are none."""
    try:
        probe = parse_object(query)
        found = planner.objects.files.read(probe.path)
        return _rows(planner, probe, found)
    except CannotLower as error:
        return error.refusal.hint
    except (ParseError, BtfError) as error:
        return str(error)


def _rows(planner: Planner, probe: ObjectProbe, found: BpfObject) -> ObjectRows:
    has_function = planner.objects.has_known_function
    left_out = reasons_to_leave_out(found, has_function)
    rows = [
        ObjectRow(one.name, f"{attaches_to(one)}{_why(left_out.get(one.name))}", obstacle(one, has_function))
        for one in found.programs
    ]
    marked = probe.programs or [one.name for one in found.programs if one.name not in left_out]
    rows += [ObjectRow(one.name, _map_text(found, one), is_program=False) for one in found.maps]
    return ObjectRows(
        rows, marked, lambda names: str(ObjectProbe(probe.path, names or probe.programs, probe.records))
    )


def _why(reason: str | None) -> str:
    return f", {reason}" if reason else ""


def _map_text(found: BpfObject, one: ObjectMap) -> str:
    if one.has_records:
        return one.type_name
    key = c_type(found.btf, one.key_type) if one.key_type else f"{one.key_size} bytes"
    value = c_type(found.btf, one.value_type) if one.value_type else f"{one.value_size} bytes"
    return f"{one.type_name}, {counted(one.max_entries, 'element')}: {key} to {value}"
