"""Represent what is to be aggregated, by which keys, as a value; parse the keys as a person types them."""

from __future__ import annotations

import difflib
import enum
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from events.conditions.comparison import LATENCY
from events.names.event_names import FIELD_SYNONYMS

MAX_KEYS: Final = 3
NEGATIVE: Final = -1
"""Exponent under which negative numbers are counted by powers of two."""
BY: Final = "by"
_MAX_NAMES: Final = 24
"""Names that an error lists."""
_MAX_NEAR: Final = 3
_BLANK: Final = " \t"


class AggregateFunction(enum.StrEnum):
    """Function of the values of a group."""

    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    LOG2 = "log2"
    """Counts by powers of two."""


class Statistic(NamedTuple):
    """Function of one value."""

    function: AggregateFunction
    value: str
    """Name of a field, expression of the probe that recorded it, or `latency`."""

    @property
    def title(self) -> str:
        """Title of its column."""
        return f"{self.function}({self.value})"


class AggregateRequest(NamedTuple):
    """Keys and statistics; without keys all rows are one group, and without statistics they are only counted."""

    keys: tuple[str, ...] = ()
    statistics: tuple[Statistic, ...] = ()

    @property
    def values(self) -> tuple[str, ...]:
        """Names of the values, each once."""
        return tuple(dict.fromkeys(one.value for one in self.statistics))

    @property
    def columns(self) -> tuple[Statistic, ...]:
        """Statistics that are one number for each group."""
        return tuple(dict.fromkeys(one for one in self.statistics if one.function is not AggregateFunction.LOG2))

    @property
    def histograms(self) -> tuple[str, ...]:
        """Values whose powers of two are counted."""
        return tuple(dict.fromkeys(one.value for one in self.statistics if one.function is AggregateFunction.LOG2))

    @property
    def text(self) -> str:
        """Request as a title: `sum(ret) by func, comm`."""
        what = ", ".join(one.title for one in self.statistics) or "count"
        return f"{what} by {', '.join(self.keys)}" if self.keys else what


class AggregateError(Exception):
    """Error in a request; the text is the message."""

    def __init__(self, message: str, option: str, text: str, at: int) -> None:
        """Set the message, the option (`by`, or a function's name) with its text, and the column of the error."""
        super().__init__(message)
        self.option = option
        self.text = text
        self.at = at


def parse_keys(text: str) -> tuple[str, ...]:
    """Return the keys of `func, comm`. Raises AggregateError."""
    found: list[str] = []
    at = 0
    for part in text.split(","):
        name = part.strip(_BLANK)
        place = at + len(part) - len(part.lstrip(_BLANK))
        if not name:
            raise AggregateError("a key is missing here", BY, text, at)
        if name in found:
            raise AggregateError(f"{name} is a key already", BY, text, place)
        if len(found) == MAX_KEYS:
            raise AggregateError(f"at most {MAX_KEYS} keys are possible", BY, text, place)
        found.append(name)
        at += len(part) + 1
    return tuple(found)


def place_of_key(keys_text: str, key: str) -> int:
    """Return the column of a key in the text that it was parsed from."""
    at = 0
    for part in keys_text.split(","):
        if part.strip(_BLANK) == key:
            return at + len(part) - len(part.lstrip(_BLANK))
        at += len(part) + 1
    return 0


def unknown_name(name: str, names: Sequence[str]) -> str:
    """Return the message for a name that no event has, with near names and those that there are."""
    every = tuple(dict.fromkeys(names))
    meant = FIELD_SYNONYMS.get(name, "")
    near = [meant] if meant in every else difflib.get_close_matches(name, every, _MAX_NEAR)
    hint = f": did you mean {' or '.join(near)}?" if near else "."
    return f"no event has {name}{hint} There {_listed(every)}"


def _listed(names: Iterable[str]) -> str:
    every = tuple(names)
    more = f" and {len(every) - _MAX_NAMES} more" if len(every) > _MAX_NAMES else ""
    return f"{'is' if len(every) == 1 else 'are'} {', '.join(every[:_MAX_NAMES])}{more}"


DURATION: Final = "duration"
"""Other word for `latency`, where no field has that name."""
TIMED: Final = (LATENCY, DURATION)
