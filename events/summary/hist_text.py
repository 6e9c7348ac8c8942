"""Parse the kernel's text of an event's histograms: its `hist` file.

See hist_trigger_show and hist_trigger_print_key in kernel/trace/trace_events_hist.c. Several histograms of one event
follow one another, each with its trigger before and its totals after it. The text of a key comes from processes: it
may contain anything, including line breaks. A head is accepted only at the beginning or after the totals of the
previous histogram, and of totals only the last ones after a head; forged heads and totals show in the number of
histograms, which the caller knows. Forged entries show in the number of entries, which the totals contain; forged
keys are recognized by the width to which the kernel pads a text (`hist_padding`).
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
"""Value of an entry: a number, or the bar that `.graph` prints."""
_LOG2 = re.compile(r"~ 2\^(\d{1,20}) *", re.ASCII)
_BUCKET = re.compile(r"~ (\d{1,20})-(\d{1,20}) *", re.ASCII)
_BRACKETS = re.compile(r"\[ *+([0-9a-f]{1,20})\]")


class HistKey(NamedTuple):
    """Key of an entry."""

    name: str
    """Name of the field."""
    modifier: str
    """Modifier: `log2`, `hex`, `sym`, `execname`, `buckets=32`, …; empty: none."""
    text: str
    """Text as printed, without padding."""

    @property
    def number(self) -> int | None:
        """Number of the key: the exponent for `log2`, the lower bound for `buckets`, the number itself for an address
        or a process.

        None for a text. The kernel prints a negative number plus 2^64.
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
        """True for a stack, with a line per frame; line breaks in other keys are part of a text."""
        return self.modifier == "stacktrace" or self.name in ("common_stacktrace", "stacktrace")

    @property
    def label(self) -> str:
        """Text for people: the name if there is one beside the number."""
        named = self.modifier in ("execname", "syscall")
        if self.modifier in ("sym", "sym-offset"):
            return self.text.partition("] ")[2] or self.text
        return self.text.rpartition("[")[0].strip() if named else self.text


class HistEntry(NamedTuple):
    """Entry of a histogram, with one combination of keys."""

    keys: tuple[HistKey, ...]
    values: dict[str, float]
    """Values by name; `hitcount` unless omitted, percentages with ` (%)` after their name."""
    value_texts: tuple[tuple[str, str], ...] = ()
    """Names and texts of all values in the kernel's order, including bars of `.graph`."""

    @property
    def hits(self) -> int:
        """Number of events of the entry; 0 if the hit count was omitted."""
        return int(self.values.get("hitcount", 0))


class AmbiguousEntry(NamedTuple):
    """Entry of a histogram whose keys can be read in several ways; its extent and its values are certain."""

    text: str
    """All keys with their names, as printed."""
    value_texts: tuple[tuple[str, str], ...]
    """Names and texts of all values, as `HistEntry.value_texts`."""
    readings: int
    """Number of ways to read the keys."""


class Histogram(NamedTuple):
    """Histogram of an event."""

    trigger: str
    """Trigger as the kernel lists it."""
    active: bool
    entries: tuple[HistEntry, ...]
    hits: int
    """Number of all events, including those for which there was no room."""
    kernel_count: int
    """Number of entries as counted by the kernel."""
    dropped: int
    """Number of events for whose keys there was no room."""
    readings: int = 0
    """Number of entries that the text can be read as, if it exceeds the real number; 0: unambiguous. If the text of a
    key looks like entries, no entry is certain, and `entries` is empty; if it looks like the keys after it, only its
    own entry is not certain: see `ambiguous`."""
    ambiguous: tuple[AmbiguousEntry, ...] = ()
    """Entries that are not in `entries`, as their keys can be read in several ways."""


class HistSection(NamedTuple):
    """Histogram of a `hist` file with unparsed entries."""

    trigger: str
    """Trigger as the kernel lists it."""
    active: bool
    body: slice
    """Position of the entries in the text."""
    totals: tuple[int, int, int]
    """Hits, entries, dropped."""


def sections(text: str) -> tuple[HistSection, ...]:
    """Find the histograms of a `hist` file; a truncated one has no totals and is omitted."""
    heads = list(_HEAD.finditer(text))
    found: list[HistSection] = []
    for number, head in enumerate(heads):
        end = heads[number + 1].start("head") if number + 1 < len(heads) else len(text)
        # The line break before the totals may be that of the head's last line.
        if totals := _TOTALS.search(text, head.end() - 1, end):
            hits, entries, dropped = map(int, totals.groups())
            body = slice(head.end(), totals.start())
            found.append(HistSection(head["trigger"], head["state"] == "active", body, (hits, entries, dropped)))
    return tuple(found)


def parse_hist(text: str, texts: Collection[str] = ()) -> tuple[Histogram, ...]:
    """Parse a `hist` file; a truncated histogram has no totals and is omitted.

    Args:
        text: content of the file.
        texts: names of the event's fields that are texts, which processes choose.
    """
    return tuple(_histogram(section, text[section.body], texts) for section in sections(text))


def may_be_forged(text: str, texts: Collection[str] = ()) -> bool:
    """Return whether a `hist` file has a key whose text comes from a process; arguments as for `parse_hist`."""
    return any(_process_keys(keys_of(section.trigger), texts) for section in sections(text))


def _histogram(section: HistSection, body: str, texts: Collection[str]) -> Histogram:
    names = keys_of(section.trigger)
    entries, ambiguous = _entries(body, names, values_of(section.trigger), texts)
    _, entry_count, _ = section.totals
    readings = len(entries) + sum(entry.readings for entry in ambiguous)
    if len(entries) + len(ambiguous) > entry_count and _process_keys(names, texts):
        return Histogram(section.trigger, section.active, (), *section.totals, readings)
    alike = readings if ambiguous else 0
    return Histogram(section.trigger, section.active, tuple(entries), *section.totals, alike, tuple(ambiguous))


def keys_of(trigger: str) -> list[tuple[str, str]]:
    """Return names and modifiers of the keys of a trigger."""
    key_list = trigger.partition("keys=")[2].split(":", 1)[0]
    return [_name_and_modifier(term) for term in key_list.split(",")]


def values_of(trigger: str) -> list[str]:
    """Return the value names of a trigger's entries, as in `HistEntry.value_texts`."""
    value_list = trigger.partition(":vals=")[2].split(":", 1)[0]
    named = map(_name_and_modifier, filter(None, value_list.split(",")))
    return [f"{name} (%)" if modifier == "percent" else name for name, modifier in named]


def _name_and_modifier(term: str) -> tuple[str, str]:
    name, _, modifier = term.partition(".")
    half = name[: len(name) // 2]
    # Linux 6.16 to 7.3 list `common_cpu` as `common_cpucommon_cpu`.
    return (half if half == "common_cpu" and half * 2 == name else name), modifier


def _entries(
    text: str, names: list[tuple[str, str]], values: list[str], texts: Collection[str]
) -> tuple[list[HistEntry], list[AmbiguousEntry]]:
    """Parse entries: each from a line that begins like one to the last line that ends like one.

    Returns the entries, and apart from them those in which the text of a key looks like the keys after it.
    """
    lines = text.split("\n")
    begin = re.compile(rf"{{ {re.escape(names[0][0])}[.:]")
    if not any(map(begin.match, lines)):
        begin = re.compile("{ ")  # no kernel prints entries without it
    tails = [_tail(line, values) for line in lines]
    starts: list[int] = []
    after_entry = True
    for at, line in enumerate(lines):
        if after_entry and begin.match(line):
            starts.append(at)
        # Between two entries there are only the values kept by onmax() and onchange().
        after_entry = tails[at] is not None or (after_entry and (not line or line.startswith("\t")))
    entries: list[HistEntry] = []
    ambiguous: list[AmbiguousEntry] = []
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=False):
        end = next((at for at in range(stop - 1, start - 1, -1) if tails[at] is not None), None)
        if end is None:
            continue  # truncated entry
        body = "\n".join([*lines[start:end], lines[end][: lines[end].rfind("}")]])
        value_texts = tails[end] or ()
        numbers = {name: float(value) for name, value in value_texts if not value.startswith("#")}
        body = body.removeprefix("{ ")
        places, *others = _places(body, names, texts)
        if others:
            ambiguous.append(AmbiguousEntry(body.strip(), value_texts, 1 + len(others)))
        else:
            entries.append(HistEntry(_keys(body, names, places), numbers, value_texts))
    return entries, ambiguous


def _tail(line: str, values: list[str]) -> tuple[tuple[str, str], ...] | None:
    """Return the values after the last brace of a line, which are numbers and bars; None: no entry ends so."""
    at = line.rfind("}")
    if at < 0 or line[at + 1 : at + 2] not in ("", " "):
        return None
    tail = line[at + 1 :]
    value_texts = tuple((name + percent, text) for name, percent, text in _VALUE.findall(tail))
    names = [name for name, _ in value_texts]
    expected = [name for name in values if name in names]  # a bar may have length 0
    return value_texts if not values or names == expected else None


def _process_keys(names: list[tuple[str, str]], texts: Collection[str]) -> list[int]:
    """Return the numbers of the keys whose text comes from a process."""
    process_names = {*texts, "comm", "common_comm"}
    return [n for n, (name, modifier) in enumerate(names) if name in process_names or modifier == "execname"]


def _keys(body: str, names: list[tuple[str, str]], places: list[int]) -> tuple[HistKey, ...]:
    """Split the keys of an entry; text that does not parse stays with the key before it."""
    if not places:  # no kernel prints so; callers may rely on at least one key
        return (HistKey(*names[0], body.strip()),)
    pairs = zip(names, zip(places, [*places[1:], len(body)], strict=True), strict=False)
    return tuple(
        HistKey(name, modifier, body[begin:end].partition(f"{name}:")[2].strip())
        for (name, modifier), (begin, end) in pairs
    )


def _places(body: str, names: list[tuple[str, str]], texts: Collection[str]) -> list[list[int]]:
    """Return the positions where the keys begin, as far as found; one list per possible reading.

    The text of a process may look like the keys after it: keys that are numbers are searched from the end, and the
    ends of texts are found by the kernel's padding.
    """
    process_keys = _process_keys(names, texts)
    last = max(process_keys, default=len(names) - 1)
    later: list[int] = []
    end = len(body)
    for name, _ in reversed(names[last + 1 :]):
        end = body.rfind(f", {name}:", 0, end)
        later.insert(0, end)
    if end < 0:
        last, end, later = len(names) - 1, len(body), []
    elif len(process_keys) > 1:
        padded_part = body[:end] if later else body.removesuffix(" ")
        if found := padded_places(padded_part, names[: last + 1], process_keys, texts):
            return [[*places, *later] for places in found]
    places: list[int] = []
    at = 0
    for number, (name, _) in enumerate(names[: last + 1]):
        place = body.find(f"{', ' if number else ''}{name}:", at, end)
        if place < 0:
            return [places]
        places.append(place)
        at = place + len(name) + 1
    return [places + later]
