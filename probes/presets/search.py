"""Which presets fit what is looked for."""

from __future__ import annotations

from collections.abc import Sequence

from probes.presets.schema import Preset


def matches(name: str, preset: Preset | None, text: str, tags: Sequence[str] = ()) -> bool:
    """Whether every word occurs in it, in any case; a word `#tag`, and each of the tags, is one of its tags.

    Args:
        name: of its file.
        preset: None where it can't be read; its name is looked at then.
        text: words.
        tags: it has all of these.
    """
    words = text.lower().split()
    wanted = {tag.lower() for tag in (*tags, *(word[1:] for word in words if word.startswith("#") and word[1:]))}
    has = {tag.lower() for tag in preset.tags} if preset else set()
    if not wanted <= has:
        return False
    where = name.lower()
    if preset is not None:
        parts = (
            preset.title,
            preset.question,
            preset.description,
            *preset.tags,
            *(t for p in preset.probes for t in p),
        )
        where = " ".join((where, *(part.lower() for part in parts)))
    return all(word in where for word in words if not word.startswith("#"))
