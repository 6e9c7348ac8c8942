"""All views, in the order of the line above them. Each has its command in `tui.commands`.

A view is imported when it is first shown: the first rows of the events wait for no other view.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tui.filter.filter import Filter
    from tui.views.view import View

LABELS: Final = {"events": "events", "graph": "graph", "calls": "entry→exit", "summary": "summary"}
"""Name of each view, and its label in the line above the rows."""
EXTRA_LABELS: Final = {
    "failures": "failures",
    "references": "references",
    "latencies": "latencies",
    "numbers": "numbers",
    "aggregate": "by key",
    "histograms": "histograms",
    "stacks": "stacks",
    "maps": "maps",
    "timeline": "time line",
    "compare": "compare",
}
"""Views whose labels stand in that line only while they are shown."""
_CLASSES: Final = {
    "events": "EventsView",
    "graph": "GraphView",
    "calls": "CallsView",
    "summary": "SummaryView",
    "failures": "FailuresView",
    "references": "ReferencesView",
    "latencies": "LatenciesView",
    "numbers": "NumbersView",
    "aggregate": "AggregateView",
    "histograms": "HistogramsView",
    "stacks": "StacksView",
    "maps": "MapsView",
    "timeline": "TimelineView",
    "compare": "ComparisonView",
}


def make_view(name: str, chosen: Filter) -> View:
    """Return a new view of what passes a filter. Raises KeyError where there is none of that name."""
    view: View = getattr(import_module(f"tui.views.{name}.view"), _CLASSES[name])(chosen)
    return view
