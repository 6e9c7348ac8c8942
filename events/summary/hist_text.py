"""What the kernel prints of the histograms of an event: its `hist` file.

hist_trigger_show and hist_trigger_print_key in kernel/trace/trace_events_hist.c. Several histograms of one event
stand one behind the other, each with its trigger above and its totals below. The text of a key comes from processes:
it may hold anything. A head counts only at the beginning or behind the totals of the histogram before, and of totals
the last ones below a head: who forges both has to know the whole of the form.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from foreign.text import whole_number

_TOTALS_FORM = r"\nTotals:\n +Hits: (\d{1,20})\n +Entries: (\d{1,20})\n +Dropped: (\d{1,20})"
_TOTALS = re.compile(_TOTALS_FORM + r"\n*\Z")
_HEAD = re.compile(
    rf"(?:\A|{_TOTALS_FORM}\n\n+)(?P<head># event histogram\n#\n# trigger info: (?P<trigger>.*) "
    r"\[(?P<state>active|paused)\]\n#\n)"
)
_VALUE = re.compile(r"(?<![^\s:])([^\s:]++)( \(%\))?: ++(-?\d{1,24}(?:\.\d{1,24})?|#{1,100}+)(?=  | ?$)", re.ASCII)
"""A number, or the bar that `.graph` makes of one."""
_LOG2 = re.compile(r"~ 2\^(\d{1,20}) *", re.ASCII)
_BUCKET = re.compile(r"~ (\d{1,20})-(\d{1,20}) *", re.ASCII)
_BRACKETS = re.compile(r"\[ *+([0-9a-f]{1,20})\]")


class Key(NamedTuple):
    """One key of an entry."""

    name: str
    """Of the field."""
    modifier: str
    """`log2`, `hex`, `sym`, `execname`, `buckets=32`, …; empty: none."""
    text: str
    """As it is printed, without what fills the line."""

    @property
    def number(self) -> int | None:
        """The number: of `log2` the power, of `buckets` where it begins, of an address or a process its own.

        None where it is a text. The kernel prints what is below 0 as that plus 2^64.
        """
        if self.modifier == "log2":
            match = _LOG2.fullmatch(self.text)
        elif self.modifier.startswith("buckets"):
            match = _BUCKET.fullmatch(self.text)
        elif self.modifier in ("sym", "sym-offset"):
            match = _BRACKETS.match(self.text)
        elif self.modifier in ("execname", "syscall"):
            match = next(reversed(list(_BRACKETS.finditer(self.text))), None)
        else:
            digits = "0123456789abcdef" if self.modifier == "hex" else "0123456789"
            whole = bool(self.text) and not self.text.strip(digits)
            return whole_number(self.text, len(digits)) if whole else None
        base = 16 if self.modifier.startswith("sym") else 10
        return whole_number(match[1], base) if match else None

    @property
    def label(self) -> str:
        """For people: the name where there is one beside the number."""
        named = self.modifier in ("execname", "syscall")
        if self.modifier in ("sym", "sym-offset"):
            return self.text.partition("] ")[2] or self.text
        return self.text.rpartition("[")[0].strip() if named else self.text


class Entry(NamedTuple):
    """What has the same keys."""

    keys: tuple[Key, ...]
    values: dict[str, float]
    """By name; `hitcount` unless it was left out, shares in percent with ` (%)` behind their name."""
    shown: tuple[tuple[str, str], ...] = ()
    """Names and texts of all values in the kernel's order, bars of `.graph` with them."""

    @property
    def hits(self) -> int:
        """How often it came; 0 where that was left out."""
        return int(self.values.get("hitcount", 0))


class Histogram(NamedTuple):
    """One histogram."""

    trigger: str
    """As the kernel lists it."""
    active: bool
    entries: tuple[Entry, ...]
    hits: int
    """All events, those included for which there was no room."""
    room_taken: int
    """Entries as the kernel counts them."""
    dropped: int
    """Events for whose keys there was no room."""


class Section(NamedTuple):
    """One histogram of a `hist` file, its entries unread."""

    trigger: str
    """As the kernel lists it."""
    active: bool
    body: slice
    """Where in the text its entries are."""
    totals: tuple[int, int, int]
    """Hits, entries, dropped."""


def sections(text: str) -> tuple[Section, ...]:
    """Find the histograms of a `hist` file; what is cut off has no totals and is left out."""
    heads = list(_HEAD.finditer(text))
    found: list[Section] = []
    for number, head in enumerate(heads):
        end = heads[number + 1].start("head") if number + 1 < len(heads) else len(text)
        # Its line break may be that of the head's last line.
        if totals := _TOTALS.search(text, head.end() - 1, end):
            hits, entries, dropped = map(int, totals.groups())
            body = slice(head.end(), totals.start())
            found.append(Section(head["trigger"], head["state"] == "active", body, (hits, entries, dropped)))
    return tuple(found)


def parse_hist(text: str, texts: Collection[str] = ()) -> tuple[Histogram, ...]:
    """Read a `hist` file; what is cut off has no totals and is left out.

    Args:
        text: of the file.
        texts: names of the event's fields that are texts, which processes choose.
    """
    return tuple(
        Histogram(one.trigger, one.active, _entries(text[one.body], keys_of(one.trigger), texts), *one.totals)
        for one in sections(text)
    )


def keys_of(trigger: str) -> list[tuple[str, str]]:
    """Names and modifiers of the keys of a trigger."""
    listed = trigger.partition("keys=")[2].split(":", 1)[0]
    return [_named(term) for term in listed.split(",")]


def values_of(trigger: str) -> list[str]:
    """Names of the values that the entries of a trigger have, as `Entry.shown` has them."""
    listed = trigger.partition(":vals=")[2].split(":", 1)[0]
    named = map(_named, filter(None, listed.split(",")))
    return [f"{name} (%)" if modifier == "percent" else name for name, modifier in named]


def _named(term: str) -> tuple[str, str]:
    name, _, modifier = term.partition(".")
    half = name[: len(name) // 2]
    # Linux 6.16 to 7.3 list `common_cpu` as `common_cpucommon_cpu`.
    return (half if half == "common_cpu" and half * 2 == name else name), modifier


def _entries(text: str, names: list[tuple[str, str]], texts: Collection[str]) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    lines: list[str] = []
    for line in text.split("\n"):
        if not lines and not line.startswith("{ "):
            continue  # comments, blank lines, and what onmax() and onchange() keep
        lines.append(line)
        # The last bracket is that behind the keys: what follows it are numbers and bars.
        end = line.rfind("}")
        if end >= 0 and line[end + 1 : end + 2] in ("", " "):
            shown = tuple((name + percent, text) for name, percent, text in _VALUE.findall(line[end + 1 :]))
            values = {name: float(text) for name, text in shown if not text.startswith("#")}
            body = "\n".join([*lines[:-1], line[:end]])
            entries.append(Entry(_keys(body.removeprefix("{ "), names, texts), values, shown))
            lines = []
    return tuple(entries)


def _keys(body: str, names: list[tuple[str, str]], texts: Collection[str]) -> tuple[Key, ...]:
    """Take the keys of an entry apart; what does not read as they should stays with the key before."""
    places = _places(body, names, texts)
    if not places:  # no kernel writes so; whoever reads entries may rely on a key
        return (Key(*names[0], body.strip()),)
    pairs = zip(names, zip(places, [*places[1:], len(body)], strict=True), strict=False)
    return tuple(
        Key(name, modifier, body[begin:end].partition(f"{name}:")[2].strip())
        for (name, modifier), (begin, end) in pairs
    )


def _places(body: str, names: list[tuple[str, str]], texts: Collection[str]) -> list[int]:
    """Return where the keys begin, as far as they are there.

    The text of a process may look like the keys behind it: those that are numbers are looked for from the end.
    """
    chosen = {*texts, "comm", "common_comm"}
    of_process = [n for n, (name, modifier) in enumerate(names) if name in chosen or modifier == "execname"]
    last = max(of_process, default=len(names) - 1)
    behind: list[int] = []
    end = len(body)
    for name, _ in reversed(names[last + 1 :]):
        end = body.rfind(f", {name}:", 0, end)
        behind.insert(0, end)
    if end < 0:
        last, end, behind = len(names) - 1, len(body), []
    places: list[int] = []
    at = 0
    for number, (name, _) in enumerate(names[: last + 1]):
        found = body.find(f"{', ' if number else ''}{name}:", at, end)
        if found < 0:
            return places
        places.append(found)
        at = found + len(name) + 1
    return places + behind
