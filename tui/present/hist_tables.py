"""Convert tables of hist triggers to lines and JSON objects, for the screen and the command line. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from events.names.event_names import event_name, exported_name
from foreign.count_text import counted
from probes.hist.unfiltered import beyond_filter_text
from widgets.number_format import grouped
from widgets.safe_text import fit, safe, width

if TYPE_CHECKING:
    from events.summary.hist_text import HistEntry, HistKey, Histogram
    from kernel.watch.hist_tables import HistTable

_WIDEST: Final = 80
"""Greatest width of a key in columns."""


class TableLine(NamedTuple):
    """Line of a table."""

    text: str
    look: str = ""
    """Style of the line: `name`, `dim` or none; see `widgets.lists.line_paint`."""


def lines_of(tables: Iterable[HistTable]) -> Iterator[TableLine]:
    """Yield the lines of tables, safe for a screen: trigger, titles, entries in the kernel's order, totals."""
    for number, table in enumerate(tables):
        if number:
            yield TableLine("")
        found = table.histogram
        paused = "" if found.active else "  paused"
        yield TableLine(safe(f"{event_name(table.event)}  {found.trigger}{paused}"), "name")
        yield from _entries(found)
        dropped = f", {grouped(found.dropped)} without room" if found.dropped else ""
        yield TableLine(
            f"  {counted(found.hits, 'hit')}, {counted(found.kernel_count, 'entry', 'entries')}{dropped}", "dim"
        )
        if found.ambiguous:
            yield TableLine(f"  {ambiguous_text(len(found.ambiguous))}", "dim")
            for entry in found.ambiguous:
                values = "  ".join(f"{name} {text}" for name, text in entry.value_texts)
                yield TableLine(f"  ? {fit(safe(entry.text), min(_WIDEST, width(safe(entry.text))))}  {safe(values)}")
        elif found.readings:
            yield TableLine(f"  {alike_text(found.readings)}", "dim")
        if table.ignored:
            yield TableLine(safe(f"  counted {beyond_filter_text(table.ignored)}"), "dim")


def alike_text(number: int) -> str:
    """Return why the entries of a histogram are hidden, whose text can be read as `number` entries."""
    return f"its text reads as {grouped(number)} entries: a key that a process chose looks like more, none is sure"


def ambiguous_text(number: int) -> str:
    """Return a text that explains why a number of a histogram's entries are listed apart."""
    many = counted(number, "entry", "entries")
    return f"{many} whose keys can be read in several ways, as one that a process chose looks like those behind it:"


CUT: Final = "  (counted since the reconnection: earlier counts were lost)"


def lines_of_watch(tables: Sequence[HistTable], outages: int, host: str = "") -> Iterator[TableLine]:
    """Yield the lines of the tables of one watch, with its host above if there are several; none without a table.

    `outages`: number of outages of its connection.
    """
    if not tables:
        return
    if host:
        yield TableLine(safe(f"{host}:"), "name")
    yield from lines_of(tables)
    if outages:
        yield TableLine(CUT, "dim")


def _entries(found: Histogram) -> Iterator[TableLine]:
    if not found.entries:
        return
    keys = [_title(key) for key in found.entries[0].keys]
    values = list(dict.fromkeys(name for entry in found.entries for name, _ in entry.value_texts))
    rows = [row for entry in found.entries for row in _rows(entry, values)]
    titles = [*keys, *values]
    widths = [
        min(_WIDEST if n < len(keys) else width(title) + 24, max(width(row[n]) for row in [titles, *rows]))
        for n, title in enumerate(titles)
    ]
    yield TableLine(_line(titles, widths, len(keys)), "dim")
    for row in rows:
        yield TableLine(_line(row, widths, len(keys)))


def _rows(entry: HistEntry, values: list[str]) -> Iterator[list[str]]:
    """Yield the lines of an entry: several if a key is a stack; values stand in the first."""
    shown = dict(entry.value_texts)
    columns = [[safe(text.strip()) for text in _lines(key)] for key in entry.keys]
    for number, cells in enumerate(zip_longest(*columns, fillvalue="")):
        yield [*cells, *("" if number else shown.get(name, "") for name in values)]


def _lines(key: HistKey) -> list[str]:
    """Return the frames of a stack; in a text key a line break is a character of the text."""
    return key.text.split("\n") if key.is_stack else [key.text]


def _line(cells: list[str], widths: list[int], keys: int) -> str:
    return (
        "  " + "  ".join(fit(cell, widths[n], n >= keys and "#" not in cell) for n, cell in enumerate(cells)).rstrip()
    )


def _title(key: HistKey) -> str:
    return safe(f"{key.name}.{key.modifier}" if key.modifier else key.name)


def object_of(table: HistTable, outages: int = 0, host: str = "") -> dict[str, Any]:
    """Return a table as an object for JSON; `outages`: number of outages, each of which loses the earlier counts."""
    found = table.histogram
    return {
        **({"host": host} if host else {}),
        "summary": "hist",
        "event": exported_name(table.event),
        "trigger": found.trigger,
        "active": found.active,
        "entries": [
            {"keys": [_key(key) for key in entry.keys], "values": dict(map(_value, entry.value_texts))}
            for entry in found.entries
        ],
        "hits": found.hits,
        "entries_taken": found.kernel_count,
        "without_room": found.dropped,
        "cuts": outages,
        **({"entries_alike": found.readings} if found.readings else {}),
        **(
            {
                "entries_unsure": [
                    {"text": entry.text, "values": dict(map(_value, entry.value_texts))} for entry in found.ambiguous
                ]
            }
            if found.ambiguous
            else {}
        ),
        **({"ignored_filter": table.ignored} if table.ignored else {}),
    }


def _key(key: HistKey) -> dict[str, Any]:
    result: dict[str, Any] = {"name": key.name, "text": key.text}
    if key.modifier:
        result["modifier"] = key.modifier
    if key.number is not None:
        result["number"] = key.number
    return result


def _value(shown: tuple[str, str]) -> tuple[str, Any]:
    name, text = shown
    if text.startswith("#"):
        return name, text
    if "." in text:
        return name, float(text)
    return name, int(text)
