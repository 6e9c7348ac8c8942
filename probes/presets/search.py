"""Which presets fit what is looked for."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from probes.presets.schema import Preset

_WORD = re.compile(r"[a-z][a-z0-9_]{2,}")
"""One that may be meant."""
_ALIKE = 0.7
"""Of 1, how much a word is to be like another that may be meant."""
_PUNCTUATION = "?!.,;:\"'()"
_SMALL = re.compile(
    "an?|and|are|at|be|by|can|did|do|does|for|from|has|have|how|i|in|into|is|it|me|my|of|on|or|than|that|the|their"
    "|there|they|this|to|was|were|what|when|where|which|who|whom|whose|why|will|with"
)
"""Words of a question that say nothing of what is looked for."""


def words_of(text: str) -> list[str]:
    """Return the words of a query in small letters, without punctuation and, where there are others, small words."""
    words = [word for one in text.lower().split() if (word := one.strip(_PUNCTUATION))]
    return [word for word in words if _SMALL.fullmatch(word) is None] or words


def matches(name: str, preset: Preset | None, text: str, tags: Sequence[str] = ()) -> bool:
    """Whether all words but small ones occur in it, in any case; a word `#tag`, and each of the tags, is a tag of it.

    Args:
        name: of its file.
        preset: None where it can't be read; its name is looked at then.
        text: words, also of a question: `why is open slow?`.
        tags: it has all of these.
    """
    words = words_of(text)
    wanted = {tag.lower() for tag in (*tags, *(word[1:] for word in words if word.startswith("#") and word[1:]))}
    has = {tag.lower() for tag in preset.tags} if preset else set()
    if not wanted <= has:
        return False
    where = _text_of(name, preset)
    return all(word in where for word in words if not word.startswith("#"))


def nearest(word: str, presets: Iterable[tuple[str, Preset | None]]) -> list[str]:
    """Up to three names of presets that are like a misspelt word; where none is, words that they hold."""
    own = list(presets)
    names = sorted({name.lower() for name, _ in own})
    known = sorted({found for name, preset in own for found in _WORD.findall(_text_of(name, preset))})
    like = (difflib.get_close_matches(word.lower(), among, 3, _ALIKE) for among in (names, known))
    return next(filter(None, like), [])


def _text_of(name: str, preset: Preset | None) -> str:
    """All that is looked through, in small letters."""
    if preset is None:
        return name.lower()
    probes = (text for texts in preset.probes for text in texts)
    return " ".join((name, preset.title, preset.question, preset.description, *preset.tags, *probes)).lower()
