"""The formats that events can be given out in, as a table; what makes each is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Format(NamedTuple):
    """One format."""

    name: str
    """What is said for it: `jsonl`."""
    title: str
    """What it is, in a few words."""
    suffix: str
    """Of its files, with the dot."""
    keeps: str
    """What is in it and what is left out, in a line."""
    binary: bool = False
    """Not for a terminal."""
    of_events: bool = True
    """Made of the events; else of what is on the screen."""
    names_addresses: bool = False
    """Addresses are written as the kernel's symbols, which have to be read first."""
    whole_calls: bool = False
    """Both ends of a call have to be in one file."""
    columns: bool = False
    """Fields have columns, which are made before the first event."""
    partial: bool = False
    """Some events have no place in it: they are counted, and told with the formats that have one."""
    of_tables: bool = False
    """It holds the table of a view, too."""
    one_host: str = ""
    """Why it can't hold events of several hosts; empty: it can."""


FORMATS = (
    Format("jsonl", "JSON lines", ".jsonl", "every field of every event as a number and by its name", of_tables=True),
    Format(
        "csv", "CSV", ".csv", "a row an event, a column a field; no names of values", columns=True, of_tables=True
    ),
    Format(
        "parquet",
        "Parquet",
        ".parquet",
        "typed columns, for pandas, DuckDB and the like; no names of values",
        binary=True,
        columns=True,
    ),
    Format(
        "perfetto",
        "Perfetto trace",
        ".pftrace",
        "calls as spans, other events as marks, a track a task; for ui.perfetto.dev",
        binary=True,
        whole_calls=True,
    ),
    Format(
        "folded",
        "folded stacks",
        ".folded",
        "kernel stacks by their number, else calls by their own time; no values",
        names_addresses=True,
        whole_calls=True,
        partial=True,
        one_host="a line is a stack and a number, and has no place for a host",
    ),
    Format(
        "text",
        "the kernel's text",
        ".txt",
        "lines as trace_pipe prints them; no names of values",
        names_addresses=True,
        partial=True,
        one_host="a kernel prints no host in its lines",
    ),
    Format("svg", "picture (SVG)", ".svg", "what is on the screen, nothing else", of_events=False),
)
"""In the order in which they are offered."""

OF_EVENTS = tuple(one.name for one in FORMATS if one.of_events)
"""Names of the formats that are made of events."""
OF_TABLES = tuple(one.name for one in FORMATS if one.of_tables)
"""Names of the formats that hold the table of a view."""


def left_out_note(number: int, why: str) -> str:
    """Return the note of a format that is `partial`, with those that have a place for every event."""
    every = having(lambda form: not form.partial)
    return f"{number:,} event{' is' if number == 1 else 's are'} left out: {why}; {every} have all"


def having(has: Callable[[Format], bool]) -> str:
    """Return the names of the formats of events of which something holds."""
    return ", ".join(one.name for one in FORMATS if one.of_events and has(one))


def format_named(name: str) -> Format | None:
    """The format of a name; None: there is none."""
    return next((one for one in FORMATS if one.name == name), None)


def format_of_file(path: str) -> Format | None:
    """The format that a file's name ends with; None: it does not say."""
    return next((one for one in FORMATS if path.endswith(one.suffix)), None)
