"""Print failed calls: the chain of each new first failure, and at the end the count of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from events.kernel_time import seconds
from tui.cli.console.output import emit, line
from tui.present.event_times import ClockFace, day_in_front, exported_times
from tui.views.failures.text import chain_lines, most_frequent, object_of_failure, object_of_group
from widgets.number_format import grouped

if TYPE_CHECKING:
    from kernel.watch.watch import Watch
    from tui.views.failures.model import Failure, FailureModel


class FailurePrinter:
    """Printer of the failures of one model."""

    def __init__(self, watch: Watch, model: FailureModel, face: ClockFace, *, json: bool) -> None:
        self.printed = 0
        """Failures that were seen."""
        self._watch = watch
        self._model = model
        self._face = face
        self._json = json
        self._seen: set[tuple[str, str]] = set()

    def print_new(self, failures: list[Failure]) -> None:
        """Print failures: all of them as JSON, else the first of each origin."""
        for failure in failures:
            self.printed += 1
            if self._json:
                emit(self._object(failure))
            elif self.prints_chain(failure):
                self._seen.add((failure.origin, failure.errno))
                self._print_chain(failure)

    def prints_chain(self, failure: Failure) -> bool:
        """Return whether a failure is the first of its origin, whose chain is printed as text."""
        return not self._json and (failure.origin, failure.errno) not in self._seen

    def print_counts(self) -> None:
        """Print the failures by their first failure, the most frequent first."""
        if self._json:
            for group in self._model.by_count():
                emit(object_of_group(self._model, group))
            return
        print(line(f"{'FAILED':>8}  {'ERROR':<14} {'FIRST FAILURE':<28} CALLS AND PROCESSES"))
        for group in self._model.by_count():
            names = f"{most_frequent(group.by_call)}; {most_frequent(self._model.comms(group))}"
            print(line(f"{grouped(group.calls):>8}  {group.errno:<14} {group.example.origin_text:<28} {names}"))

    def _print_chain(self, failure: Failure) -> None:
        day = day_in_front(self._watch, failure.ts, failure.seq, self._face)
        head = f"{failure.calls[0].function} failed with {failure.errno}"
        print(line(f"{day}{seconds(failure.ts)} {self._model.task_text(failure)}: {head}"))
        for text, _ in chain_lines(failure):
            print(line(f"  {text}"))

    def _object(self, failure: Failure) -> dict[str, Any]:
        times = exported_times(self._watch, failure.ts, failure.seq, self._face)
        return {**times, "kind": "failure", **object_of_failure(self._model, failure)}
