"""Compare the time of events with seconds of the kernel's trace clock, as rows show them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from events.conditions.comparison import NUMERIC, Comm, Comparison
from events.kernel_time import SHOWN_DIGITS, earliest
from events.record import Record

if TYPE_CHECKING:
    from events.store.columns import FormatTable, Mask

TIME: Final = ("time", "TIME")
"""Names for the time of any event; where an event has a field of the first name, the second one denotes the time."""
TIME_OPERATORS: Final = ("==", "!=", "<", "<=", ">", ">=")
TIME_HINT: Final = "seconds of the kernel's clock, as 12.304117"
_SECONDS: Final = re.compile(r"(\d{1,10})(?:\.(\d{1,9}))?", re.ASCII)
_SECOND: Final = 1_000_000_000


@dataclass(frozen=True)
class TimeComparison(Comparison):
    """Comparison of the time of an event with a time as it is written.

    One of microseconds stands for all nanoseconds that rows show so, as events of `time == 12.304117` are expected
    to be those whose rows have this text.
    """

    low: int
    """First nanosecond that is meant."""
    high: int
    """First nanosecond after those that are meant."""

    def _holds(self, stamps: Any) -> Any:  # noqa: ANN401 - a number, or numbers
        if self.operator in ("==", "!="):
            inside = (stamps >= self.low) & (stamps < self.high)
            return inside if self.operator == "==" else inside ^ True
        return NUMERIC[self.operator](stamps, self.low if self.operator in (">=", "<") else self.high - 1)

    def of_record(self, record: Record) -> bool:
        """Return whether the comparison holds for a record."""
        return bool(self._holds(record.ts))

    def of_table(self, table: FormatTable, comm: Comm) -> Mask:  # noqa: ARG002 - of all
        """Return a boolean mask of the rows that satisfy the comparison."""
        found: Mask = self._holds(table.stamps)
        return found


def time_comparison(field: str, operator: str, text: str) -> TimeComparison | None:
    """Return the comparison with seconds, `12.304117` or of nanoseconds `12.304117003`; None: the text is no time."""
    match = _SECONDS.fullmatch(text)
    if match is None:
        return None
    part = match[2] or ""
    ns = int(match[1]) * _SECOND + int(part.ljust(9, "0"))
    if len(part) > SHOWN_DIGITS:
        return TimeComparison(field, operator, ns, ns + 1)
    return TimeComparison(field, operator, earliest(ns), ns + _SECOND // 10**SHOWN_DIGITS // 2)


def interval_clause(field: str, start: int, end: int) -> str:
    """Return the condition for events from a time to before another, both in nanoseconds."""
    return f"{field} >= {_exact(start)} && {field} < {_exact(end)}"


def without_interval(condition: str) -> str:
    """Return a condition without the interval of time that was added to its end; empty: there is nothing else."""
    rest = _ADDED.sub("", condition)
    return condition if _has_alternatives(rest) else rest


def _has_alternatives(condition: str) -> bool:
    """Return whether a condition may have `||` outside of parentheses, so that its end belongs to a part of it."""
    if "||" not in condition:
        return False
    depth = 0
    for number, char in enumerate(condition):
        depth += (char == "(") - (char == ")")
        if char in "\"'" or (depth <= 0 and condition.startswith("||", number)):
            return True
    return False


_ADDED: Final = re.compile(r"(?:^|(?<=\S) && )(time|TIME) >= \d{1,10}\.\d{9} && \1 < \d{1,10}\.\d{9}$", re.ASCII)


def _exact(nanoseconds: int) -> str:
    whole, rest = divmod(nanoseconds, _SECOND)
    return f"{whole}.{rest:09d}"
