"""Table of the export formats of events; the module of each writer is imported on demand."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from foreign.count_text import counted


class Format(NamedTuple):
    """Export format."""

    name: str
    """Name in commands and options: `jsonl`."""
    title: str
    """Short description."""
    suffix: str
    """File name suffix, with the dot."""
    keeps: str
    """Contents and omissions, in one line."""
    binary: bool = False
    """True if the format is not for a terminal."""
    of_events: bool = True
    """True if the format is made of events; False: of the screen's contents."""
    names_addresses: bool = False
    """True if addresses are written as kernel symbols, which must be read first."""
    whole_calls: bool = False
    """True if both ends of a call must be in one file."""
    columns: bool = False
    """True if fields have columns, which are created before the first event."""
    partial: bool = False
    """True if the format omits some events, which are counted and reported together with formats that keep them."""
    of_tables: bool = False
    """True if the format can also hold the table of a view."""
    of_stacks: bool = False
    """True if the format can hold the stacks of a view (`events.export.stack_files`)."""
    one_host: str = ""
    """Reason why the format cannot hold events of several hosts; empty: it can."""


FORMATS = (
    Format(
        "jsonl",
        "JSON lines",
        ".jsonl",
        "every field of every event as a number and by its name",
        names_addresses=True,
        of_tables=True,
    ),
    Format(
        "csv",
        "CSV",
        ".csv",
        "a row an event, a column a field, and one for its names; times in ns",
        columns=True,
        of_tables=True,
    ),
    Format(
        "parquet",
        "Parquet",
        ".parquet",
        "typed columns, and names of values, for pandas, DuckDB and the like",
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
        of_stacks=True,
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
"""Export formats, in menu order."""
STACK_FILES = (
    Format(
        "flamegraph",
        "flame graph (SVG)",
        ".flame.svg",
        "the stacks as a picture for a browser, without a script",
        of_events=False,
        names_addresses=True,
        of_stacks=True,
    ),
    Format(
        "speedscope",
        "speedscope",
        ".speedscope.json",
        "the stacks for speedscope.app",
        of_events=False,
        names_addresses=True,
        of_stacks=True,
    ),
)
"""Formats that hold nothing but the stacks of a view, in menu order."""

EVENT_FORMATS = tuple(form.name for form in FORMATS if form.of_events)
"""Names of the formats that are made of events."""
STACK_FORMATS = tuple(form.name for form in (*FORMATS, *STACK_FILES) if form.of_stacks)
"""Names of the formats that can hold stacks."""
TABLE_FORMATS = tuple(form.name for form in FORMATS if form.of_tables)
"""Names of the formats that can hold the table of a view."""


def left_out_note(number: int, why: str) -> str:
    """Return the note of a `partial` format about omitted events; it names the formats that keep all events."""
    every = format_names(lambda form: not form.partial)
    return f"{counted(number, 'event is', 'events are')} left out: {why}; {every} have all"


def format_names(predicate: Callable[[Format], bool]) -> str:
    """Return the names of the formats of events that satisfy a predicate."""
    return ", ".join(form.name for form in FORMATS if form.of_events and predicate(form))


def format_named(name: str) -> Format | None:
    """Return the format with a name; None: there is none."""
    return next((form for form in (*FORMATS, *STACK_FILES) if form.name == name), None)


def format_of_file(path: str) -> Format | None:
    """Return the format whose suffix a file name has; None: no format's."""
    return next((form for form in (*STACK_FILES, *FORMATS) if path.endswith(form.suffix)), None)
