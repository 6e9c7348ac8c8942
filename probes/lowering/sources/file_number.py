"""Lower a monitor of a file of /proc or /sys: the number is looked for in the file as it is now."""

from __future__ import annotations

import difflib
from typing import Final

from probes.facts.lookups import Environment, NotReadable
from probes.lowering.sources.option_refusal import option_refusal
from probes.plans.sampled_number import FileNumberPlace, SampledNumber, sample_layout
from probes.sources.number_place import NumberPlace
from probes.sources.source import Source

_MOST_BYTES: Final = 1 << 18
"""As many as are sampled (`kernel.agent.number_readers.MOST_FILE_BYTES`)."""

_CONSUMED: Final = frozenset(("kmsg", "trace_pipe", "trace_pipe_raw"))
"""Names of files that whoever reads takes something from."""
_WAYS_OUT: Final = frozenset(("fd", "root", "cwd", "map_files"))
"""Folders of a process in /proc that lead to other files."""


def lower_file_number(source: Source, place: NumberPlace, environment: Environment) -> SampledNumber:
    """Return the number of a file. Raises CannotLower."""
    for option in ("per", "cpus"):
        if source.value(option) not in ("", "sum"):
            raise option_refusal(source, option, "A file has one number for all CPUs")
    *folders, name = place.path.split("/")
    if name in _CONSUMED or (folders[1] == "proc" and not _WAYS_OUT.isdisjoint(folders)):
        raise option_refusal(source, "of", f"Reading {place.path} would take away what others read there", str(place))
    word = source.value("type") or "s64"
    file = FileNumberPlace(place.path, place.key, place.column)
    scale = int(source.value("scale"))
    if environment.read_file is not None:
        _check(source, place, scale, environment)
    return SampledNumber(source.us("every"), sample_layout(word), int(word[1:]) // 8, word[0] == "s", file, scale)


def _check(source: Source, place: NumberPlace, scale: int, environment: Environment) -> None:
    """Raise CannotLower where a file has no such number now."""
    if environment.read_file is None:
        return
    try:
        text = environment.read_file(place.path, _MOST_BYTES)
    except NotReadable as error:
        raise option_refusal(source, "of", str(error), str(place)) from None
    if (
        environment.find_number is not None
        and environment.find_number(text, place.key, place.column, scale) is not None
    ):
        return
    lines = [line.split() for line in text.decode("utf-8", "replace").splitlines() if line.split()]
    keys = [words[0].removesuffix(":") for words in lines]
    if place.key and place.key not in keys:
        near = difflib.get_close_matches(place.key, [key for key in keys if ":" not in key], 3)
        hint = f"{place.path} has no line that begins with {place.key}"
        others = tuple(f"{place.path}:{key}" for key in near)
        raise option_refusal(source, "of", hint, str(place), nearest=others)
    words = next(
        (words for words, key in zip(lines, keys, strict=True) if key == place.key), ["", *next(iter(lines), [])]
    )
    behind = f" behind {place.key}" if place.key else " in its first line"
    if len(words) <= place.column:
        hint = f"{place.path} has {len(words) - 1} words{behind}: the number of one is behind a second colon"
    else:
        hint = f"word {place.column}{behind} of {place.path} is no number: {words[place.column][:40]}"
    raise option_refusal(source, "of", hint, str(place), nearest=_numbers(place, words))


def _numbers(place: NumberPlace, words: list[str]) -> tuple[str, ...]:
    """Return the places of numbers in a line."""
    columns = [at for at, word in enumerate(words) if at and word.lstrip("-").replace(".", "", 1).isdigit()]
    return tuple(f"{place.path}:{place.key}:{at}" for at in columns[:3])
