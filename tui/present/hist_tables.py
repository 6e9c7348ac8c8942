"""Put tables of hist triggers into lines and objects: the screen and the command line share them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from events.names.event_names import event_name, exported_name
from probes.hist.unfiltered import ignored_text
from widgets.number_format import grouped
from widgets.safe_text import fit, safe, width

if TYPE_CHECKING:
    from events.summary.hist_text import Entry, Histogram, Key
    from kernel.watch.hist_tables import Table

_WIDEST: Final = 80
"""Columns of a key."""


class TableLine(NamedTuple):
    """One line of a table."""

    text: str
    look: str = ""
    """`name`, `dim` or none; see `widgets.lists.line_paint`."""


def lines_of(tables: Iterable[Table]) -> Iterator[TableLine]:
    """Yield the lines of tables, safe for a screen: trigger, titles, entries in the kernel's order, totals."""
    for number, table in enumerate(tables):
        if number:
            yield TableLine("")
        found = table.histogram
        paused = "" if found.active else "  paused"
        yield TableLine(safe(f"{event_name(table.event)}  {found.trigger}{paused}"), "name")
        yield from _entries(found)
        dropped = f", {grouped(found.dropped)} without room" if found.dropped else ""
        yield TableLine(f"  {grouped(found.hits)} hits, {grouped(found.room_taken)} entries{dropped}", "dim")
        if found.unsure:
            yield TableLine(f"  {unsure_text(len(found.unsure))}", "dim")
            for one in found.unsure:
                values = "  ".join(f"{name} {text}" for name, text in one.shown)
                yield TableLine(f"  ? {fit(safe(one.text), min(_WIDEST, width(safe(one.text))))}  {safe(values)}")
        elif found.alike:
            yield TableLine(f"  {alike_text(found.alike)}", "dim")
        if table.ignored:
            yield TableLine(safe(f"  counted {ignored_text(table.ignored)}"), "dim")


def alike_text(number: int) -> str:
    """Say why the entries of a histogram are not shown, of which its text seems to hold so many."""
    return f"its text reads as {grouped(number)} entries: a key that a process chose looks like more, none is sure"


def unsure_text(number: int) -> str:
    """Say why so many entries of a histogram stand apart from the others."""
    many = "1 entry" if number == 1 else f"{grouped(number)} entries"
    return f"{many} whose keys can be read in several ways, as one that a process chose looks like those behind it:"


CUT: Final = "  (counted since the line came back: what was counted before went with it)"


def lines_of_watch(tables: Sequence[Table], cuts: int, host: str = "") -> Iterator[TableLine]:
    """Yield the lines of the tables of one watch, and of several hosts its host above; none where it has no table.

    `cuts`: how often its line was cut.
    """
    if not tables:
        return
    if host:
        yield TableLine(safe(f"{host}:"), "name")
    yield from lines_of(tables)
    if cuts:
        yield TableLine(CUT, "dim")


def _entries(found: Histogram) -> Iterator[TableLine]:
    if not found.entries:
        return
    keys = [_title(key) for key in found.entries[0].keys]
    values = list(dict.fromkeys(name for entry in found.entries for name, _ in entry.shown))
    rows = [row for entry in found.entries for row in _rows(entry, values)]
    titles = [*keys, *values]
    widths = [
        min(_WIDEST if n < len(keys) else width(title) + 24, max(width(row[n]) for row in [titles, *rows]))
        for n, title in enumerate(titles)
    ]
    yield TableLine(_line(titles, widths, len(keys)), "dim")
    for row in rows:
        yield TableLine(_line(row, widths, len(keys)))


def _rows(entry: Entry, values: list[str]) -> Iterator[list[str]]:
    """Yield the lines of an entry: several where a key is a stack; values stand in the first."""
    shown = dict(entry.shown)
    columns = [[safe(text.strip()) for text in _lines(key)] for key in entry.keys]
    for number, cells in enumerate(zip_longest(*columns, fillvalue="")):
        yield [*cells, *("" if number else shown.get(name, "") for name in values)]


def _lines(key: Key) -> list[str]:
    """Return the frames of a stack; of a text a line break is one of its characters."""
    return key.text.split("\n") if key.is_stack else [key.text]


def _line(cells: list[str], widths: list[int], keys: int) -> str:
    return (
        "  " + "  ".join(fit(cell, widths[n], n >= keys and "#" not in cell) for n, cell in enumerate(cells)).rstrip()
    )


def _title(key: Key) -> str:
    return safe(f"{key.name}.{key.modifier}" if key.modifier else key.name)


def object_of(table: Table, cuts: int = 0, host: str = "") -> dict[str, Any]:
    """Return a table as an object for JSON; `cuts`: how often the line was cut, with what was counted before."""
    found = table.histogram
    return {
        **({"host": host} if host else {}),
        "summary": "hist",
        "event": exported_name(table.event),
        "trigger": found.trigger,
        "active": found.active,
        "entries": [
            {"keys": [_key(key) for key in entry.keys], "values": dict(map(_value, entry.shown))}
            for entry in found.entries
        ],
        "hits": found.hits,
        "entries_taken": found.room_taken,
        "without_room": found.dropped,
        "cuts": cuts,
        **({"entries_alike": found.alike} if found.alike else {}),
        **(
            {"entries_unsure": [{"text": one.text, "values": dict(map(_value, one.shown))} for one in found.unsure]}
            if found.unsure
            else {}
        ),
        **({"ignored_filter": table.ignored} if table.ignored else {}),
    }


def _key(key: Key) -> dict[str, Any]:
    made: dict[str, Any] = {"name": key.name, "text": key.text}
    if key.modifier:
        made["modifier"] = key.modifier
    if key.number is not None:
        made["number"] = key.number
    return made


def _value(shown: tuple[str, str]) -> tuple[str, Any]:
    name, text = shown
    if text.startswith("#"):
        return name, text
    if "." in text:
        return name, float(text)
    return name, int(text)
