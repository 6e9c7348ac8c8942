"""The views there are, in the order of the line above them. Each has its command in `tui.commands`."""

from __future__ import annotations

from typing import Final

from tui.views.calls import CallsView
from tui.views.events import EventsView
from tui.views.graph import GraphView
from tui.views.summary import SummaryView
from tui.views.view import View

VIEWS: Final[tuple[type[View], ...]] = (EventsView, GraphView, CallsView, SummaryView)
