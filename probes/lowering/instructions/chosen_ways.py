"""Choose the ways out of a function that a probe is on: its return instructions, or its tail calls."""

from __future__ import annotations

from typing import NamedTuple

from foreign.count_text import counted
from foreign.refusal import InputRefusal
from probes.code.body import FunctionBody
from probes.code.rows import kprobe_refusal
from probes.code.ways_out import WayOut, destination_text, ways_out
from probes.facts.lookups import Environment
from probes.probe import Probe, ProbeEnds
from probes.refusal import CannotLower, own_refusal

MAX_WAYS = 128
"""Largest number of instructions of a probe: each takes the kernel milliseconds to arm."""
_CONDITIONAL = "is taken under a condition only, and a kprobe is hit there where it is not, too"
_ELSEWHERE = "the code of another kernel is not here: open the machine itself"


class ChosenWays(NamedTuple):
    """Instructions that a probe is on."""

    body: FunctionBody
    ways: tuple[WayOut, ...]
    notes: tuple[str, ...]
    """Ways out that the probe does not see, each in a line with the probe that sees it or the reason."""


def chosen_ways(probe: Probe, environment: Environment) -> ChosenWays:
    """Return the instructions of a probe in the order of the code. Raises CannotLower."""
    body = _body_of(probe, environment)
    if body.refusal:
        raise _refused(probe, "not_traceable", _sentence(body.refusal))
    every = ways_out(body)
    wanted = [way for way in every if way.is_return == (probe.when is ProbeEnds.RETURN_INSTRUCTIONS)]
    taken = [way for way in wanted if not (kprobe_refusal(body, way.instruction) or way.is_conditional)]
    others = [way for way in every if way not in wanted]
    if not taken:
        raise _refused(probe, "no_way_out", _sentence(_absence(probe, body, wanted, others)))
    if len(taken) > MAX_WAYS:
        number = counted(len(taken), "instruction")
        raise _refused(probe, "no_way_out", f"It has {number}, {MAX_WAYS} at most are probed at once")
    notes = [_seen_text(probe, body, taken, every)]
    notes += [_refused_text(body, way) for way in wanted if way not in taken]
    if others:
        notes.append(_others_text(probe, body, others))
    return ChosenWays(body, tuple(taken), (*notes, *body.notes))


def _body_of(probe: Probe, environment: Environment) -> FunctionBody:
    """Return the code of the function of a probe. Raises CannotLower."""
    if environment.bodies is None:
        raise _refused(probe, "no_code", _sentence(_ELSEWHERE))
    try:
        bodies = environment.bodies(probe.place.symbol)
    except InputRefusal as error:
        raise _refused(probe, "no_code", _sentence(error.thing)) from None
    if probe.place.address:
        bodies = [body for body in bodies if body.parts[0].address == probe.place.address]
    if len(bodies) != 1:
        places = ", ".join(f"p {body.parts[0].place_at(0)}{_suffix(probe)}" for body in bodies[:3])
        hint = f"{counted(len(bodies), 'function')} of this kernel {_have(len(bodies))} this name"
        raise _refused(probe, "no_code", f"{hint}: {places}" if places else hint)
    return bodies[0]


def _have(number: int) -> str:
    return "has" if number == 1 else "have"


def _absence(probe: Probe, body: FunctionBody, wanted: list[WayOut], others: list[WayOut]) -> str:
    """Return why no instruction of the wanted kind is probed, with the probe that sees the other ways out."""
    if wanted:
        return "; ".join(_refused_text(body, way) for way in wanted)
    if others:
        return _others_text(probe, body, others)
    return "the function never returns"


def _seen_text(probe: Probe, body: FunctionBody, taken: list[WayOut], every: tuple[WayOut, ...]) -> str:
    """Return a line: `2 of 3 ways out are seen: it returns at +0x12e, +0x1f4`."""
    places = ", ".join(_label(body, way) for way in taken)
    does = "it returns" if probe.when is ProbeEnds.RETURN_INSTRUCTIONS else "it jumps out"
    number = counted(len(every), "way out", "ways out")
    share = "" if len(every) == 1 else f"{len(taken)} of "
    return f"{share}{number} {'is' if len(taken) == 1 else 'are'} seen: {does} at {places}"


def _refused_text(body: FunctionBody, way: WayOut) -> str:
    if way.is_conditional:
        return f"not seen: {_label(body, way)} {_CONDITIONAL}"
    return f"not seen: {_label(body, way)} takes no kprobe: {kprobe_refusal(body, way.instruction)}"


def _others_text(probe: Probe, body: FunctionBody, others: list[WayOut]) -> str:
    """Return the ways out of the other kind, and the text of the probe that sees them."""
    if probe.when is ProbeEnds.RETURN_INSTRUCTIONS:
        jumps = ", ".join(f"{_label(body, way)} jumps {destination_text(way)}" for way in others)
        return f"{jumps}, which returns in its place: p {probe.place}%tailcall sees that"
    places = ", ".join(_label(body, way) for way in others)
    return f"it returns at {places}: p {probe.place}%retinsn sees that"


def _label(body: FunctionBody, way: WayOut) -> str:
    return body.label(way.part, way.instruction.offset)


def _suffix(probe: Probe) -> str:
    return f"%{probe.when.value}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _refused(probe: Probe, code: str, hint: str) -> CannotLower:
    text = str(probe)
    return CannotLower(own_refusal(code, _suffix(probe), text.index(_suffix(probe), text.index(" ")), hint))
