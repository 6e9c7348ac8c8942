"""Find a row of a store by a match or by a text, one bounded step at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from events.search.search import PLAIN, LineStyle, Match, SearchStep, step
from events.search.text_match import TextMatch

if TYPE_CHECKING:
    from events.store.store import Store


def find(
    store: Store,
    match: Match | str,
    start: int,
    direction: int = 1,
    budget: float = 0.01,
    events: frozenset[int] | None = None,
    style: LineStyle = PLAIN,
) -> SearchStep:
    """Run one step of a search, which continues at `SearchStep.next` until `SearchStep.done`.

    Args:
        store: the rows.
        match: predicate on a record (an `events.search.search.Sieve` is faster), or a text that its line must
            contain.
        start: sequence number to begin with.
        direction: 1 to later rows, -1 to earlier ones.
        budget: seconds that the step may take.
        events: format ids; rows of other formats are skipped without decoding.
        style: format of the line that is searched for a text.
    """
    predicate = (
        TextMatch(match, style, store.task_names.name, store.task_names.all_names)
        if isinstance(match, str)
        else match
    )
    return step(store, predicate, start, 1 if direction >= 0 else -1, budget, events)
