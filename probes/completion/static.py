"""Complete requests for existing events: `on GROUP/EVENT`, `lat:NAME BEGIN to END by KEY`."""

from __future__ import annotations

import re
from typing import Final

from probes.completion.choice import NOTHING, Completion, Completions, ItemKind, NameSources, Priority
from probes.completion.filter import complete_filter
from probes.completion.scope import Scope
from probes.facts.facts import Feature, TargetFacts
from probes.static_events import ON
from probes.syntax.text import Word, split

LATENCY: Final = "lat"
_MAX_ITEMS: Final = 60
_BEGIN, _TO, _END, _BY, _KEY = 1, 2, 3, 4, 5
"""Positions of the words of a latency, from its head."""
_FILTER: Final = re.compile(r"\sif(?=\s|$)")
_SIDE: Final = "GROUP/EVENT, or a probe in braces"


def heads(typed: str, facts: TargetFacts) -> list[Completion]:
    """Return the heads of the two requests that begin with the text typed."""
    items = []
    if ON.startswith(typed):
        items.append(
            Completion(
                f"{ON} ", ItemKind.LETTER, ON, description="an event of the kernel as it is, with all its fields"
            )
        )
    has_latency = facts.has(Feature.SYNTHETIC_EVENTS) and facts.has(Feature.HIST_TRIGGERS)
    if LATENCY.startswith(typed) and has_latency:
        about = "the time from one event to another, by a key of both"
        items.append(Completion(f"{LATENCY}:", ItemKind.LETTER, f"{LATENCY}:", description=about))
    return items


def complete_static(before: str, sources: NameSources) -> Completions:
    """Return the completions at the end of a text that begins with `on` or `lat`."""
    words = split(before)
    if not before[-1:].strip():
        words.append(Word("", len(before)))
    word, number = words[-1], len(words) - 1
    if number == 0:
        head, colon, _ = word.text.partition(":")
        end = word.start + len(word.text)
        if colon:
            return Completions(end, end, note="NAME BEGIN to END by KEY: a name of your own first")
        return Completions(word.start, end, tuple(heads(head, sources.facts)), Priority.NEEDED)
    if words[0].text == ON:
        return _events(word, sources) if number == 1 else _condition(before, words, sources)
    if "{" in before:  # a probe has several words
        return NOTHING
    if number in (_BEGIN, _END):
        return _events(word, sources, _SIDE)
    if number in (_TO, _BY):
        return _word(word, "to" if number == _TO else "by")
    note = "fields that both events have: KEY, or KEY=KEY where their names differ" if number == _KEY else ""
    return Completions(word.start, word.start + len(word.text), note=note)


def _events(word: Word, sources: NameSources, note: str = "no event has this in its name") -> Completions:
    items = tuple(
        Completion(f"{name} ", ItemKind.PLACE, name) for name in sources.event_names(word.text)[:_MAX_ITEMS]
    )
    end = word.start + len(word.text)
    return Completions(word.start, end, items, Priority.NEEDED, "" if items else note)


def _condition(before: str, words: list[Word], sources: NameSources) -> Completions:
    """Complete the text after an event's name: `if`, and a filter on the event's fields."""
    match, scope = _FILTER.search(before), Scope.of(f"e {words[1].text}", sources)
    number, word = len(words) - 1, words[-1]
    if scope is None or not scope.fields():
        return NOTHING
    if match is not None and len(before) > match.end():
        return complete_filter(before, match.end(), scope)
    if number > _BEGIN + 1:
        return NOTHING
    return _word(word, "if", Priority.NEEDED if word.text else Priority.STANDS)


def _word(word: Word, wanted: str, urge: Priority = Priority.NEEDED) -> Completions:
    items = (Completion(f"{wanted} ", ItemKind.WORD, wanted),) if wanted.startswith(word.text) else ()
    end = word.start + len(word.text)
    return Completions(word.start, end, items, urge, "" if items else f"`{wanted}` stands here")
