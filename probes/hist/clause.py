"""Parse the clauses of a hist trigger, between its colons (parse_hist_trigger_attrs in
kernel/trace/trace_events_hist.c).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from probes.facts.errors_table import HIST_MESSAGES
from probes.syntax.refused import Refused, RefusedWord
from probes.syntax.text import kstrtoul

MAX_VARIABLES = 16
"""Largest number of variables of a histogram (TRACING_MAP_VARS_MAX)."""
MAX_ACTIONS = 8
"""Largest number of actions of a histogram (HIST_ACTIONS_MAX)."""
MIN_SIZE, MAX_SIZE = 1 << 7, 1 << 17
"""Numbers of entries, rounded up to a power of two (TRACING_MAP_BITS_MIN, _MAX)."""
HANDLERS = ("onmatch", "onmax", "onchange")
_ASSIGNMENT_WORDS = {
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
    """A key or a value of a histogram: a field with its modifier, a variable, or an expression of them."""

    text: str

    @property
    def is_expression(self) -> bool:
        """True if the term has operators."""
        plain = self.text.replace(".sym-offset", "")
        return any(operator in plain for operator in "+-*/")

    @property
    def name(self) -> str:
        """The field's name, or the whole expression."""
        return self.text if self.is_expression else self.text.partition(".")[0]

    @property
    def modifier(self) -> str:
        """Format of the value: `hex`, `log2`, `buckets=10`; empty: the default."""
        return "" if self.is_expression else self.text.partition(".")[2]

    def __str__(self) -> str:
        return self.text


class SortKey(NamedTuple):
    """Field by which a histogram is sorted."""

    text: str

    @property
    def name(self) -> str:
        """Name of a key, a value or `hitcount`."""
        return self.text.partition(".")[0]

    @property
    def descending(self) -> bool:
        """True if the greatest value comes first."""
        return self.text.partition(".")[2] == "descending"

    def __str__(self) -> str:
        return self.text


class Assignment(NamedTuple):
    """A variable of a histogram and the expression it is set to."""

    name: str
    expression: str | None
    """Expression as written; None: the `=` is missing."""

    @classmethod
    def read(cls, text: str) -> Assignment:
        """Parse `name=expression`."""
        name, sign, expression = text.partition("=")
        return cls(name, expression if sign else None)

    def __str__(self) -> str:
        return self.name if self.expression is None else f"{self.name}={self.expression}"


class Action(NamedTuple):
    """A handler with its action: `onmatch(sched.sched_waking).trace(wakeup,$lat)`, `onmax($lat).save(comm)`."""

    text: str

    @classmethod
    def of(cls, handler: str, subject: str, call: str, *params: str) -> Action:
        """Build an action from its parts."""
        return cls(f"{handler}({subject}).{call}({','.join(params)})")

    @property
    def handler(self) -> str:
        """Name of the handler, which is in HANDLERS."""
        return self.text.partition("(")[0]

    @property
    def subject(self) -> str:
        """The event that must match, or the variable that is tracked."""
        return self.text.partition("(")[2].partition(")")[0]

    @property
    def trailing_text(self) -> str | None:
        """Text after the handler; None where its bracket isn't closed."""
        _, closing, rest = self.text.partition("(")[2].partition(")")
        return rest if closing else None

    @property
    def call(self) -> str | None:
        """Name of the action: `trace`, `save`, `snapshot` or a synthetic event's; None: there is none."""
        _, dot, text = (self.trailing_text or "").partition(".")
        name, bracket, _ = text.partition("(")
        return name if dot and bracket else None

    @property
    def arguments(self) -> str:
        """Text in the action's brackets; where they aren't closed, all text after the opening bracket."""
        return (self.trailing_text or "").partition(".")[2].partition("(")[2].partition(")")[0]

    @property
    def closed(self) -> bool:
        """True if the action's bracket is closed."""
        return ")" in (self.trailing_text or "").partition(".")[2].partition("(")[2]

    @property
    def params(self) -> tuple[str, ...]:
        """The action's arguments, separated."""
        return tuple(param.strip() for param in self.arguments.split(",")) if self.arguments.strip() else ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class HistClause:
    """Clause of a hist trigger."""

    word: str
    """`keys`, `values`, `sort`, `size`, `name`, `clock`, `variables`, `action`, `pause`, `continue`, `clear` or
    `nohitcount`."""
    text: str
    """The whole clause as written."""
    column: int = field(default=0, compare=False)
    """Column in the command where the clause begins."""

    @property
    def value(self) -> str:
        """Text after the first `=`."""
        return self.text.partition("=")[2]


def unlogged_refusal(hint: str, token: str = "") -> RefusedWord:
    """Build a rejection that the kernel doesn't write to error_log."""
    return RefusedWord(Refused(SILENT, 0, token, hint=hint))


def logged_refusal(command: str, code: str, token: str) -> RefusedWord:
    """Build a rejection with its line in error_log: the caret is at the token's first occurrence (err_pos)."""
    error = Refused(code, error_column(command, token), token, message=HIST_MESSAGES[code])
    return RefusedWord(error, command=command)


def error_column(command: str, token: str) -> int:
    """Return the column of the kernel's caret: the token's first occurrence, 0 where it has none."""
    return max(command.find(token), 0)


def inner(text: str) -> str:
    """Return the text as the kernel parses it: the hyphen of `.sym-offset` is not an operator."""
    return text.replace(".sym-offset", ".symXoffset")


def read_clauses(text: str, column: int, command: str, nohitcount: bool) -> tuple[HistClause, ...]:
    """Parse the clauses of a hist trigger.

    Args:
        text: the text between `hist:` and the filter.
        column: column in the written command where the text begins.
        command: the command as error_log shows it.
        nohitcount: the kernel has the word `nohitcount`.

    Raises:
        RefusedWord: a clause can't be parsed, or `keys=` is missing.
    """
    clauses: list[HistClause] = []
    for part in text.split(":"):
        clauses.append(_clause(part, column, command, clauses, nohitcount))
        column += len(part) + 1
    if not any(clause.word == "keys" for clause in clauses):
        raise unlogged_refusal("A histogram needs keys=FIELD", text)
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
        raise logged_refusal(command, "EMPTY_ASSIGNMENT", inner(text))
    word = _ASSIGNMENT_WORDS.get(name, "variables")
    if word == "size" and not _valid_size(value):
        raise unlogged_refusal(f"size= is a number from {MIN_SIZE // 2 + 1} to {MAX_SIZE}", value)
    if word == "variables" and sum(clause.word == word for clause in before) == MAX_VARIABLES:
        raise logged_refusal(command, "TOO_MANY_VARS", inner(text))
    return HistClause(word, text, column)


def _check_action(text: str, before: list[HistClause]) -> None:
    if not text.startswith(tuple(f"{handler}(" for handler in HANDLERS)):
        raise unlogged_refusal(
            "Parts: keys= vals= sort= size= name= NAME=… pause continue clear onmatch() onmax() onchange()", text
        )
    if sum(clause.word == "action" for clause in before) == MAX_ACTIONS:
        raise unlogged_refusal(f"At most {MAX_ACTIONS} actions", text)


def _valid_size(value: str) -> bool:
    size = kstrtoul(value)
    return size is not None and MIN_SIZE // 2 < size <= MAX_SIZE
