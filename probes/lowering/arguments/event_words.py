"""Fetcharg by fetcharg -> the words of one event: named, checked as the kernel does it, placed where they fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from probes.command import Armable
from probes.facts.dialect import MAX_ARGS, MAX_DENTRY_ARGS, MAX_LINE
from probes.facts.errors_table import message_of
from probes.fetcharg import FetchArg
from probes.functions.value import ValueUnavailable
from probes.lowering.arguments.capture import field_name
from probes.lowering.arguments.selection import CaptureRequest, CaptureSelection
from probes.names import MAX_EVENT_NAME, unique_field
from probes.plans.plan import PlanColumn
from probes.refusal import CannotLower
from probes.rules.argument import check_argument, check_entry_data
from probes.rules.expand import expand_dentry
from probes.rules.messages.hints import hint_for
from probes.rules.parsed_event import ParsedArgument
from probes.rules.site import Site
from probes.syntax.refused import Refused
from probes.verdict import Refusal

_MOST_HEAD = len("r4096:/ ") + 2 * MAX_EVENT_NAME + len(" ")
"""Characters of a command's first word with the longest names, and of what separates it from the second and third."""


class FetchargWriter(Protocol):
    """Writes fetchargs for one place; `probes.lowering.arguments.capture.Capturer` is one."""

    @property
    def site(self) -> Site: ...

    def words(self, arg: FetchArg, name: str) -> list[str]:
        """The ways to write it under a field name, the best first. Raises NotThere."""

    def column(self, arg: FetchArg, name: str) -> PlanColumn:
        """What the field will hold. Raises NotThere."""


@dataclass(frozen=True, slots=True)
class NamedField:
    """One thing to capture with the name it is recorded under, the same at both ends."""

    wanted: CaptureRequest
    name: str


@dataclass(frozen=True, slots=True)
class CapturedWords:
    """The words of one event, and what they record."""

    words: tuple[str, ...]
    columns: tuple[PlanColumn, ...]
    losses: tuple[str, ...] = ()


def name_fields(selection: CaptureSelection) -> list[NamedField]:
    """Name the fields: what the user wrote, and for the rest what is like the path."""
    names = {w.arg.name for w in selection.wanted if w.arg.name is not None}
    fields = []
    for wanted in selection.wanted:
        name = wanted.arg.name
        if name is None:
            name = unique_field(field_name(wanted.arg, tuple(names)), names)
            names.add(name)
        fields.append(NamedField(wanted, name))
    return fields


def capture(
    probe: Armable, fields: Sequence[NamedField], writer: FetchargWriter, place: str, limit: int = MAX_ARGS
) -> CapturedWords:
    """Write the words of one event; what the event has no room for is left out and told.

    So is what came with `$$args` and can't be had. Raises CannotLower where a person named what can't be had.

    Args:
        probe: what is wanted.
        fields: of it.
        writer: writes them for one place.
        place: what else stands in the line but the event's name.
        limit: of the number of words.
    """
    losses: list[str] = []
    columns: list[PlanColumn] = []
    taken = _Taken(MAX_LINE - _MOST_HEAD - len(place))
    for one in fields:
        if len(taken.words) == limit:
            losses.append(f"{one.name}: an event has at most {MAX_ARGS} fields")
            continue
        try:
            fits = _first_taken(one, writer, taken)
            column = writer.column(one.wanted.arg, one.name)
        except (ValueUnavailable, Refused) as error:
            if one.wanted.chosen:
                raise refused_at(probe, one.wanted, error, writer.site) from None
            reason = error.reason if isinstance(error, ValueUnavailable) else message_of(error.code)
            losses.append(f"{one.name}: {reason or error.code}")
            continue
        if len(fits.word) >= taken.room:
            losses.append(f"{one.name}: a line has at most {MAX_LINE} characters")
            continue
        if fits.built.shifts and taken.has_text:
            losses.append(f"{one.name}: where the kernel reads a bit-field by its name it spoils the text before it")
        taken.take(one.name, fits)
        columns.append(column)
    return CapturedWords(tuple(taken.words), tuple(columns), tuple(losses))


class _Fits(NamedTuple):
    """A word that the kernel takes."""

    word: str
    built: ParsedArgument
    """What the kernel makes of it."""
    dentries: int
    """Bytes of the text that `%pd` and `%pD` become."""


@dataclass
class _Taken:
    """What the words so far take of an event's limits."""

    room: int
    """Characters that are left of the line."""
    words: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    size: int = 0
    dentries: int = 0
    has_text: bool = False

    def take(self, name: str, fits: _Fits) -> None:
        """Add a word."""
        self.words.append(fits.word)
        self.names.append(name)
        self.room -= len(fits.word) + 1
        self.size += fits.built.width
        self.has_text |= fits.built.type in ("string", "ustring", "symstr")
        self.dentries += fits.dentries


def _first_taken(field: NamedField, writer: FetchargWriter, taken: _Taken) -> _Fits:
    """Write it in the first way that this kernel takes."""
    first: Refused | None = None
    site, kept = writer.site, len(writer.site.entry_args)
    for word in writer.words(field.wanted.arg, field.name):
        del site.entry_args[kept:]  # what a refused way would have kept
        try:
            expanded = word if site.user or site.on_event else expand_dentry([word], site)[0]
            dentries = len(expanded) + 1 if expanded != word else 0
            if taken.dentries + dentries > MAX_DENTRY_ARGS:
                continue  # the next way writes the offsets itself
            built = check_argument(expanded, len(taken.names), taken.names, taken.size, site)
            check_entry_data(site)
        except Refused as error:
            first = first or error
            continue
        return _Fits(word, built, dentries)
    del site.entry_args[kept:]
    raise first or Refused("ARG_TOO_LONG", 0)


def refused_at(
    probe: Armable, wanted: CaptureRequest, error: ValueUnavailable | Refused, site: Site | None
) -> CannotLower:
    """Place an error in the probe's own text."""
    words = str(probe).split(" ")
    start = sum(len(word) + 1 for word in words[: 2 + wanted.at])
    body = len(f"{wanted.arg.name}=") if wanted.arg.name is not None else 0
    if isinstance(error, ValueUnavailable):
        offset = error.offset + body
    else:
        offset = _offset_in_text(str(wanted.arg), error.code, site)
    reason = error.reason if isinstance(error, ValueUnavailable) else ""
    hint, nearest = hint_for(error.code, error.token, error.names, error.hint, getattr(error, "meant", ()))
    message = message_of(error.code) or reason or error.code
    return CannotLower(Refusal(error.code, message, start + offset, error.token or str(wanted.arg), hint, nearest))


def _offset_in_text(word: str, code: str, site: Site | None) -> int:
    """Column of an error within the word a person wrote, where the kernel would say the same of that."""
    try:
        if site is not None:
            check_argument(word, 0, [], 0, site)
    except Refused as error:
        return error.offset if error.code == code else 0
    return 0
