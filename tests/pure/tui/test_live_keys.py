"""In the live place no key means one thing in one view and another in the next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from textual.binding import Binding

from tui.commands import COMMANDS
from tui.views.aggregate.pane import AggregatePane
from tui.views.calls.view import CallsPane
from tui.views.events.pane import EventsPane
from tui.views.summary.pane import SummaryPane
from widgets.aggregates.group_table import GroupTable
from widgets.events.graph_pane import GraphPane
from widgets.events.graph_table import GraphTable
from widgets.events.hot_rows import HotTable
from widgets.events.summary_panel import SummaryList, SummaryPanel
from widgets.lists.tail_table import TailTable
from widgets.lists.text_list import TableList

KEEPERS = (
    AggregatePane,
    GroupTable,
    EventsPane,
    CallsPane,
    GraphPane,
    GraphTable,
    TableList,
    HotTable,
    SummaryPane,
    SummaryPanel,
    SummaryList,
    TailTable,
)
OF_ALL_LISTS = {"left", "right", "enter", "end"}
"""They go along, and open, what the list is of."""


def _bindings() -> Iterator[tuple[str, str]]:
    classes = {base for keeper in KEEPERS for base in keeper.__mro__}
    for keeper in (one for one in classes if one.__module__.startswith(("widgets", "tui"))):
        for binding in vars(keeper).get("BINDINGS", ()):
            assert isinstance(binding, Binding)
            for key in binding.key.split(","):
                if meaning := binding.tooltip or binding.description:  # else the key says what to do instead
                    yield key, meaning
    for command in COMMANDS:
        if command.place in ("live", "app"):
            for key in command.keys.split(","):
                yield key, command.help


def test_a_key_means_one_thing_in_all_views() -> None:
    meanings: defaultdict[str, set[str]] = defaultdict(set)
    for key, meaning in _bindings():
        meanings[key].add(meaning)
    assert len(meanings) > 40
    assert {"space", "slash", "t", "f", "a", "minus"} <= set(meanings)
    assert {key: found for key, found in meanings.items() if len(found) > 1 and key not in OF_ALL_LISTS} == {}
