"""What may stand at the cursor of the specification, on one target.

Names come from what is known already; what has to be asked of the target (its events, and their fields) is learnt
aside, by a worker, and offered from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from btf.btf import Btf
from kernel.connection import Connection
from probes.attaching.catalog import Function
from probes.completion.choice import Completions, Known, ranked
from probes.completion.complete import complete
from probes.environment import UNKNOWN, Environment, EventField
from probes.lowering.tracepoint import STUB
from probes.names import split_name
from tui.functions import Functions

_MOST = 60


class Completer:
    """Completes for one connection."""

    def __init__(self, connection: Connection, functions: Functions) -> None:
        self._connection = connection
        self._functions = functions
        self._events: tuple[str, ...] = ()
        self._fields: dict[tuple[str, str], tuple[EventField, ...]] = {}

    def complete(self, text: str, cursor: int) -> Completions:
        """What may stand at the cursor."""
        known = Known(
            self._connection.facts,
            self._types,
            self._found,
            self._connection.function,
            lambda query: _matching(self._tracepoints, query),
            lambda query: _matching(self._events, query),
            Environment(lambda group, event: self._fields.get((group, event))) if self._fields else UNKNOWN,
        )
        return complete(text, cursor, known)

    def learn(self, text: str) -> None:
        """Ask the target what a text is about; waits for it."""
        if not text.startswith("e"):
            return
        around = self._connection.surroundings
        self._events = self._events or around.events
        words = text.split()
        event, look_up = split_name(words[1]) if len(words) > 1 else ("", ""), around.nearby.event
        if event not in self._fields and look_up is not None and (fields := look_up(*event)):
            self._fields[event] = fields

    def _types(self, function: str) -> Btf | None:
        """Types of a function; those of a module only where they were read already."""
        module = self._connection.function(function).module
        return self._connection.btf_of("" if self._connection.unread_module(function) else module)

    def _found(self, query: str) -> Sequence[Function]:
        names = self._functions.names
        return [self._connection.function(names[i]) for i in self._functions.find(query)[0][:_MOST]]

    @cached_property
    def _tracepoints(self) -> tuple[str, ...]:
        btf = self._connection.btf
        functions = btf.functions if btf is not None else ()
        return tuple(name.removeprefix(STUB) for name in functions if name.startswith(STUB))


def _matching(names: Sequence[str], query: str) -> Sequence[str]:
    return [names[n] for n in ranked(names, query)[:_MOST]]
