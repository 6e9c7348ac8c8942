"""What the kernel prints of the histograms of an event: its `hist` file.

hist_trigger_show and hist_trigger_print_key in kernel/trace/trace_events_hist.c. Several histograms of one event
stand one behind the other, each with its trigger above and its totals below. The text of a key comes from processes:
it may hold anything, line breaks too. A head counts only at the beginning or behind the totals of the histogram
before, and of totals the last ones below a head; that a text forges both shows in the number of histograms, which the
caller knows. That it forges entries shows in the number of entries, which stands in the totals; keys
that it forges are told by what the kernel fills a text up to (`hist_padding`).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from events.summary.hist_padding import padded_places
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
    def is_stack(self) -> bool:
        """Whether it is a stack, each frame in a line of its own; line breaks of other keys are part of a text."""
        return self.modifier == "stacktrace" or self.name in ("common_stacktrace", "stacktrace")

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


class Unsure(NamedTuple):
    """What has the same keys, which can't be told apart: where it begins and ends is sure, and so are its values."""

    text: str
    """All keys with their names, as they are printed."""
    shown: tuple[tuple[str, str], ...]
    """As `Entry.shown`."""
    readings: int
    """In how many ways the keys can be read."""


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
    alike: int = 0
    """As how many entries the text can be read, where they are more than there are; 0: all is well. Where the text of
    a key looks like entries, none is sure, and `entries` is empty; where it looks like the keys behind it, only its
    own entry is not: see `unsure`."""
    unsure: tuple[Unsure, ...] = ()
    """Entries that are none of `entries`, as their keys can be read in several ways."""


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
    return tuple(_histogram(one, text[one.body], texts) for one in sections(text))


def may_be_forged(text: str, texts: Collection[str] = ()) -> bool:
    """Return whether a `hist` file has a key whose text is a process's own; arguments as for `parse_hist`."""
    return any(_of_processes(keys_of(one.trigger), texts) for one in sections(text))


def _histogram(section: Section, body: str, texts: Collection[str]) -> Histogram:
    names = keys_of(section.trigger)
    entries, unsure = _entries(body, names, values_of(section.trigger), texts)
    _, counted, _ = section.totals
    readings = len(entries) + sum(one.readings for one in unsure)
    if len(entries) + len(unsure) > counted and _of_processes(names, texts):
        return Histogram(section.trigger, section.active, (), *section.totals, readings)
    alike = readings if unsure else 0
    return Histogram(section.trigger, section.active, tuple(entries), *section.totals, alike, tuple(unsure))


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


def _entries(
    text: str, names: list[tuple[str, str]], values: list[str], texts: Collection[str]
) -> tuple[list[Entry], list[Unsure]]:
    """Read what looks like entries: each from a line that begins as one to the last line that ends as one.

    Returns them, and apart those of which the text of a key looks like the keys behind it.
    """
    lines = text.split("\n")
    begin = re.compile(rf"{{ {re.escape(names[0][0])}[.:]")
    if not any(map(begin.match, lines)):
        begin = re.compile("{ ")  # no kernel writes so
    tails = [_tail(line, values) for line in lines]
    starts: list[int] = []
    ended = True
    for at, line in enumerate(lines):
        if ended and begin.match(line):
            starts.append(at)
        # Between two entries stands at most what onmax() and onchange() keep.
        ended = tails[at] is not None or (ended and (not line or line.startswith("\t")))
    entries: list[Entry] = []
    unsure: list[Unsure] = []
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=False):
        end = next((at for at in range(stop - 1, start - 1, -1) if tails[at] is not None), None)
        if end is None:
            continue  # of an entry that is cut off
        body = "\n".join([*lines[start:end], lines[end][: lines[end].rfind("}")]])
        shown = tails[end] or ()
        numbers = {name: float(value) for name, value in shown if not value.startswith("#")}
        body = body.removeprefix("{ ")
        places, *others = _places(body, names, texts)
        if others:
            unsure.append(Unsure(body.strip(), shown, 1 + len(others)))
        else:
            entries.append(Entry(_keys(body, names, places), numbers, shown))
    return entries, unsure


def _tail(line: str, values: list[str]) -> tuple[tuple[str, str], ...] | None:
    """Return the values behind the last bracket of a line, which are numbers and bars; None: no entry ends so."""
    at = line.rfind("}")
    if at < 0 or line[at + 1 : at + 2] not in ("", " "):
        return None
    tail = line[at + 1 :]
    shown = tuple((name + percent, text) for name, percent, text in _VALUE.findall(tail))
    told = [name for name, _ in shown]
    there = [name for name in values if name in told]  # a bar may be of no length
    return shown if not values or told == there else None


def _of_processes(names: list[tuple[str, str]], texts: Collection[str]) -> list[int]:
    """Return the numbers of the keys whose text processes choose."""
    chosen = {*texts, "comm", "common_comm"}
    return [n for n, (name, modifier) in enumerate(names) if name in chosen or modifier == "execname"]


def _keys(body: str, names: list[tuple[str, str]], places: list[int]) -> tuple[Key, ...]:
    """Take the keys of an entry apart; what does not read as they should stays with the key before."""
    if not places:  # no kernel writes so; whoever reads entries may rely on a key
        return (Key(*names[0], body.strip()),)
    pairs = zip(names, zip(places, [*places[1:], len(body)], strict=True), strict=False)
    return tuple(
        Key(name, modifier, body[begin:end].partition(f"{name}:")[2].strip())
        for (name, modifier), (begin, end) in pairs
    )


def _places(body: str, names: list[tuple[str, str]], texts: Collection[str]) -> list[list[int]]:
    """Return where the keys begin, as far as they are there; more than once where they can be read so.

    The text of a process may look like the keys behind it: those that are numbers are looked for from the end, and
    the ends of texts by what the kernel fills them up to.
    """
    chosen = _of_processes(names, texts)
    last = max(chosen, default=len(names) - 1)
    behind: list[int] = []
    end = len(body)
    for name, _ in reversed(names[last + 1 :]):
        end = body.rfind(f", {name}:", 0, end)
        behind.insert(0, end)
    if end < 0:
        last, end, behind = len(names) - 1, len(body), []
    elif len(chosen) > 1:
        told = body[:end] if behind else body.removesuffix(" ")
        if found := padded_places(told, names[: last + 1], chosen, texts):
            return [[*places, *behind] for places in found]
    places: list[int] = []
    at = 0
    for number, (name, _) in enumerate(names[: last + 1]):
        place = body.find(f"{', ' if number else ''}{name}:", at, end)
        if place < 0:
            return [places]
        places.append(place)
        at = place + len(name) + 1
    return [places + behind]
