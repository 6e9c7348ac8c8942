"""Lower a probe in a program to its line: the symbol's offset in the file, a function's arguments by register."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, replace

from btf.btf import Btf
from foreign.count_text import counted
from probes.command import UserProbe
from probes.facts.dialect import dialect_of
from probes.facts.errors_table import message_of
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import Environment
from probes.fetcharg import AllArguments, Argument, Dereference, Expression, FetchArg, Register
from probes.functions.value import ValueUnavailable
from probes.lowering.arguments.capture import type_on_kernel, word_of
from probes.lowering.arguments.event_words import capture, name_fields
from probes.lowering.arguments.selection import CaptureRequest, CaptureSelection
from probes.lowering.filters.probe_filter import distribute_filter
from probes.names import event_name, identifier, split_name
from probes.plans.plan import DEFAULT_GROUP, Plan, PlanColumn, PlannedEvent
from probes.programs.program import FileSpot, SymbolNotPlaced
from probes.programs.static_arguments import StaticArgument, read_arguments
from probes.refusal import CannotLower, own_refusal
from probes.rules.messages.hints import hint_for
from probes.rules.site import Site
from probes.rules.user_verdict import user_spot
from probes.syntax.refused import Refused
from probes.syntax.text import kstrtoul
from probes.verdict import Refusal

_FILE_ERRORS = ("FILE_NOT_FOUND", "unreadable_program")
_NO_TYPES = "the types of a program are not known; name registers, or $arg1, $arg2, …"


@dataclass(frozen=True, slots=True)
class UserWriter:
    """Writer of the fetchargs of a probe in a program."""

    site: Site
    machine: str
    at_function: bool
    """True on a function's first instruction, where the registers hold its arguments."""
    made_for: str = ""
    """Machine of the program, which decides its calling convention; empty: unknown to probewright."""
    static: tuple[StaticArgument, ...] | None = None
    """Arguments of a static probe at this place; None: it is none."""

    def words(self, arg: FetchArg, name: str) -> list[str]:
        kind = type_on_kernel(arg.type, self.site.dialect)
        if kind is None and self.static is not None and isinstance(arg.expression, Argument):
            kind = self._static_argument(arg.expression).type
        return [word_of(name, str(self._in_registers(arg.expression)), kind)]

    @property
    def argument_numbers(self) -> dict[str, int]:
        return {}

    def column(self, arg: FetchArg, name: str) -> PlanColumn:
        return PlanColumn(name, str(arg.expression), is_retval=str(arg.expression) == "$retval")

    def _in_registers(self, expression: Expression) -> Expression:
        """Replace `$argN`, which the kernel lacks here, by the register that holds it."""
        if isinstance(expression, Dereference):
            return replace(expression, inner=self._in_registers(expression.inner))
        if isinstance(expression, Argument) and self.static is not None:
            return self._static_argument(expression).expression or expression
        if not isinstance(expression, Argument) or not self.at_function:
            return expression
        if self.made_for != self.machine:
            reason = f"this program is for {self.made_for or 'another machine'}, which has its arguments elsewhere"
            raise ValueUnavailable(
                "not_in_registers", f"{reason} than {self.machine}: name what holds it", token=str(expression)
            )
        registers = self.site.dialect.argument_registers
        if not 0 < expression.number <= len(registers):
            reason = f"argument {expression.number} is in no register on {self.machine}"
            raise ValueUnavailable("not_in_registers", reason, token=str(expression))
        return Register(registers[expression.number - 1])

    def _static_argument(self, argument: Argument) -> StaticArgument:
        """Return the N-th argument of the static probe. Raises ValueUnavailable where no probe can read it."""
        there = self.static or ()
        if not 0 < argument.number <= len(there):
            reason = f"this static probe has {counted(len(there), 'argument')}"
            raise ValueUnavailable("not_in_registers", reason, token=str(argument))
        found = there[argument.number - 1]
        if found.expression is None:
            reason = f"argument {argument.number} is where no probe reads it: {found.written}"
            raise ValueUnavailable("not_in_registers", reason, token=str(argument))
        return found


def lower_user(
    probe: UserProbe, btf: Btf | None, facts: TargetFacts, group: str, event: str | None, environment: Environment
) -> Plan:
    """Lower a probe in a program, as `lower` does. Raises CannotLower."""
    if not facts.has(Feature.UPROBE_EVENTS):
        raise CannotLower(own_refusal("missing_capability", probe.head, 0, "This kernel has no user-space probes"))
    spots, losses = _spots(probe, environment)
    site = Site(dialect_of(facts, btf), btf, None, at_exit=probe.returns, user=True, environment=environment)
    plain = bool(probe.symbol) and ":" not in probe.symbol and not probe.offset
    selection = _select(probe)
    places = [_place(probe.path, spot) for spot in spots]
    static = ":" in probe.symbol
    made_for = environment.program(probe.path).machine if probe.symbol and environment.program is not None else ""
    fields, longest = name_fields(selection), max(places, key=len)
    captured = [
        capture(probe, fields, UserWriter(site, facts.machine, plain and not probe.returns, made_for, own), longest)
        for own in (read_arguments(spot.arguments, made_for) if static else None for spot in spots)
    ]
    losses += dict.fromkeys((*selection.losses, *(loss for one in captured for loss in one.losses)))
    own_group, own_name = split_name(probe.name or "")
    group = group or own_group or DEFAULT_GROUP
    name = event if event is not None else own_name or _default_name(probe)
    letter = "r" if probe.returns else "p"
    events = []
    # Each place has an event of its own: the kernel would free several places of an event while they are enabled, if
    # another user had enabled them (unregister_trace_uprobe, 6.1 to 7.3).
    for number, (place, values) in enumerate(zip(places, captured, strict=True), 1):
        event_part = name if number == 1 else event_name(name, f"_{number}")
        line = " ".join([f"{letter}:{group}/{event_part}", place, *values.words])
        events.append(
            PlannedEvent(group, event_part, line, f"-:{group}/{event_part}", probe.returns, columns=values.columns)
        )
    return Plan(probe, distribute_filter(str(probe), probe.filter, events, losses), tuple(losses))


def _spots(probe: UserProbe, environment: Environment) -> tuple[tuple[FileSpot, ...], list[str]]:
    """Return the places in the file, and notes on unchecked offsets. Raises CannotLower at the symbol."""
    column = len(str(probe).split(" ")[0]) + 1
    try:
        if not probe.symbol:
            written = str(replace(probe, fetchargs=(), filter="")).split(" ")[1]
            spot = user_spot(probe.head, written, environment)
            return (FileSpot(spot.offset, spot.reference),), []
        user_spot(probe.head, f"{probe.path}:0", environment)
        offset = kstrtoul(probe.offset.removeprefix("+")) if probe.offset else 0
        start = len(f"{probe.path}:{probe.symbol}")
        if offset is None:
            raise Refused("BAD_UPROBE_OFFS", start, probe.offset)
        if probe.returns and (offset or ":" in probe.symbol):
            # The kernel would take the top of the stack for the return address, and break the program.
            raise Refused("BAD_RETPROBE", start if offset else len(probe.path) + 1, probe.offset or probe.symbol)
        if environment.program is None:
            raise SymbolNotPlaced("no_symbols", "the file can't be read from here: give an offset")
        spots = environment.program(probe.path).place(probe.symbol, offset)
    except Refused as error:
        hint, _ = hint_for(error.code, error.token)
        refusal = Refusal(error.code, message_of(error.code), column + error.offset, error.token, hint)
        raise CannotLower(refusal) from None
    except SymbolNotPlaced as error:
        raise CannotLower(_unplaced(probe, error, column)) from None
    if not probe.offset:
        return spots, []
    return spots, [
        f"{probe.offset}: nobody checks that an instruction begins there; inside one, it breaks the program"
    ]


def _unplaced(probe: UserProbe, error: SymbolNotPlaced, column: int) -> Refusal:
    """Return the refusal of a symbol, placed at the symbol; of an unreadable file, placed at its path."""
    if error.code in _FILE_ERRORS:
        message = message_of(error.code)
        return (
            Refusal(error.code, message, column, probe.path, hint_for(error.code, probe.path)[0])
            if message
            else own_refusal(error.code, probe.path, column, str(error))
        )
    hint = f"{error}; did you mean {error.names[0]}?" if error.names else str(error)
    token = f"{probe.symbol}{probe.offset}"
    return own_refusal(error.code, token, column + len(probe.path) + 1, hint[:1].upper() + hint[1:], error.names)


def _place(path: str, spot: FileSpot) -> str:
    counter = f"({spot.counter:#x})" if spot.counter else ""
    return f"{path}:{spot.offset:#x}{counter}"


def _select(probe: UserProbe) -> CaptureSelection:
    wanted, losses = [], []
    for index, arg in enumerate(probe.fetchargs):
        if isinstance(arg.expression, AllArguments):
            losses.append(f"{arg.expression}: {_NO_TYPES}")
        else:
            wanted.append(CaptureRequest(arg, index))
    return CaptureSelection(tuple(wanted), tuple(losses))


def _default_name(probe: UserProbe) -> str:
    """Return a default event name: `bash_readline__exit`, `bash_0x1234__entry`."""
    program = re.split(r"[.\-_]", posixpath.basename(probe.path), maxsplit=1)[0]
    place = probe.symbol.rpartition(":")[2] + probe.offset.replace("+", "_")
    static = ":" in probe.symbol
    return event_name(identifier(f"{program}_{place}"), "" if static else "__exit" if probe.returns else "__entry")
