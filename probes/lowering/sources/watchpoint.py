"""Lower a watchpoint to the BPF program that the perf events of all CPUs run at each access to the memory."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from btf.btf import Btf
from btf.errors import BtfError
from btf.kinds import Kind
from btf.types import Struct
from btf.walk import size_of
from probes.bpf.context import RegisterContext
from probes.bpf.kernel_loads import kernel_loads
from probes.bpf.lower import with_stacks
from probes.bpf.program import AttachPoint, BpfProgram, ProgramValue, StoredValue
from probes.bpf.record import RecordLayout, StoredType, stored_type
from probes.bpf.registers import SAVED_REGISTERS
from probes.bpf.watchpoints.memory import MemoryAccess, WatchedMemory, memory_obstacle, stops_after_access
from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment
from probes.fetcharg import Expression, Register
from probes.functions.fetcharg_types import best_type
from probes.lowering.sources.kernel_variables import is_per_cpu, variable_type
from probes.lowering.sources.option_refusal import option_refusal
from probes.lowering.sources.watched_field import FieldRefused, watched_field
from probes.names import event_name
from probes.plans.plan import Plan, PlanColumn, PlannedEvent
from probes.refusal import CannotLower, own_refusal
from probes.sources.memory_place import MemoryPlace
from probes.sources.source import Source

_NUMBER: Final = re.compile(r"[usx](8|16|32|64)")
_SOMEWHERE: Final = 0xFFFF_FFFF_8000_0000
_WITH_WATCHPOINTS: Final = ("x86_64", "aarch64")
"""Machines with debug registers that the kernel sets (HAVE_HW_BREAKPOINT in arch/*/Kconfig)."""
_BEFORE: Final = "arm64 stops before the access: old is the value before it, and the next event has the one after it"


class _Found(NamedTuple):
    """Memory at a place, before it is known how many bytes of it are watched."""

    address: int
    room: int
    """Bytes up to the next symbol; 0: unknown."""
    btf_type: int | None = None
    """Type of the variable; None: unknown."""


def machine_obstacle(facts: TargetFacts) -> str:
    """Return why no watchpoint is set on a machine, in a line; empty: they are."""
    if facts.machine not in _WITH_WATCHPOINTS or facts.byteorder != "little" or facts.long_size != 8:
        return "Watchpoints are set on x86-64 and arm64 only"
    return ""


def lower_watchpoint(
    source: Source, btf: Btf | None, facts: TargetFacts, group: str, event: str | None, environment: Environment
) -> Plan:
    """Lower a watchpoint, as `probes.lowering.lower.lower` does. Raises CannotLower."""
    if reason := machine_obstacle(facts) or _stepping_obstacle(btf, facts):
        raise CannotLower(own_refusal("missing_capability", source.name, 0, reason))
    place = MemoryPlace.parse(source.value("at"))
    if place is None:
        hint = "Give it a place: at=jiffies_64, at=init_task+0x10, at=0xffffffff82a00000"
        raise CannotLower(own_refusal("missing_value", source.name, 0, hint))
    found = _field(source, _found(source, place, btf, environment), btf)
    kind, notes = _value_type(source, found, btf)
    memory = WatchedMemory(found.address, kind.size, MemoryAccess[source.value("access").upper()], _text(source))
    option, reason = memory_obstacle(memory, facts.machine)
    if reason:
        raise option_refusal(source, option, reason)
    program = _program(memory, kind, facts, btf)
    names = [value.field.name for value in program.values]
    columns = tuple(PlanColumn(name, name, None if name == "ip" else found.btf_type) for name in names)
    name = event or event_name(f"watch_{_text(source)}", "")
    planned = PlannedEvent(group, name, "", "", columns=columns, programs=(program,))
    losses = (*notes, *(() if stops_after_access(facts.machine) else (_BEFORE,)))
    plan = Plan(source, (planned,), losses)
    return with_stacks(plan) if source.value("stack") == "on" else plan


def _stepping_obstacle(btf: Btf | None, facts: TargetFacts) -> str:
    """Return why a kernel may not get past a watchpoint whose program has run; empty: it does.

    arm64 steps over the access only where perf's own handler is in place (watchpoint_handler in
    arch/arm64/kernel/hw_breakpoint.c): early kernels put the program in place of that one, as their struct
    perf_event shows.
    """
    if stops_after_access(facts.machine):
        return ""
    if btf is None:
        return "Without BTF it is unknown whether this kernel goes on behind a watchpoint with a program"
    found = btf.find("perf_event", Kind.STRUCT)
    event = btf.type(found) if found is not None else None
    members = {one.name for one in event.members} if isinstance(event, Struct) else set()
    if "prog" in members and "orig_overflow_handler" not in members:
        return ""
    return "This kernel may not go on behind a watchpoint with a program: Linux 6.11 or newer does"


def _found(source: Source, place: MemoryPlace, btf: Btf | None, environment: Environment) -> _Found:
    """Return the memory at a place. Raises CannotLower."""
    if not place.symbol:
        return _Found(place.offset, 0)
    look_up = environment.symbol_places
    if look_up is None:  # for a kernel that is not there nothing is looked up, and nothing set
        return _Found(_SOMEWHERE + place.offset // 8 * 8, 0)
    every = look_up(place.symbol)
    places = [one for one in every if place.module in ("", one.module)]
    if not places:
        hint = "/proc/kallsyms has no such symbol, or can't be read"
        raise option_refusal(source, "at", hint, str(place), "no_variable")
    if len({one.address for one in places}) > 1:
        others = tuple(f"0x{one.address + place.offset:x}" for one in places[:3])
        hint = f"{len(places)} symbols have this name: give the address of one"
        raise option_refusal(source, "at", hint, str(place), "ambiguous_symbol", others)
    symbol = places[0]
    if is_per_cpu(symbol, look_up):
        hint = "Each CPU has its own: give the address of one, __per_cpu_offset[CPU] beyond it"
        raise option_refusal(source, "at", hint, str(place))
    if symbol.size and place.offset >= symbol.size:
        hint = f"{place.symbol} has {symbol.size} bytes: the next symbol begins there"
        raise option_refusal(source, "at", hint, str(place))
    known = variable_type(btf, place.symbol) if not (place.offset or symbol.module) else None
    return _Found(symbol.address + place.offset, symbol.size - place.offset if symbol.size else 0, known)


def _field(source: Source, found: _Found, btf: Btf | None) -> _Found:
    """Return the memory of the field that is asked for, else all of it. Raises CannotLower."""
    text = source.value("field")
    if not text:
        return found
    if btf is None:
        raise option_refusal(source, "field", "Fields are found by BTF, which this kernel does not have")
    try:
        field = watched_field(btf, text)
    except FieldRefused as error:
        raise option_refusal(source, "field", str(error), text, nearest=error.nearest) from None
    if found.room and field.offset + field.size > found.room:
        raise option_refusal(source, "field", f"The next symbol begins {found.room} bytes from there on")
    return _Found(found.address + field.offset, field.size, field.type_id)


def _text(source: Source) -> str:
    """Return the place with its field: `init_task.prio`."""
    field = source.value("field").partition(".")[2]
    return f"{source.value('at')}.{field}" if field else source.value("at")


def _value_type(source: Source, found: _Found, btf: Btf | None) -> tuple[StoredType, tuple[str, ...]]:
    """Return the type by which the value is recorded, and a note where it was guessed. Raises CannotLower."""
    word, length = source.value("type"), int(source.value("len") or "0")
    if word:
        size = int(word[1:]) // 8
        if length not in (0, size):
            raise option_refusal(source, "len", f"{word} has {size} bytes")
        return _stored(word), ()
    if btf is not None and found.btf_type is not None:
        try:
            whole, known = size_of(btf, found.btf_type), best_type(btf, found.btf_type) or ""
        except BtfError:
            whole, known = 0, ""
        if _NUMBER.fullmatch(known) or known == "symbol":
            if length in (0, whole):
                return _stored(known), ()
        elif whole == 8 and length in (0, 8):
            return _stored("x64"), ()
        found = found._replace(room=whole)
    if length:
        return _stored(f"u{length * 8}"), ()
    length = 8
    while length > 1 and (found.address % length or (found.room and length > found.room)):
        length //= 2
    reason = "its type is unknown" if found.btf_type is None else "its type is no number"
    note = f"{_text(source)}: {reason}, {length} bytes from there on are watched; len= takes others"
    return _stored(f"u{length * 8}"), (note,)


def _stored(word: str) -> StoredType:
    kind = stored_type(word)
    if kind is None:
        raise AssertionError(word)
    return kind


def _program(memory: WatchedMemory, kind: StoredType, facts: TargetFacts, btf: Btf | None) -> BpfProgram:
    """Return the program of a watchpoint."""
    after = stops_after_access(facts.machine)
    values: list[tuple[str, StoredType, Expression | ProgramValue]] = [("ip", _stored("symbol"), Register("ip"))]
    if after:
        values += [("old", kind, ProgramValue.EARLIER), ("new", kind, ProgramValue.READ)]
    else:
        values += [("old", kind, ProgramValue.READ)]
    layout = RecordLayout.of([(name, one) for name, one, _ in values])
    stored = tuple(StoredValue(value[2], field) for value, field in zip(values, layout.fields, strict=True))
    context = RegisterContext(SAVED_REGISTERS[facts.machine], at_exit=False)
    return BpfProgram(
        AttachPoint.ACCESS,
        (),
        layout,
        layout.size,
        stored,
        None,
        context,
        loads=kernel_loads(btf),
        memory=memory,
    )
