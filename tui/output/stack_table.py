"""Table of stacks with their weights, and files that hold stacks. Imports no screen code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from events.export.stack_files import StackFile, write_stacks
from events.stacks.stack_paths import names_of
from foreign.count_text import counted
from tui.filter.filter import PassCount
from tui.output.view_table import Cells, EventsTable

if TYPE_CHECKING:
    from events.export.catalogue import Format
    from tui.filter.filter import Filter
    from tui.views.stacks.model import StackModel

_COLUMNS: Final = ("stack", "weight")


class StackTable(EventsTable):
    """Stacks in descending order of their weight."""

    name = "stacks"

    def __init__(self, model: StackModel, chosen: Filter) -> None:
        """Take the stacks, and the filter."""
        super().__init__(model.watch, model.store, chosen)
        self._model = model

    @property
    def backlog(self) -> int:
        """Number of events not yet processed."""
        return self._model.backlog

    @property
    def counted(self) -> PassCount:
        """Number of events or calls that have a stack."""
        return self._model.pass_count

    @property
    def figures(self) -> dict[str, int]:
        """Numbers of events or calls: with a stack, all that there are; and of stacks."""
        found = self.counted
        return {"counted": found.passing, "of": found.of, "stacks": len(self._model.stacks())}

    @property
    def text(self) -> str:
        found = self.counted
        events = found.text if self.chosen.text else counted(found.passing, found.unit)
        return f"{counted(len(self._model.stacks()), 'stack')} of {events}"

    @property
    def lacking(self) -> tuple[str, ...]:
        return tuple(self._model.lacking)

    @property
    def notes(self) -> tuple[str, ...]:
        return ()  # stacks of events that were dropped since are counted

    @property
    def columns(self) -> tuple[str, ...]:
        """Titles of the columns."""
        return _COLUMNS

    def tick(self, budget: float) -> None:
        """Count events."""
        self._model.tick(budget)

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the stacks, the outermost frame of each first."""
        stacks = self._model.stacks()
        for path in sorted(stacks, key=lambda one: (-stacks[one], names_of(one))):
            yield {"stack": list(names_of(path)), "weight": stacks[path]}

    def cells(self, row: Mapping[str, Any]) -> Iterator[Cells]:
        """Yield one row, the frames with `;` between them."""
        yield {"stack": ";".join(row["stack"]), "weight": row["weight"]}

    def write_stacks(self, form: Format, out: BinaryIO) -> None:
        """Write the stacks in a format of their own. Raises OSError."""
        model = self._model
        owner = f"{model.watch.info.target.name}: {model.title}"
        write_stacks(form.name, StackFile(model.stacks(), owner, model.weight_text, model.is_time), out)
