"""A trigger of an event as a value: a hist trigger's parts, or one of the others; `str()` gives the text back.

The grammar is trigger_process_regex and event_trigger_separate_filter in kernel/trace/trace_events_trigger.c, and
parse_hist_trigger_attrs in trace_events_hist.c: `hist:keys=…:vals=…:sort=… if FILTER`, `traceoff:3`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from probes.hist.clause import Action, Assignment, HistClause, HistTerm, SortKey, read_clauses, silent
from probes.syntax.parse_error import ParseError
from probes.syntax.refused import RefusedWord
from probes.syntax.text import kstrtoul
from probes.verdict import Refusal

PLAIN = ("traceon", "traceoff", "snapshot", "stacktrace")
"""Triggers that take a count at most."""
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
    """Any trigger but hist: `stacktrace`, `traceoff:3 if x > 1`, `enable_event:sched:sched_waking`."""

    command: str
    """One of PLAIN or ON_EVENT."""
    parameter: str = ""
    """What stands behind the command: `3`, `sched:sched_waking:2`."""
    filter: str = ""
    """On the fields of the event that has the trigger."""
    remove: bool = False
    """Whether it takes such a trigger away (`!`)."""
    head: str = field(default="", kw_only=True)
    """Between the command and what follows, as written; empty: a colon."""
    link: str = field(default=" if ", kw_only=True)
    """Before the filter, as written."""

    @property
    def target(self) -> SwitchedEvent | None:
        """The event it switches; None for those that switch none."""
        if self.command not in ON_EVENT:
            return None
        group, _, rest = self.parameter.partition(":")
        return SwitchedEvent(group, rest.partition(":")[0])

    @property
    def counter(self) -> str | None:
        """The count as written; None: as often as the event happens."""
        parts = self.parameter.split(":")
        at = 2 if self.command in ON_EVENT else 0
        return parts[at] if self.parameter and len(parts) > at else None

    @property
    def count(self) -> int | None:
        """How often it acts; None: no limit."""
        return None if self.counter is None else kstrtoul(self.counter)

    def __str__(self) -> str:
        middle = f"{self.head or ':'}{self.parameter}" if self.parameter else "" if self.filter else self.head
        return f"{'!' * self.remove}{self.command}{middle}{f'{self.link}{self.filter}' if self.filter else ''}"


@dataclass(frozen=True, slots=True)
class HistTrigger:
    """A histogram that the kernel keeps of an event, and what it does beside."""

    clauses: tuple[HistClause, ...]
    """The parts between the colons, in their order; of parts that are there twice the last one counts."""
    filter: str = ""
    remove: bool = False
    """Whether it takes such a histogram away (`!`)."""
    head: str = field(default=":", kw_only=True)
    """Between `hist` and the first part, as written."""
    link: str = field(default=" if ", kw_only=True)
    """Before the filter, as written."""

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
        """Build one from its parts."""
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
        """The part of a kind that counts; None: there is none."""
        return next((clause for clause in reversed(self.clauses) if clause.word == word), None)

    def _list(self, word: str) -> list[str]:
        clause = self.last(word)
        return clause.value.split(",") if clause is not None else []

    @property
    def keys(self) -> tuple[HistTerm, ...]:
        """What the entries are told apart by."""
        return tuple(map(HistTerm, self._list("keys")))

    @property
    def values(self) -> tuple[HistTerm, ...]:
        """What is summed up besides the count of hits."""
        return tuple(map(HistTerm, self._list("values")))

    @property
    def sort(self) -> tuple[SortKey, ...]:
        """What the entries are sorted by."""
        return tuple(map(SortKey, self._list("sort")))

    @property
    def size(self) -> int | None:
        """How many entries it has room for, as asked; None: the kernel's 2048."""
        clause = self.last("size")
        return None if clause is None else kstrtoul(clause.value)

    @property
    def name(self) -> str:
        """Name under which events share a histogram; empty: it is the event's own."""
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
        """What happens with a hit."""
        return tuple(Action(clause.text) for clause in self.clauses if clause.word == "action")

    def has(self, word: str) -> bool:
        """Whether a part of one word is there: `pause`, `continue`, `clear`, `nohitcount`."""
        return self.last(word) is not None

    def __str__(self) -> str:
        parts = ":".join(clause.text for clause in self.clauses)
        return f"{'!' * self.remove}{HIST}{self.head}{parts}{self.link if self.filter else ''}{self.filter}"


Trigger = PlainTrigger | HistTrigger


def parse_trigger(text: str) -> Trigger:
    """Read a trigger; white space around it goes.

    Raises:
        ParseError: the kernel could not read it so far; columns are those of the text without that white space.
    """
    text = text.strip(SPACE)
    try:
        return read_trigger(text)
    except RefusedWord as error:
        refused = error.refused
        shown = error.command or text
        shift = len(text) - len(shown) if error.command else 0
        column = None if refused.code[0].islower() else refused.offset + shift
        raise ParseError(Refusal(refused.code, refused.message, column, refused.token, refused.hint)) from None


def is_of_another(text: str) -> bool:
    """Return whether a trigger clears or continues a histogram that has to be there, and is none of its own."""
    try:
        trigger = parse_trigger(text)
    except ParseError:
        return False
    return isinstance(trigger, HistTrigger) and (trigger.has("clear") or trigger.has("continue"))


def read_trigger(text: str, nohitcount: bool = True) -> Trigger:
    """Read a trigger without white space around it as far as the kernel does before it looks at the event.

    Args:
        text: the command.
        nohitcount: the kernel knows `nohitcount`.

    Raises:
        At: of a hist trigger with the command as error_log shows it.
    """
    at = next((i for i, char in enumerate(text) if char in ": \t"), len(text))
    remove, command = text.startswith("!"), text[:at].removeprefix("!")
    rest = text[at + 1 :].lstrip(SPACE)
    head = text[at : len(text) - len(rest)]
    if command == HIST:
        if not rest:
            raise silent("A histogram needs keys=FIELD", text)
        parameter, link, condition = _split_filter(rest)
        return HistTrigger(
            read_clauses(parameter, len(text) - len(rest), f"hist:{rest}", nohitcount),
            condition,
            remove,
            head=head,
            link=link,
        )
    if command not in (*PLAIN, *ON_EVENT):
        raise silent("Triggers: traceon traceoff snapshot stacktrace enable_event disable_event hist", text)
    return _plain(command, rest, remove, head)


def _split_filter(rest: str) -> tuple[str, str, str]:
    """Tell a hist trigger's parts from its filter: parts, what stands between, filter. Raises At."""
    at = rest.find("if")
    while at >= 0:
        if not at:
            raise silent("A histogram needs keys=FIELD", rest)
        if rest[at - 1] in " \t":
            if at >= len(rest) - 3:
                raise silent("No filter after 'if'", rest)
            if rest[at + 2] in " \t":
                before = rest[: at - 1].rstrip(SPACE)
                return before, rest[len(before) : at + 3], rest[at + 3 :]
        at = rest.find("if", at + 1)
    return rest, " if ", ""


def _plain(command: str, rest: str, remove: bool, head: str) -> PlainTrigger:
    """Read what follows the command of a trigger that is no histogram. Raises At."""
    parameter, blank, condition = "", "", rest
    if command in ON_EVENT or _DIGIT.match(rest):
        match = re.match(r"[^ \t]*", rest)
        parameter = match.group() if match else ""
        condition = rest[len(parameter) + 1 :].lstrip(SPACE)
        blank = rest[len(parameter) : len(rest) - len(condition)]
    if command in ON_EVENT and ":" not in parameter:
        raise silent("Name the event: enable_event:GROUP:EVENT", rest)
    if not condition:
        return PlainTrigger(command, parameter, remove=remove, head=head)
    word = re.match(r"if[ \t]", condition)
    if word is None and not remove:
        raise silent("Behind it comes a count, or `if` and a filter", condition)
    taken = condition[: word.end()] if word is not None else ""  # a deletion looks at neither count nor filter
    link = (blank or head) + taken
    return PlainTrigger(command, parameter, condition[len(taken) :], remove, head=head, link=link)
