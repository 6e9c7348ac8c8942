"""`probewright compare A.pwr B.pwr`: print what changed from one recording to another."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from events.aggregates.request import AggregateError, parse_keys
from foreign.count_text import counted
from kernel.connection.planner import Planner
from kernel.local.allocator import give_back_memory
from tui.cli.console.output import connect, emit, line
from tui.cli.console.waiting import show_progress, waiting
from tui.cli.exports.export_options import GROUP_FORMATS, BadExportOption, ExportRequest, export_request_of
from tui.cli.exports.open_export import print_refusal
from tui.cli.follow.filter import OptionRefused, check_words, filter_of, print_filter_error
from tui.cli.status import DONE, USAGE
from tui.cli.tables.aggregate_printer import TOP, export_table, refusal
from tui.views.compare.reading import RecordingReading, require_events, require_files

if TYPE_CHECKING:
    from events.differences.differences import Labels, RecordingComparison, RecordingFacts
    from tui.views.compare.text import Line

_COLUMNS: Final = 80
_NUMBER: Final = 12
"""Columns of a number of one recording."""
_NOTE: Final = 23
"""Columns of a change in words."""
_INDENT: Final = "  "


def run(arguments: argparse.Namespace) -> int:
    """Compare two recordings; the exit status is 0 whether anything changed or not."""
    give_back_memory()
    files: tuple[str, str] = (arguments.a, arguments.b)
    try:
        wanted = _export_of(arguments)
        check_words(arguments)
        keys = () if arguments.by is None else parse_keys(arguments.by)
        require_files(*files)
        a, b = (_read(file, arguments.filter, keys) for file in files)
    except BadExportOption as error:
        return print_refusal(error, USAGE)
    except AggregateError as error:
        print_filter_error(refusal(error))
        return USAGE
    except OptionRefused as error:
        print_filter_error(error)
        return USAGE
    from events.differences.differences import compare

    found = compare(a, b)
    if wanted is not None:
        from tui.output.comparison_table import ComparisonTable

        return export_table(ComparisonTable(found, keys), wanted, as_json=arguments.json)
    if arguments.json:
        from tui.output.comparison_table import objects_of

        for one in objects_of(found, files, keys):
            emit(one)
    else:
        _print(found, files, TOP if arguments.top is None else arguments.top)
    return DONE


def _export_of(arguments: argparse.Namespace) -> ExportRequest | None:
    """Return the export that is requested; None: none is. Raises BadExportOption."""
    wanted = export_request_of(arguments)
    if wanted is not None and (wanted.outlet is not None or wanted.form.name not in GROUP_FORMATS):
        raise BadExportOption(f"a comparison is exported as {', '.join(GROUP_FORMATS)}, in one file")
    return wanted


def _read(file: str, filter_text: str, keys: tuple[str, ...]) -> RecordingFacts:
    """Count the events of a recording. Raises TargetUnusable, OptionRefused, AggregateError."""
    info = connect(file)
    try:
        require_events(info, file)
        with waiting(f"counting the events of {file}"):
            reading = RecordingReading(Planner(info), partial(filter_of, text=filter_text), keys)
            while reading.step():
                show_progress(f"{file}: {counted(reading.counted, 'event')}")
            return reading.facts()
    finally:
        info.close()


def _print(found: RecordingComparison, names: tuple[str, str], top: int) -> None:
    from tui.views.compare.text import head_lines

    for text in head_lines(found, names):
        for part in wrap(line(text), _COLUMNS, subsequent_indent=_INDENT, break_long_words=False):
            print(part)
    if found.changes:
        print()
        _print_changes(found, top)
    groups = found.groups[:top] if top else found.groups
    for group in groups:
        print()
        _print_group(found, group)
    if len(groups) < len(found.groups):
        print(f"\nand {counted(len(found.groups) - len(groups), 'group')} more: --top 0 prints all", file=sys.stderr)


def _print_changes(found: RecordingComparison, top: int) -> None:
    from tui.views.compare.text import change_text, group_name, item_text, listed_changes, number_texts

    changes = listed_changes(found)
    print(_drawn("changes, the greatest first", "A", "B", ""))
    for one in changes[:top] if top else changes:
        print(_drawn(f"{group_name(one.group)}: {item_text(one)}", *number_texts(one), change_text(one.change)))


def _print_group(found: RecordingComparison, group: Labels) -> None:
    from tui.views.compare.text import group_lines, group_name

    print(_drawn(group_name(group), "A", "B", ""))
    for one in group_lines(found, group):
        print(_text(one))


def _text(one: Line) -> str:
    return _drawn(_INDENT + one.label, one.a, one.b, one.note)


def _drawn(label: str, a: str, b: str, note: str) -> str:
    """Return one line of four columns, in `_COLUMNS` columns; a long label has a line of its own."""
    from widgets.safe_text import cut, fit, width

    room = _COLUMNS - 2 * (_NUMBER + 1) - _NOTE - 2
    label = line(label)
    head = ""
    if width(label) > room:
        head, label = f"{cut(label, _COLUMNS)}\n", ""
    numbers = " ".join(fit(cut(one, _NUMBER), _NUMBER, True) for one in (a, b))
    return f"{head}{fit(label, room)} {numbers}  {note}".rstrip()
