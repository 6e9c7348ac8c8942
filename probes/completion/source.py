"""Complete a source, `timerlat period=1ms`: its kind, its options with their bounds, and their words."""

from __future__ import annotations

from probes.completion.choice import Completion, Completions, ItemKind, Priority
from probes.facts.facts import TargetFacts
from probes.lowering.sources.lower_source import missing_reason
from probes.sources.kinds import KINDS
from probes.syntax.text import Word, split


def source_heads(typed: str, facts: TargetFacts) -> list[Completion]:
    """Return the kinds of sources of a kernel that begin with the text typed."""
    return [
        Completion(f"{kind.name} ", ItemKind.LETTER, kind.name, description=kind.title)
        for kind in KINDS.values()
        if typed and kind.name.startswith(typed) and not missing_reason(kind, facts)
    ]


def complete_source(before: str) -> Completions:
    """Return the completions at the end of a text that begins with a kind of source and a blank."""
    words = split(before)
    if not before[-1:].strip():
        words.append(Word("", len(before)))
    kind, word = KINDS[words[0].text], words[-1]
    end = word.start + len(word.text)
    name, equals, value = word.text.partition("=")
    if equals:
        option = kind.option(name)
        if option is None:
            return Completions(end, end, note=f"options: {', '.join(one.name for one in kind.options)}")
        start = end - len(value)
        items = tuple(
            Completion(f"{one} ", ItemKind.VALUE, one)
            for one in option.words
            if one.startswith(value) and one != value
        )
        return Completions(start, end, items, Priority.STANDS if value else Priority.NEEDED, option.bounds)
    taken = {one.text.partition("=")[0] for one in words[1:-1]}
    items = tuple(
        Completion(f"{one.name}=", ItemKind.WORD, one.name, one.bounds, description=one.help)
        for one in kind.options
        if one.name.startswith(name) and one.name not in taken
    )
    return Completions(word.start, end, items, Priority.NEEDED if name else Priority.STANDS)
