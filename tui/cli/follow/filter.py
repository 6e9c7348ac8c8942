"""`--filter` of the commands: apply the application's filter to the events of one watch or of several hosts."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from events.export.filtered import ExportFilter
from tui.cli.console.journal import Level, at_priority
from tui.cli.console.output import plain

if TYPE_CHECKING:
    from events.conditions.condition_parser import ConditionError
    from kernel.watch.watch import Watch
    from tui.filter.filter import Filter

_UNRECORDED = ("hist", "count_only")
"""Options with which the kernel only counts, and records no event to filter."""
_CARET = 500
"""Column beyond which no caret is printed."""


class OptionRefused(Exception):
    """Text of an option, as --filter, that can't be applied; its lines say why."""

    def __init__(self, *lines: str) -> None:
        super().__init__(lines[0])
        self.lines = lines


def check_words(arguments: argparse.Namespace) -> None:
    """Raise OptionRefused if --filter is wrong for every kernel; nothing is opened for this check."""
    text = arguments.filter.strip()
    if not text:
        return
    from events.conditions.condition_parser import ConditionError
    from tui.filter.filter import check_form

    for name in _UNRECORDED:
        if getattr(arguments, name, None):
            option = name.replace("_", "-")
            raise OptionRefused(
                f"--filter chooses among recorded events, and with --{option} the kernel counts all and records "
                "none; a condition for the kernel stands in the probe, behind `if`"
            )
    try:
        check_form(text)
    except ConditionError as error:
        raise refusal(text, error) from None


def filter_of(watch: Watch, text: str) -> Filter:
    """Return the filter on the events of a watch, with the symbols that it needs: events are tested as they come.

    Raises OptionRefused.
    """
    from events.conditions.condition_parser import ConditionError
    from tui.filter.filter import Filter

    chosen, text = Filter(), text.strip()
    try:
        chosen.choose(text, watch)
    except ConditionError as error:
        raise refusal(text, error) from None
    if chosen.of_functions and not watch.info.symbols.are_read:
        watch.info.symbols.load()
    if remark := chosen.name_remark(watch):
        with at_priority(Level.WARNING):
            print(f"probewright: --filter {plain(remark)}", file=sys.stderr)
    return chosen


def refusal(text: str, error: ConditionError) -> OptionRefused:
    """Return the refusal of a condition, with a caret below the error."""
    from tui.filter.filter import condition_error_text

    at = len(plain(text[: error.at]))
    caret = (f"    {' ' * at}^",) if at < _CARET else ()
    return OptionRefused(f"--filter {condition_error_text(error)}", f"    {plain(text)}", *caret)


def print_filter_error(error: OptionRefused) -> None:
    """Print on standard error why a filter can't be applied."""
    with at_priority(Level.ERROR):
        print(f"probewright: {plain(error.lines[0])}", *error.lines[1:], sep="\n", file=sys.stderr)


def passes_of(watch: Watch, event_filter: Filter | None) -> Callable[[int], bool] | None:
    """Return a test whether the event of a sequence number passes; None: there is no filter."""
    if event_filter is None or not event_filter.text:
        return None

    def passes(seq: int) -> bool:
        selected = event_filter.of(watch, watch.store) if watch.store is not None else None
        return selected is None or selected.passes(seq)

    return passes


def export_filter_of(watch: Watch, event_filter: Filter | None, *, pairs: bool = False) -> ExportFilter:
    """Return the filter of an export that tests each record of a watch; `pairs`: as in `ExportFilter`."""
    passes = passes_of(watch, event_filter)
    return ExportFilter(None if passes is None else lambda record: passes(record.seq), pairs=pairs)


def print_pass_count(passing: ExportFilter, left_out: int = 0) -> None:
    """Print on standard error how many events passed, if there is a filter."""
    if passing.filtered:
        print(f"probewright: {passing.text(left_out)} pass the filter", file=sys.stderr)
