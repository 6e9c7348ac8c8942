"""Check the offset of a kprobe within a function by the function's code, where that can be read."""

from __future__ import annotations

from probes.facts.errors_table import message_of
from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment
from probes.probe import Probe, ProbePlace
from probes.refusal import CannotLower
from probes.rules.messages.hints import hint_for
from probes.rules.place import check_instruction, code_at
from probes.verdict import Refusal


def check_offset(probe: Probe, environment: Environment) -> None:
    """Check that an instruction which takes a kprobe begins at the offset, if that is known. Raises CannotLower."""
    place = probe.place
    landing = environment.landing(place.symbol, place.offset) if environment.landing is not None else None
    if not place.offset or place.base is not None or (landing is None and not place.module):
        return
    symbol, offset = (place.symbol, place.offset) if landing is None else landing[:2]
    refused = check_instruction(str(place), symbol, offset, environment, place.module or "")
    if refused is not None:
        hint, nearest = hint_for(refused.code, refused.token, (), refused.hint, refused.corrections)
        column = str(probe).index(" ") + 1
        raise CannotLower(Refusal(refused.code, message_of(refused.code), column, str(place), hint, nearest))


def offset_notes(place: ProbePlace, facts: TargetFacts, environment: Environment) -> list[str]:
    """Return notes on a place within a function: it is in another one, or may be within an instruction."""
    if not place.offset or environment.landing is None or place.base is not None or place.module is not None:
        return []
    landing = environment.landing(place.symbol, place.offset)
    if landing is None:
        return []
    notes = []
    if landing.symbol != place.symbol:
        where = f"{place} is in {landing.symbol}, {landing.offset} bytes in"
        notes.append(f"{place.symbol} has {landing.size} bytes: {where}")
    is_known = code_at(landing.symbol, landing.offset, environment) is not None
    if landing.offset and facts.machine == "x86_64" and not is_known:
        notes.append(f"{place}: whether an instruction begins there is not known before it is armed")
    return notes
