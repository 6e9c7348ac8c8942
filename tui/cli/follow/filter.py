"""`--filter` of the commands: the filter of the application on what one watch records, or several do."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from events.export.filtered import ExportFilter
from tui.cli.console.journal import Level, saying
from tui.cli.console.output import plain

if TYPE_CHECKING:
    from events.search.condition_parser import ConditionError
    from kernel.watch.watch import Watch
    from tui.filter.filter import Filter

_UNRECORDED = ("hist", "count_only")
"""Options with which the kernel counts, and records no event that a filter could choose."""
_CARET = 500
"""Columns; behind them no caret is of use."""


class FilterRefused(Exception):
    """A --filter that can't be applied; the lines say why."""

    def __init__(self, *lines: str) -> None:
        super().__init__(lines[0])
        self.lines = lines


def check_words(arguments: argparse.Namespace) -> None:
    """Raise FilterRefused where --filter is wrong whatever a kernel records; nothing is opened for that."""
    text = arguments.filter.strip()
    if not text:
        return
    from events.search.condition_parser import ConditionError
    from tui.filter.filter import check_form

    for name in _UNRECORDED:
        if getattr(arguments, name, None):
            option = name.replace("_", "-")
            raise FilterRefused(
                f"--filter chooses among recorded events, and with --{option} the kernel counts all and records "
                "none; a condition for the kernel stands in the probe, behind `if`"
            )
    try:
        check_form(text)
    except ConditionError as error:
        raise refusal(text, error) from None


def filter_of(watch: Watch, text: str) -> Filter:
    """Return the filter on what a watch records. Raises FilterRefused."""
    from events.search.condition_parser import ConditionError
    from tui.filter.filter import Filter

    chosen, text = Filter(), text.strip()
    try:
        chosen.choose(text, watch)
    except ConditionError as error:
        raise refusal(text, error) from None
    return chosen


def refusal(text: str, error: ConditionError) -> FilterRefused:
    """Return the refusal of a condition, with a caret below what is wrong."""
    from tui.filter.filter import told

    at = len(plain(text[: error.at]))
    caret = (f"    {' ' * at}^",) if at < _CARET else ()
    return FilterRefused(f"--filter {told(error)}", f"    {plain(text)}", *caret)


def tell_refused(error: FilterRefused) -> None:
    """Say on standard error why a filter can't be applied."""
    with saying(Level.ERROR):
        print(f"probewright: {plain(error.lines[0])}", *error.lines[1:], sep="\n", file=sys.stderr)


def passes_of(watch: Watch, chosen: Filter | None) -> Callable[[int], bool] | None:
    """Return what says of the number of an event in the store whether it passes; None: there is no filter."""
    if chosen is None or not chosen.text:
        return None

    def passes(seq: int) -> bool:
        selected = chosen.of(watch, watch.store) if watch.store is not None else None
        return selected is None or selected.passes(seq)

    return passes


def passing_of(watch: Watch, chosen: Filter | None, *, pairs: bool = False) -> ExportFilter:
    """Return what decides of each record of a watch whether it passes; `pairs`: as in `ExportFilter`."""
    passes = passes_of(watch, chosen)
    return ExportFilter(None if passes is None else lambda record: passes(record.seq), pairs=pairs)


def tell_passing(passing: ExportFilter, left_out: int = 0) -> None:
    """Say on standard error how many events passed, where there is a filter."""
    if passing.filtered:
        print(f"probewright: {passing.text(left_out)} pass the filter", file=sys.stderr)
