"""Hold the functions that a person marked in a list, and write the place that stands for them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from events.names.function_choice import ChoiceError, FunctionChoice, is_choice

_MOST_CHANGES = 32
"""Names added to a text, or left out of it; with more, all are listed."""
_MOST_EXPLAINED = 200
"""Functions whose reasons are looked up, a tenth of a millisecond each."""


@dataclass(frozen=True, slots=True)
class FunctionMarks:
    """Marked functions; each mark makes a new value."""

    names: frozenset[str] = frozenset()
    text: str = ""
    """Place that stood for all marked functions when they were marked together; empty: marked one by one."""
    of_text: frozenset[str] = frozenset()
    """Functions that `text` stands for."""

    def toggled(self, name: str) -> FunctionMarks:
        """Return the marks with a function marked, or unmarked."""
        return replace(self, names=self.names ^ {name})

    def with_all(self, text: str, names: Collection[str]) -> FunctionMarks:
        """Return the marks with more functions; without them where all are marked already.

        Args:
            text: place that stands for all these functions; empty: there is none.
            names: functions.
        """
        these = frozenset(names)
        if these <= self.names:
            return replace(self, names=self.names - these)
        if self.names or not text:
            return replace(self, names=self.names | these)
        return FunctionMarks(these, text, these)

    def place(self, traceable: Callable[[str], bool]) -> str:
        """Return the place that stands for all marked functions that are traceable; empty: none is."""
        wanted = {name for name in self.names if traceable(name)}
        listed = ",".join(sorted(wanted))
        if not wanted or not self.text:
            return listed
        meant = {name for name in self.of_text if traceable(name)}
        if wanted == meant:
            return self.text
        changed = _changed(self.text, sorted(wanted - meant), sorted(meant - wanted))
        return changed if changed and len(changed) < len(listed) else listed


def _changed(text: str, added: list[str], removed: list[str]) -> str:
    """Return a place with names added and others left out; empty: no such place means that."""
    if len(added) + len(removed) > _MOST_CHANGES:
        return ""
    changed = ",".join([text, *added, *(f"!{name}" for name in removed)])
    try:
        choice = FunctionChoice.parse(changed)
    except ChoiceError:
        return ""
    extended = any(not one.excluded and one.text not in added for one in choice.patterns)
    means_added = all(extended and choice.matches(name) for name in added)
    return changed if means_added and not any(choice.matches(name) for name in removed) else ""


def words_place(query: str, names: Collection[str], matches: Callable[[FunctionChoice], Collection[str]]) -> str:
    """Return a pattern that stands for exactly the functions that a search for a word finds; empty: there is none.

    Args:
        query: typed text.
        names: functions that have it in their names.
        matches: returns the functions that a choice stands for.
    """
    text = f"*{query.strip()}*"
    if len(names) < 2 or not query.strip().isidentifier():
        return ""
    return text if is_choice(text) and set(matches(FunctionChoice.parse(text))) == set(names) else ""


def marks_summary(names: Iterable[str], traceable: Callable[[str], bool], reason: Callable[[str], str]) -> str:
    """Return `12 marked; 3 can't be armed: 2 inlined, 1 blacklist`: the number of marks, and of those without probes.

    Args:
        names: marked functions.
        traceable: returns whether a probe on several functions can be on one.
        reason: returns why not, in a word or two.
    """
    names = list(names)
    without = [name for name in names if not traceable(name)]
    text = f"{len(names):,} marked"
    if not without:
        return text
    reasons = Counter(reason(name) or "not traceable" for name in sorted(without)[:_MOST_EXPLAINED])
    if len(without) > _MOST_EXPLAINED:
        reasons["not looked at"] = len(without) - _MOST_EXPLAINED
    told = ", ".join(f"{number:,} {why}" for why, number in reasons.most_common())
    return f"{text}; {len(without):,} can't be armed: {told}"
