"""Have a probe record the keys and values that are to be aggregated, where it does not. Imports no screen code."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from events.aggregates.event_columns import STACKS, EventColumns, KeyKind, property_kind
from events.aggregates.request import TIMED, AggregateRequest
from events.conditions.errno_comparison import ERRNO
from events.conditions.function_comparison import FUNC
from probes.command import is_function, parse_armable
from probes.probe import Probe, ProbeEnds
from probes.syntax.parse_error import ParseError
from probes.syntax.parse_fetcharg import parse_fetcharg

if TYPE_CHECKING:
    from probes.fetcharg import FetchArg

_RETURNED = "$retval"


def with_requested(spec: str, request: AggregateRequest, is_taken: Callable[[str], bool]) -> str:
    """Return a specification with what is requested and lacking, as far as the kernel takes it; else unchanged.

    `$retval` or an argument is one more value, a latency needs both ends of the call.

    Args:
        spec: specification of a probe.
        request: keys and values.
        is_taken: tells whether the kernel takes a specification.
    """
    with contextlib.suppress(ParseError):
        probe = parse_armable(spec)
        if isinstance(probe, Probe) and is_function(probe):
            for wider in _wider(probe, request):
                if is_taken(str(wider(probe))):
                    probe = wider(probe)
            return str(probe) if probe != parse_armable(spec) else spec
    return spec


def _wider(probe: Probe, request: AggregateRequest) -> Iterator[Callable[[Probe], Probe]]:
    """Yield functions that add to a probe what it lacks."""
    if set(TIMED) & set(request.values) and probe.when is not ProbeEnds.BOTH:
        yield lambda one: replace(one, when=ProbeEnds.BOTH)
    own = {text for arg in probe.fetchargs for text in (arg.name, str(arg.expression))}
    for name in dict.fromkeys((*request.keys, *request.values)):
        is_property = name in (*TIMED, FUNC, *STACKS) or property_kind(name, EventColumns()) not in (
            None,
            KeyKind.ERRNO,
        )
        wanted = _RETURNED if name == ERRNO else name
        if is_property or wanted in own:
            continue
        with contextlib.suppress(ParseError):
            yield _adding(parse_fetcharg(wanted))


def _adding(arg: FetchArg) -> Callable[[Probe], Probe]:
    return lambda one: replace(one, fetchargs=(*one.fetchargs, arg))
