"""Derive short host names from `--target` values."""

from __future__ import annotations

from collections.abc import Sequence


def host_names(specs: Sequence[str]) -> list[str]:
    """Return a name for each target: as short as keeps the names distinct."""
    words = [spec.removeprefix("ssh://").rstrip("/") for spec in specs]
    short = [word.rpartition("@")[2] for word in words]
    bare = [word if word.startswith("[") or word.count(":") != 1 else _host_of(word) for word in short]
    names = [
        name if bare.count(name) == 1 else word if short.count(word) == 1 else whole
        for name, word, whole in zip(bare, short, words, strict=True)
    ]
    seen: dict[str, int] = {}
    for number, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        if names.count(name) > 1:
            names[number] = f"{name}#{seen[name]}" if seen[name] > 1 else name
    return names


def _host_of(word: str) -> str:
    """Return the word without a port; `lab:6.12` is a name as a whole."""
    host, _, port = word.partition(":")
    return host if port.isdigit() and host != "lab" else word
