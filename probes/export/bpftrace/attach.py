"""Choose the attach point of an event in bpftrace, and the expressions by which values are read there."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import NamedTuple

from btf.btf import Btf
from probes.bpf.fentry import fentry_refusal
from probes.command import UserProbe, parse_command
from probes.export.bpftrace.number_value import ValuePlace
from probes.export.bpftrace.typed_value import TypedFunction, TypedPlace, cast_to
from probes.export.dialect import CannotExport, PlanTypes
from probes.facts.facts import TargetFacts
from probes.fetcharg import FetchArg, Register, Stack, innermost
from probes.functions.convention import convention_of, pushed_by_call
from probes.functions.signature import certain_signature_of
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbeKind
from probes.syntax.parse_error import ParseError

_REGISTERS = {"x86_64": 6, "aarch64": 8, "riscv64": 8}
"""Number of arguments that bpftrace can read, those in registers, by machine."""
_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_PATH = re.compile(r"/[A-Za-z0-9_./+-]+")
_PATTERN = re.compile(r"[A-Za-z0-9_*?]+")
_FEW = 4
"""Functions that are listed though a pattern names them."""
_TRAMPOLINES = ("bpf_trampoline_link_prog", "register_ftrace_direct")
"""Functions of a kernel that attaches programs to the entry and the exit of a function, at their ftrace calls."""
_NO_TYPES = "its types are unknown"
_NO_TRAMPOLINES = "this kernel attaches no programs to single functions"
_IN_REGISTERS = "registers and the stack are those of a kprobe"


class AttachSite(NamedTuple):
    """An event, and everything that decides how bpftrace attaches to it."""

    event: PlannedEvent
    plan: Plan
    command: Probe | UserProbe
    facts: TargetFacts
    types: PlanTypes


@dataclass(slots=True)
class _EntryArguments:
    """Arguments that an exit needs from the entry, in maps by task and stack pointer."""

    name: str
    machine: str
    entries: str
    """Attach points of the entry."""
    numbers: set[int] = field(default_factory=set)

    def argument(self, number: int) -> str:
        """Return the expression of an argument stored at the entry."""
        _check_register(number, self.machine)
        self.numbers.add(number)
        return f"@{self.name}_arg{number}[{self._key(pushed_by_call(self.machine))}]"

    def _key(self, shift: int = 0) -> str:
        """Return the key of a call: functions call themselves, and the idle tasks of all CPUs have one number."""
        return f'tid, reg("sp") - {shift}' if shift else 'tid, reg("sp")'

    def blocks(self) -> tuple[str, str, tuple[str, ...]]:
        """Return as `Attachment.entry_blocks` does."""
        if not self.numbers:
            return "", "", ()
        key, at_exit = self._key(), self._key(pushed_by_call(self.machine))
        stored = [f"  @{self.name}_arg{number}[{key}] = arg{number};\n" for number in sorted(self.numbers)]
        names = [*(f"@{self.name}_arg{number}" for number in sorted(self.numbers)), f"@{self.name}_held"]
        before = f"{self.entries}\n{{\n{''.join(stored)}  {names[-1]}[{key}] = 1;\n}}"
        end = "END\n{\n" + "".join(f"  clear({name});\n" for name in names) + "}"
        after = tuple(f"delete({name}[{at_exit}]);" for name in names)
        return f"{before}\n\n{end}", f"{names[-1]}[{at_exit}] == 1", after


@dataclass(frozen=True, slots=True)
class Attachment:
    """Attach point of an event in bpftrace."""

    head: str
    """Attach points, as before a block."""
    place: ValuePlace
    """Place of values that are read by offsets."""
    typed: TypedPlace | None = None
    """Place of values that are read by name; None: types are unknown."""
    program: bool = False
    """True for fentry and fexit."""
    note: str = ""
    """Why it is a kprobe; empty: it is none, or no function has fentry there."""
    entry: _EntryArguments | None = None

    def entry_blocks(self) -> tuple[str, str, tuple[str, ...]]:
        """Return what keeps arguments until the exit, once values were read: blocks, a condition, statements that
        forget them; empty where nothing is kept.
        """
        return self.entry.blocks() if self.entry is not None else ("", "", ())


def attachment_of(site: AttachSite, args: Sequence[FetchArg], *, programs: bool = True) -> Attachment:
    """Return the attach point of an event. Raises CannotExport.

    Args:
        site: the event.
        args: values to record there.
        programs: fentry and fexit may be used.
    """
    command = site.command
    if isinstance(command, UserProbe):
        head = _in_program(site)
        return Attachment(head, ValuePlace(lambda number: f"arg{number}", command.returns, user=True))
    at_exit = command.kind is ProbeKind.KRETPROBE
    function = _typed_function(site, command)
    refusal = _refusal(site, command, args, function)
    if programs and not refusal and function is not None:
        return _program(command.place.symbol, function, at_exit=at_exit)
    places = _kprobes(site)
    machine, head = site.facts.machine, ",\n".join(places)
    entry = _EntryArguments(site.event.event, machine, head.replace("kretprobe:", "kprobe:")) if at_exit else None
    argument = entry.argument if entry is not None else lambda number: _argument(number, machine)
    typed = _by_cast(function, argument) if function is not None else None
    note = f"no fentry: {refusal}" if refusal and function is not None and not site.event.more else ""
    return Attachment(head, ValuePlace(argument, at_exit, user=False), typed, note=note, entry=entry)


def _program(symbol: str, function: TypedFunction, *, at_exit: bool) -> Attachment:
    """Return the attach point of a function that takes a program of its own."""

    def argument(number: int) -> str:
        position = function.parameter_at(number)
        name = function.signature.params[position].name if position is not None else ""
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise CannotExport(f"argument {number + 1} is no parameter of its own")
        return f"(uint64)args->{name}"

    typed = TypedPlace(function, lambda name: f"args->{name}", "retval", scalars=True)
    head = f"{'fr' if at_exit else 'f'}:{symbol}"
    return Attachment(head, ValuePlace(argument, at_exit, user=False), typed, program=True)


def _by_cast(function: TypedFunction, argument: Callable[[int], str]) -> TypedPlace:
    """Return the place of values that are read from registers, as pointers of their types."""

    def parameter(name: str) -> str:
        slot, kind = function.slot_of(name), function.cast(name)
        return cast_to(kind, argument(slot)) if slot is not None and kind else ""

    return TypedPlace(function, parameter, cast_to(function.result, "retval"), scalars=False)


def _typed_function(site: AttachSite, command: Probe) -> TypedFunction | None:
    """Return the function by its types; None: they are unknown, or the place is several or is within a function."""
    btf, place = site.types.btf, command.place
    signature = certain_signature_of(btf, place.symbol) if btf is not None else None
    if signature is None or site.event.more or place.offset or "+" in place.kernel_text:
        return None
    convention = convention_of(signature.btf, signature.params, site.facts.machine, signature.returns)
    return TypedFunction(signature, convention)


def _refusal(site: AttachSite, command: Probe, args: Sequence[FetchArg], function: TypedFunction | None) -> str:
    """Return why there is no fentry or fexit; empty: there is."""
    btf = site.types.btf
    if btf is None or function is None:
        return _NO_TYPES
    if not _has_trampolines(btf):
        return _NO_TRAMPOLINES
    if any(isinstance(innermost(arg.expression), Register | Stack) for arg in args):
        return _IN_REGISTERS
    at_exit = command.kind is ProbeKind.KRETPROBE
    return fentry_refusal(command.place.symbol, btf, site.facts, site.types.environment, at_exit=at_exit)


def _has_trampolines(btf: Btf) -> bool:
    whole = btf.base or btf
    return all(whole.function(name) is not None for name in _TRAMPOLINES)


def _check_register(number: int, machine: str) -> None:
    if number >= _REGISTERS.get(machine, 0):
        raise CannotExport(f"argument {number + 1} is in no register on {machine}: bpftrace can't read it")


def _argument(number: int, machine: str) -> str:
    _check_register(number, machine)
    return f"arg{number}"


def _kprobes(site: AttachSite) -> list[str]:
    """Return the kprobes of an event; a pattern where it names the same functions. Raises CannotExport."""
    try:
        commands = [parse_command(line) for line in site.event.lines]
    except ParseError as error:
        raise CannotExport(str(error)) from None
    places = [_kprobe(command, site.event) for command in commands if isinstance(command, Probe)]
    letters, names = {place.partition(":")[0] for place in places}, {place.partition(":")[2] for place in places}
    probe = site.plan.probe
    pattern = str(probe.place) if isinstance(probe, Probe) else ""
    if len(places) > _FEW and len(letters) == 1 and _PATTERN.fullmatch(pattern):
        known = {line.partition(" ")[0] for line in site.facts.functions}
        if {name for name in known if fnmatchcase(name, pattern)} == names:
            return [f"{letters.pop()}:{pattern}"]
    return places


def _kprobe(command: Probe, event: PlannedEvent) -> str:
    """Return the attach point of a line. Raises CannotExport."""
    place = command.place
    if command.kind not in (ProbeKind.KPROBE, ProbeKind.KRETPROBE) or command.maxactive:
        raise CannotExport(f"bpftrace makes kprobes without maxactive: {event.line.split(' ')[0]}")
    if not _SYMBOL.fullmatch(place.symbol):
        raise CannotExport(f"bpftrace finds functions by name: {place}")
    offset = place.kernel_text.rpartition("+")[2] if "+" in place.kernel_text else ""
    letter = "kretprobe" if command.kind is ProbeKind.KRETPROBE else "kprobe"
    return f"{letter}:{place.symbol}" + (f"+{int(offset, 0)}" if offset else "")


def _in_program(site: AttachSite) -> str:
    """Return the attach point in a program, by the symbol that the probe names. Raises CannotExport."""
    probe = site.plan.probe
    if not isinstance(probe, UserProbe) or not _SYMBOL.fullmatch(probe.symbol) or not _PATH.fullmatch(probe.path):
        raise CannotExport("bpftrace places probes in programs by symbol, not by an offset in the file")
    if probe.offset:
        raise CannotExport("bpftrace places probes in programs at the beginning of a symbol")
    return f"{'uretprobe' if probe.returns else 'uprobe'}:{probe.path}:{probe.symbol}"
