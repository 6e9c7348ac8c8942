"""The parts of a hist trigger, between its colons (parse_hist_trigger_attrs in kernel/trace/trace_events_hist.c)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from probes.facts.errors_table import HIST_MESSAGES
from probes.syntax.refused import Refused, RefusedWord
from probes.syntax.text import kstrtoul

MAX_VARIABLES = 16
"""Variables of one histogram (TRACING_MAP_VARS_MAX)."""
MAX_ACTIONS = 8
"""HIST_ACTIONS_MAX."""
MIN_SIZE, MAX_SIZE = 1 << 7, 1 << 17
"""Entries, rounded up to a power of two (TRACING_MAP_BITS_MIN, _MAX)."""
HANDLERS = ("onmatch", "onmax", "onchange")
_ASSIGNED = {
    "key": "keys",
    "keys": "keys",
    "val": "values",
    "vals": "values",
    "values": "values",
    "sort": "sort",
    "name": "name",
    "clock": "clock",
    "size": "size",
}
_WORDS = {
    "nohitcount": "nohitcount",
    "NOHC": "nohitcount",
    "pause": "pause",
    "cont": "continue",
    "continue": "continue",
    "clear": "clear",
}
SILENT = "refused_without_message"


class HistTerm(NamedTuple):
    """A key or a value: a field with its modifier, a variable, or an expression of them."""

    text: str

    @property
    def is_expression(self) -> bool:
        """Whether it is computed from several."""
        plain = self.text.replace(".sym-offset", "")
        return any(operator in plain for operator in "+-*/")

    @property
    def name(self) -> str:
        """The field's name, or the whole expression."""
        return self.text if self.is_expression else self.text.partition(".")[0]

    @property
    def modifier(self) -> str:
        """How it is shown: `hex`, `log2`, `buckets=10`; empty: as it is."""
        return "" if self.is_expression else self.text.partition(".")[2]

    def __str__(self) -> str:
        return self.text


class SortKey(NamedTuple):
    """A field to sort by."""

    text: str

    @property
    def name(self) -> str:
        """A key, a value or `hitcount`."""
        return self.text.partition(".")[0]

    @property
    def descending(self) -> bool:
        """Whether the greatest comes first."""
        return self.text.partition(".")[2] == "descending"

    def __str__(self) -> str:
        return self.text


class Assignment(NamedTuple):
    """A variable and what it is set to."""

    name: str
    expression: str | None
    """None: the `=` is missing."""

    @classmethod
    def read(cls, text: str) -> Assignment:
        """Read `name=expression`."""
        name, sign, expression = text.partition("=")
        return cls(name, expression if sign else None)

    def __str__(self) -> str:
        return self.name if self.expression is None else f"{self.name}={self.expression}"


class Action(NamedTuple):
    """A handler with its action: `onmatch(sched.sched_waking).trace(wakeup,$lat)`, `onmax($lat).save(comm)`."""

    text: str

    @classmethod
    def of(cls, handler: str, subject: str, call: str, *params: str) -> Action:
        """Build one from its parts."""
        return cls(f"{handler}({subject}).{call}({','.join(params)})")

    @property
    def handler(self) -> str:
        """One of HANDLERS."""
        return self.text.partition("(")[0]

    @property
    def subject(self) -> str:
        """The event that must match, or the variable that is watched."""
        return self.text.partition("(")[2].partition(")")[0]

    @property
    def behind(self) -> str | None:
        """What follows the handler; None where it isn't closed."""
        _, closing, rest = self.text.partition("(")[2].partition(")")
        return rest if closing else None

    @property
    def call(self) -> str | None:
        """Name of the action: `trace`, `save`, `snapshot` or a synthetic event's; None: there is none."""
        _, dot, text = (self.behind or "").partition(".")
        name, bracket, _ = text.partition("(")
        return name if dot and bracket else None

    @property
    def arguments(self) -> str:
        """What stands in the action's brackets, and behind where they aren't closed."""
        return (self.behind or "").partition(".")[2].partition("(")[2].partition(")")[0]

    @property
    def closed(self) -> bool:
        """Whether the action's bracket is closed."""
        return ")" in (self.behind or "").partition(".")[2].partition("(")[2]

    @property
    def params(self) -> tuple[str, ...]:
        """The arguments one by one."""
        return tuple(param.strip() for param in self.arguments.split(",")) if self.arguments.strip() else ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class HistClause:
    """One part."""

    word: str
    """`keys`, `values`, `sort`, `size`, `name`, `clock`, `variables`, `action`, `pause`, `continue`, `clear` or
    `nohitcount`."""
    text: str
    """As written, whole."""
    column: int = field(default=0, compare=False)
    """Where it begins in the command."""

    @property
    def value(self) -> str:
        """What stands behind the first `=`."""
        return self.text.partition("=")[2]


def silent(hint: str, token: str = "") -> RefusedWord:
    """Build a refusal of which error_log has nothing."""
    return RefusedWord(Refused(SILENT, 0, token, hint=hint))


def logged(command: str, code: str, token: str) -> RefusedWord:
    """Build a refusal with its line in error_log: the caret stands where the token occurs first (err_pos)."""
    error = Refused(code, error_column(command, token), token, message=HIST_MESSAGES[code])
    return RefusedWord(error, command=command)


def error_column(command: str, token: str) -> int:
    """Give the column at which the kernel puts the caret: of the token's first occurrence, 0 where it has none."""
    return max(command.find(token), 0)


def inner(text: str) -> str:
    """Give the text as the kernel works on it: the hyphen of `.sym-offset` is no operator."""
    return text.replace(".sym-offset", ".symXoffset")


def read_clauses(text: str, column: int, command: str, nohitcount: bool) -> tuple[HistClause, ...]:
    """Read the parts of a hist trigger.

    Args:
        text: what stands between `hist:` and the filter.
        column: where it begins in what was written.
        command: what error_log shows.
        nohitcount: the kernel knows that word.

    Raises:
        At: a part can't be read, or `keys=` is missing.
    """
    clauses: list[HistClause] = []
    for part in text.split(":"):
        clauses.append(_clause(part, column, command, clauses, nohitcount))
        column += len(part) + 1
    if not any(clause.word == "keys" for clause in clauses):
        raise silent("A histogram needs keys=FIELD", text)
    return tuple(clauses)


def _clause(text: str, column: int, command: str, before: list[HistClause], nohitcount: bool) -> HistClause:
    name, sign, value = text.partition("=")
    if not sign:
        word = _WORDS.get(text)
        if word is None or (word == "nohitcount" and not nohitcount):
            _check_action(text, before)
            word = "action"
        return HistClause(word, text, column)
    if not value:
        raise logged(command, "EMPTY_ASSIGNMENT", inner(text))
    word = _ASSIGNED.get(name, "variables")
    if word == "size" and not _fits(value):
        raise silent(f"size= is a number from {MIN_SIZE // 2 + 1} to {MAX_SIZE}", value)
    if word == "variables" and sum(clause.word == word for clause in before) == MAX_VARIABLES:
        raise logged(command, "TOO_MANY_VARS", inner(text))
    return HistClause(word, text, column)


def _check_action(text: str, before: list[HistClause]) -> None:
    if not text.startswith(tuple(f"{handler}(" for handler in HANDLERS)):
        raise silent(
            "Parts: keys= vals= sort= size= name= NAME=… pause continue clear onmatch() onmax() onchange()", text
        )
    if sum(clause.word == "action" for clause in before) == MAX_ACTIONS:
        raise silent(f"At most {MAX_ACTIONS} actions", text)


def _fits(value: str) -> bool:
    size = kstrtoul(value)
    return size is not None and MIN_SIZE // 2 < size <= MAX_SIZE
