"""Write the fetchargs of an event as words: named, checked by the kernel's rules, with errors placed in the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from probes.command import Armable
from probes.facts.dialect import MAX_ARGS, MAX_DENTRY_ARGS, MAX_LINE
from probes.facts.errors_table import message_of
from probes.fetcharg import FetchArg
from probes.functions.value import ValueUnavailable
from probes.lowering.arguments.capture import field_name
from probes.lowering.arguments.pointers import ReadValue, reads_memory, with_pointers
from probes.lowering.arguments.selection import CaptureRequest, CaptureSelection
from probes.names import MAX_EVENT_NAME, unique_field
from probes.plans.plan import PlanColumn
from probes.refusal import CannotLower
from probes.rules.argument import check_argument, check_entry_data
from probes.rules.expand import expand_dentry
from probes.rules.messages.hints import hint_for
from probes.rules.parsed_event import ParsedArgument
from probes.rules.site import Site
from probes.syntax.parse_fetcharg import parse_fetcharg
from probes.syntax.refused import Refused
from probes.verdict import Refusal

_MAX_HEAD = len("r4096:/ ") + 2 * MAX_EVENT_NAME + len(" ")
"""Characters of a command's first word with the longest names, and of the separators before the second and third
word."""


class FetchargWriter(Protocol):
    """Writer of fetchargs for a place; `probes.lowering.arguments.capture.Capturer` is one."""

    @property
    def site(self) -> Site: ...

    def words(self, arg: FetchArg, name: str) -> list[str]:
        """Return the words for a fetcharg under a field name, the best first. Raises ValueUnavailable."""

    @property
    def argument_numbers(self) -> Mapping[str, int]:
        """N of `$argN` by the parameters and registers that hold the same: `file`, `%di`."""

    def column(self, arg: FetchArg, name: str) -> PlanColumn:
        """Return a description of the field's content. Raises ValueUnavailable."""


@dataclass(frozen=True, slots=True)
class NamedField:
    """A value to capture with the name of its field, which is the same at entry and exit."""

    request: CaptureRequest
    name: str


@dataclass(frozen=True, slots=True)
class CapturedWords:
    """Words of an event, and the fields they record."""

    words: tuple[str, ...]
    columns: tuple[PlanColumn, ...]
    losses: tuple[str, ...] = ()


def name_fields(selection: CaptureSelection) -> list[NamedField]:
    """Name the fields: the user's names, and for the others names derived from the path."""
    names = {w.arg.name for w in selection.requests if w.arg.name is not None}
    fields = []
    for wanted in selection.requests:
        name = wanted.arg.name
        if name is None:
            name = unique_field(field_name(wanted.arg, tuple(names)), names)
            names.add(name)
        fields.append(NamedField(wanted, name))
    return fields


def capture(
    probe: Armable, fields: Sequence[NamedField], writer: FetchargWriter, place: str, limit: int = MAX_ARGS
) -> CapturedWords:
    """Write the words of an event; fields that do not fit are left out and listed in `losses`.

    Values from `$$args` that no probe can read are left out and listed too. Raises CannotLower for such a value that
    a person named.

    Args:
        probe: the probe that is lowered.
        fields: the probe's named values.
        writer: writes the fetchargs for this place.
        place: the rest of the line, without the event's name.
        limit: largest number of words.
    """
    losses: list[str] = []
    values: list[ReadValue] = []
    used = _UsedLimits(MAX_LINE - _MAX_HEAD - len(place))
    for named in fields:
        if len(used.words) == limit:
            losses.append(f"{named.name}: an event has at most {MAX_ARGS} fields")
            continue
        try:
            accepted = _first_accepted(named, writer, used)
            column = writer.column(named.request.arg, named.name)
        except (ValueUnavailable, Refused) as error:
            if named.request.is_explicit:
                raise refused_at(probe, named.request, error, writer.site) from None
            reason = error.reason if isinstance(error, ValueUnavailable) else message_of(error.code)
            losses.append(f"{named.name}: {reason or error.code}")
            continue
        if len(accepted.word) >= used.room:
            losses.append(f"{named.name}: a line has at most {MAX_LINE} characters")
            continue
        if accepted.built.shifts and used.has_text:
            losses.append(
                f"{named.name}: where the kernel reads a bit-named by its name it spoils the text before it"
            )
        used.take(named.name, accepted)
        from_memory = reads_memory(parse_fetcharg(accepted.word).expression)
        values.append(ReadValue(named.request.arg, column, from_memory))
    return CapturedWords(
        tuple(used.words), with_pointers(values, writer.site.btf, writer.argument_numbers), tuple(losses)
    )


class _AcceptedWord(NamedTuple):
    """A word that the kernel accepts."""

    word: str
    built: ParsedArgument
    """The argument as the kernel parses it."""
    dentries: int
    """Bytes of the text that `%pd` and `%pD` expand to."""


@dataclass
class _UsedLimits:
    """Consumption of an event's limits by the words so far."""

    room: int
    """Characters left in the line."""
    words: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    size: int = 0
    dentries: int = 0
    has_text: bool = False

    def take(self, name: str, accepted: _AcceptedWord) -> None:
        """Add a word."""
        self.words.append(accepted.word)
        self.names.append(name)
        self.room -= len(accepted.word) + 1
        self.size += accepted.built.width
        self.has_text |= accepted.built.type in ("string", "ustring", "symstr")
        self.dentries += accepted.dentries


def _first_accepted(field: NamedField, writer: FetchargWriter, used: _UsedLimits) -> _AcceptedWord:
    """Return the first word for a field that this kernel accepts."""
    first: Refused | None = None
    site, count = writer.site, len(writer.site.entry_args)
    for word in writer.words(field.request.arg, field.name):
        del site.entry_args[count:]  # remove entry arguments that a rejected word added
        try:
            expanded = word if site.user or site.on_event else expand_dentry([word], site)[0]
            dentries = len(expanded) + 1 if expanded != word else 0
            if used.dentries + dentries > MAX_DENTRY_ARGS:
                continue  # the next word has the offsets written out
            built = check_argument(expanded, len(used.names), used.names, used.size, site)
            check_entry_data(site)
        except Refused as error:
            first = first or error
            continue
        return _AcceptedWord(word, built, dentries)
    del site.entry_args[count:]
    raise first or Refused("ARG_TOO_LONG", 0)


def refused_at(
    probe: Armable, wanted: CaptureRequest, error: ValueUnavailable | Refused, site: Site | None
) -> CannotLower:
    """Return the error, placed in the probe's own text."""
    words = str(probe).split(" ")
    start = sum(len(word) + 1 for word in words[: 2 + wanted.at])
    body = len(f"{wanted.arg.name}=") if wanted.arg.name is not None else 0
    if isinstance(error, ValueUnavailable):
        offset = error.offset + body
    else:
        offset = _offset_in_text(str(wanted.arg), error.code, site)
    reason = error.reason if isinstance(error, ValueUnavailable) else ""
    hint, nearest = hint_for(error.code, error.token, error.names, error.hint, getattr(error, "corrections", ()))
    message = message_of(error.code) or reason or error.code
    return CannotLower(Refusal(error.code, message, start + offset, error.token or str(wanted.arg), hint, nearest))


def _offset_in_text(word: str, code: str, site: Site | None) -> int:
    """Return the column of an error within a person's word; 0 where the kernel gives that word another error."""
    try:
        if site is not None:
            check_argument(word, 0, [], 0, site)
    except Refused as error:
        return error.offset if error.code == code else 0
    return 0
