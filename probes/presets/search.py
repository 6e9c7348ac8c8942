"""Search presets by words and tags."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from probes.presets.schema import Preset

_WORD = re.compile(r"[a-z][a-z0-9_]{2,}")
"""Pattern for words that a misspelled word may mean."""
_LEAST_SIMILARITY = 0.7
"""Least similarity, from 0 to 1, of a misspelled word and another."""
_PUNCTUATION = "?!.,;:\"'()"
_STOP_WORDS = re.compile(
    "an?|and|are|at|be|by|can|did|do|does|for|from|has|have|how|i|in|into|is|it|me|my|of|on|or|than|that|the|their"
    "|there|they|this|to|was|were|what|when|where|which|who|whom|whose|why|will|with"
)
"""Words of a question that do not narrow the search."""


def words_of(text: str) -> list[str]:
    """Return the words of a query in lower case, without punctuation, and without stop words unless all are."""
    words = [word for part in text.lower().split() if (word := part.strip(_PUNCTUATION))]
    return [word for word in words if _STOP_WORDS.fullmatch(word) is None] or words


def matches(name: str, preset: Preset | None, text: str, tags: Sequence[str] = ()) -> bool:
    """Return whether a preset has all words except stop words, in any case, and all tags, also given as words `#tag`.

    Args:
        name: name of the preset's file.
        preset: the preset; None where it can't be read, so that only its name is searched.
        text: words, also of a question: `why is open slow?`.
        tags: required tags.
    """
    words = words_of(text)
    wanted = {tag.lower() for tag in (*tags, *(word[1:] for word in words if word.startswith("#") and word[1:]))}
    preset_tags = {tag.lower() for tag in preset.tags} if preset else set()
    if not wanted <= preset_tags:
        return False
    searched = _text_of(name, preset)
    return all(word in searched for word in words if not word.startswith("#"))


def ranked(presets: Sequence[tuple[str, Preset | None]], text: str, tags: Sequence[str] = ()) -> list[int]:
    """Return the indices of the presets that match a query, those first that have its words in more telling places.

    A word is worth more in the name than in question and title, there more than in tags, and there more than in the
    description or the probes; at the beginning of a word more than inside. Equal ones keep their order.

    Args:
        presets: names of files with their presets; None where one can't be read.
        text: as of `matches`.
        tags: as of `matches`.
    """
    words = [word for word in words_of(text) if not word.startswith("#")]
    found = [n for n, (name, preset) in enumerate(presets) if matches(name, preset, text, tags)]
    return sorted(found, key=lambda n: sum(_distance(word, *presets[n]) for word in words))


def _distance(word: str, name: str, preset: Preset | None) -> int:
    """Return how far from the name a word stands, from 0."""
    asked = f"{preset.question} {preset.title}" if preset else ""
    places = (name, asked, " ".join(preset.tags) if preset else "")
    for number, place in enumerate(places):
        if word in place.lower():
            return 2 * number + (re.search(rf"\b{re.escape(word)}", place.lower()) is None)
    return 2 * len(places)


def nearest(word: str, presets: Iterable[tuple[str, Preset | None]]) -> list[str]:
    """Return up to three names of presets similar to a misspelled word, else similar words in presets."""
    entries = list(presets)
    names = sorted({name.lower() for name, _ in entries})
    words = sorted({known_word for name, preset in entries for known_word in _WORD.findall(_text_of(name, preset))})
    similar = (difflib.get_close_matches(word.lower(), among, 3, _LEAST_SIMILARITY) for among in (names, words))
    return next(filter(None, similar), [])


def _text_of(name: str, preset: Preset | None) -> str:
    """Return the text of a preset that is searched, in lower case."""
    if preset is None:
        return name.lower()
    probes = (text for texts in preset.probes for text in texts)
    return " ".join(
        (name, preset.title, preset.question, preset.description, *preset.tags, *probes, *preset.calls)
    ).lower()
