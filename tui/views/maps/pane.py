"""Pane with a map of a compiled BPF object, and the key that chooses another one."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from widgets.aggregates.group_pane import GroupPane
from widgets.lists.sortable_pane import SORT


class MapsPane(GroupPane):
    """Pane of a `GroupTable` without events."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("Y", "choose", "Map", id="maps.choose", tooltip="Choose the map that is shown"),
        SORT,
    ]

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id, has_events=False)
