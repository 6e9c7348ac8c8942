"""Represent an event's trigger as a value: a hist trigger's clauses, or another trigger; `str()` prints it back.

The grammar is trigger_process_regex and event_trigger_separate_filter in kernel/trace/trace_events_trigger.c, and
parse_hist_trigger_attrs in trace_events_hist.c: `hist:keys=…:vals=…:sort=… if FILTER`, `traceoff:3`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from probes.hist.clause import Action, Assignment, HistClause, HistTerm, SortKey, read_clauses, unlogged_refusal
from probes.syntax.parse_error import ParseError
from probes.syntax.refused import RefusedWord
from probes.syntax.text import kstrtoul
from probes.verdict import Refusal

PLAIN = ("traceon", "traceoff", "snapshot", "stacktrace")
"""Triggers that take at most a count."""
ON_EVENT = ("enable_event", "disable_event", "enable_hist", "disable_hist")
"""Triggers that name the event they act on."""
HIST = "hist"
SPACE = " \t\n\v\f\r"
_DIGIT = re.compile(r"[0-9]")


class SwitchedEvent(NamedTuple):
    """The event that a trigger switches."""

    group: str
    event: str


@dataclass(frozen=True, slots=True)
class PlainTrigger:
    """Any trigger except hist: `stacktrace`, `traceoff:3 if x > 1`, `enable_event:sched:sched_waking`."""

    command: str
    """Name of the trigger, from PLAIN or ON_EVENT."""
    parameter: str = ""
    """Text after the command: `3`, `sched:sched_waking:2`."""
    filter: str = ""
    """Filter on the fields of the event that has the trigger."""
    remove: bool = False
    """True if the command removes such a trigger (`!`)."""
    head: str = field(default="", kw_only=True)
    """Text between the command and its parameter, as written; empty: a colon."""
    link: str = field(default=" if ", kw_only=True)
    """Text before the filter, as written."""

    @property
    def target(self) -> SwitchedEvent | None:
        """The event that the trigger switches; None for a trigger that switches none."""
        if self.command not in ON_EVENT:
            return None
        group, _, rest = self.parameter.partition(":")
        return SwitchedEvent(group, rest.partition(":")[0])

    @property
    def counter(self) -> str | None:
        """The count as written; None: no limit."""
        parts = self.parameter.split(":")
        at = 2 if self.command in ON_EVENT else 0
        return parts[at] if self.parameter and len(parts) > at else None

    @property
    def count(self) -> int | None:
        """Number of times the trigger acts; None: no limit."""
        return None if self.counter is None else kstrtoul(self.counter)

    def __str__(self) -> str:
        middle = f"{self.head or ':'}{self.parameter}" if self.parameter else "" if self.filter else self.head
        return f"{'!' * self.remove}{self.command}{middle}{f'{self.link}{self.filter}' if self.filter else ''}"


@dataclass(frozen=True, slots=True)
class HistTrigger:
    """Histogram that the kernel maintains for an event, with its actions."""

    clauses: tuple[HistClause, ...]
    """Clauses between the colons, in order; of repeated clauses the last counts."""
    filter: str = ""
    remove: bool = False
    """True if the command removes such a histogram (`!`)."""
    head: str = field(default=":", kw_only=True)
    """Text between `hist` and the first clause, as written."""
    link: str = field(default=" if ", kw_only=True)
    """Text before the filter, as written."""

    @classmethod
    def of(
        cls,
        keys: tuple[str, ...],
        values: tuple[str, ...] = (),
        sort: tuple[str, ...] = (),
        size: int | None = None,
        variables: tuple[Assignment, ...] = (),
        actions: tuple[Action, ...] = (),
        name: str = "",
        clock: str = "",
        filter: str = "",  # noqa: A002 - the kernel's word
    ) -> HistTrigger:
        """Build a hist trigger from its parts."""
        clauses = [HistClause("keys", f"keys={','.join(keys)}")]
        clauses += [HistClause("values", f"vals={','.join(values)}")] if values else []
        clauses += [HistClause("variables", ",".join(map(str, variables)))] if variables else []
        clauses += [HistClause("sort", f"sort={','.join(sort)}")] if sort else []
        clauses += [HistClause("size", f"size={size}")] if size is not None else []
        clauses += [HistClause("clock", f"clock={clock}")] if clock else []
        clauses += [HistClause("name", f"name={name}")] if name else []
        clauses += [HistClause("action", str(action)) for action in actions]
        return cls(tuple(clauses), filter)

    def last(self, word: str) -> HistClause | None:
        """Return the last clause of a kind, which is the one that counts; None: there is none."""
        return next((clause for clause in reversed(self.clauses) if clause.word == word), None)

    def _list(self, word: str) -> list[str]:
        clause = self.last(word)
        return clause.value.split(",") if clause is not None else []

    @property
    def keys(self) -> tuple[HistTerm, ...]:
        """Keys that distinguish the entries."""
        return tuple(map(HistTerm, self._list("keys")))

    @property
    def values(self) -> tuple[HistTerm, ...]:
        """Values summed up in addition to the hit count."""
        return tuple(map(HistTerm, self._list("values")))

    @property
    def sort(self) -> tuple[SortKey, ...]:
        """Keys and values that the entries are sorted by."""
        return tuple(map(SortKey, self._list("sort")))

    @property
    def size(self) -> int | None:
        """Number of entries requested; None: the kernel's 2048."""
        clause = self.last("size")
        return None if clause is None else kstrtoul(clause.value)

    @property
    def name(self) -> str:
        """Name under which events share a histogram; empty: the histogram is the event's own."""
        clause = self.last("name")
        return "" if clause is None else clause.value

    @property
    def clock(self) -> str:
        """Clock of `common_timestamp`."""
        clause = self.last("clock")
        return "global" if clause is None else clause.value.strip(SPACE)

    @property
    def variables(self) -> tuple[Assignment, ...]:
        """Variables in the order in which they are set."""
        texts = [clause.text for clause in self.clauses if clause.word == "variables"]
        return tuple(Assignment.read(item) for text in texts for item in text.split(","))

    @property
    def actions(self) -> tuple[Action, ...]:
        """Actions on a hit."""
        return tuple(Action(clause.text) for clause in self.clauses if clause.word == "action")

    def has(self, word: str) -> bool:
        """Return whether there is a clause of a word: `pause`, `continue`, `clear`, `nohitcount`."""
        return self.last(word) is not None

    def __str__(self) -> str:
        parts = ":".join(clause.text for clause in self.clauses)
        return f"{'!' * self.remove}{HIST}{self.head}{parts}{self.link if self.filter else ''}{self.filter}"


Trigger = PlainTrigger | HistTrigger


def parse_trigger(text: str) -> Trigger:
    """Parse a trigger; surrounding white space is removed.

    Raises:
        ParseError: the kernel could not parse the trigger; columns count in the text without that white space.
    """
    text = text.strip(SPACE)
    try:
        return read_trigger(text)
    except RefusedWord as error:
        refused = error.refused
        command = error.command or text
        shift = len(text) - len(command) if error.command else 0
        column = None if refused.code[0].islower() else refused.offset + shift
        raise ParseError(Refusal(refused.code, refused.message, column, refused.token, refused.hint)) from None


def changes_existing_histogram(text: str) -> bool:
    """Return whether a trigger clears or continues an existing histogram, and creates none."""
    try:
        trigger = parse_trigger(text)
    except ParseError:
        return False
    return isinstance(trigger, HistTrigger) and (trigger.has("clear") or trigger.has("continue"))


def read_trigger(text: str, nohitcount: bool = True) -> Trigger:
    """Parse a trigger without surrounding white space, as far as the kernel does before it looks at the event.

    Args:
        text: the command.
        nohitcount: the kernel has the word `nohitcount`.

    Raises:
        RefusedWord: the trigger can't be parsed; for a hist trigger with the command as error_log shows it.
    """
    at = next((i for i, char in enumerate(text) if char in ": \t"), len(text))
    remove, command = text.startswith("!"), text[:at].removeprefix("!")
    rest = text[at + 1 :].lstrip(SPACE)
    head = text[at : len(text) - len(rest)]
    if command == HIST:
        if not rest:
            raise unlogged_refusal("A histogram needs keys=FIELD", text)
        parameter, link, condition = _split_filter(rest)
        return HistTrigger(
            read_clauses(parameter, len(text) - len(rest), f"hist:{rest}", nohitcount),
            condition,
            remove,
            head=head,
            link=link,
        )
    if command not in (*PLAIN, *ON_EVENT):
        raise unlogged_refusal("Triggers: traceon traceoff snapshot stacktrace enable_event disable_event hist", text)
    return _parse_plain(command, rest, remove, head)


def _split_filter(rest: str) -> tuple[str, str, str]:
    """Split a hist trigger into its clauses, the text between, and the filter. Raises RefusedWord."""
    at = rest.find("if")
    while at >= 0:
        if not at:
            raise unlogged_refusal("A histogram needs keys=FIELD", rest)
        if rest[at - 1] in " \t":
            if at >= len(rest) - 3:
                raise unlogged_refusal("No filter after 'if'", rest)
            if rest[at + 2] in " \t":
                before = rest[: at - 1].rstrip(SPACE)
                return before, rest[len(before) : at + 3], rest[at + 3 :]
        at = rest.find("if", at + 1)
    return rest, " if ", ""


def _parse_plain(command: str, rest: str, remove: bool, head: str) -> PlainTrigger:
    """Parse the text after the command of a trigger that is no histogram. Raises RefusedWord."""
    parameter, blank, condition = "", "", rest
    if command in ON_EVENT or _DIGIT.match(rest):
        match = re.match(r"[^ \t]*", rest)
        parameter = match.group() if match else ""
        condition = rest[len(parameter) + 1 :].lstrip(SPACE)
        blank = rest[len(parameter) : len(rest) - len(condition)]
    if command in ON_EVENT and ":" not in parameter:
        raise unlogged_refusal("Name the event: enable_event:GROUP:EVENT", rest)
    if not condition:
        return PlainTrigger(command, parameter, remove=remove, head=head)
    word = re.match(r"if[ \t]", condition)
    if word is None and not remove:
        raise unlogged_refusal("Behind it comes a count, or `if` and a filter", condition)
    if_word = condition[: word.end()] if word is not None else ""  # a deletion checks neither count nor filter
    link = (blank or head) + if_word
    return PlainTrigger(command, parameter, condition[len(if_word) :], remove, head=head, link=link)
