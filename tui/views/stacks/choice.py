"""Choice of the stacks that are shown: their weight, their form, and which values can be weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from events.aggregates.request import AggregateError, AggregateFunction, AggregateRequest, Statistic
from events.stacks.stack_paths import Shape
from tui.present.call_ends import ends_of
from tui.views.aggregate.plan_columns import PlanColumns, check_request, choices_of

if TYPE_CHECKING:
    from kernel.watch.watch import Watch

STACK: Final = "kstack"


class StackChoice(NamedTuple):
    """Weight and form of the stacks that are shown."""

    value: str = ""
    """Value whose sum is the weight of a stack: a field, an expression or `latency`; empty: the number of events."""
    shape: Shape = Shape()
    tasks: bool = False
    """True if the task is the outermost frame."""
    mark: int | None = None
    """Sequence number of the row that what comes from then on is compared with what came before at; None: nothing is
    compared."""

    @property
    def request(self) -> AggregateRequest:
        """Groups that the stacks are made of."""
        statistics = (Statistic(AggregateFunction.SUM, self.value),) if self.value else ()
        return AggregateRequest((STACK, *(("comm",) if self.tasks else ())), statistics)


def values_of(watch: Watch) -> tuple[str, ...]:
    """Return the values whose sums can be weights of stacks."""
    return choices_of(PlanColumns(watch), ends_of(watch.event_fields.plans)).values


def is_possible(watch: Watch, value: str) -> bool:
    """Tell whether some event or call has a value together with a stack."""
    if not value:
        return True
    request = AggregateRequest((STACK,), (Statistic(AggregateFunction.SUM, value),))
    try:
        check_request(watch, request, PlanColumns(watch), adds_stacks=True)
    except AggregateError:
        return False
    return True
