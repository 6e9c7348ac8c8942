"""A probe -> the lines one target takes: pure, nothing added silently, and what is lost is said in `Plan.losses`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from btf.btf import Btf
from probes.argument import check_argument, check_entry_data
from probes.capture import Capturer, field_name, needs_entry, needs_exit
from probes.convention import passed, pushed_by_call
from probes.dialect import MAX_ARGS, MAX_DENTRY_ARGS, dialect_of
from probes.errors_table import message_of
from probes.expand import expand_dentry
from probes.facts import TargetFacts
from probes.filters import names_in, unknown
from probes.hints import hint_for
from probes.mechanism import Mechanism, choose
from probes.names import event_name, unique_field
from probes.plan import Column, Plan, PlannedEvent
from probes.probe import Probe, When
from probes.refusal import CannotLower, own
from probes.selection import Selection, Wanted, expand
from probes.signature import signature_of
from probes.site import Refused, Site
from probes.value import NotThere
from probes.verdict import Refusal

__all__ = ["CannotLower", "lower"]

_DEFAULT_GROUP = "probewright"


@dataclass(frozen=True, slots=True)
class _Field:
    """One thing to capture with the name it is recorded under, the same at both ends."""

    wanted: Wanted
    name: str


def lower(probe: Probe, btf: Btf | None, facts: TargetFacts, group: str, event: str | None = None) -> Plan:
    """Turn a probe into the lines of one target.

    Args:
        probe: what is wanted.
        btf: types of the target (of the module the function is in, on top of the kernel's); None: unknown.
        facts: what the target can do.
        group: group of the events; empty: the probe's own, else `probewright`.
        event: name of the event; of two events the part before `__entry` and `__exit`. None: the probe's, else by
            the function's name.

    Raises:
        CannotLower: this target can't do it; the refusal says which word is in the way (column in `str(probe)`).
    """
    mechanism = choose(probe, facts)
    signature = signature_of(btf, probe.place.symbol) if btf is not None and not probe.place.offset else None
    where = (
        passed(btf, signature.params, facts.machine, signature.returns)
        if btf is not None and signature is not None
        else ()
    )
    chosen = expand(probe.fetchargs, signature, where)
    fields = _name(chosen)
    losses = [*mechanism.losses, *chosen.losses]
    ends, split_losses = _ends(probe, fields, facts)
    losses += split_losses
    events = []
    paired = len(ends) > 1
    frame = unique_field("frame", {field.name for field in fields}) if paired else ""
    for at_exit, members in ends:
        dialect = dialect_of(facts)
        known = signature if mechanism.by_name else None
        site = Site(dialect, btf, known, not at_exit and not probe.place.offset, at_exit, fprobe=mechanism.is_fprobe)
        capturer = Capturer(site, signature, where, mechanism.by_name and dialect.btf_args)
        words, columns = _capture(probe, members, capturer, losses, MAX_ARGS - paired)
        if paired:
            words.append(f"{frame}=$stack")
        made = _event(probe, mechanism, at_exit, words, columns, group, event, paired)
        shift = pushed_by_call(facts.machine) if paired and at_exit else 0
        events.append(replace(made, frame=frame, frame_shift=shift))
    return Plan(probe, tuple(_filtered(probe, events, losses)), tuple(dict.fromkeys(losses)))


def _name(selection: Selection) -> list[_Field]:
    """Name the fields: what the user wrote, and for the rest what is like the path."""
    names = {w.arg.name for w in selection.wanted if w.arg.name is not None}
    fields = []
    for wanted in selection.wanted:
        name = wanted.arg.name
        if name is None:
            name = unique_field(field_name(wanted.arg, tuple(names)), names)
            names.add(name)
        fields.append(_Field(wanted, name))
    return fields


def _ends(
    probe: Probe, fields: list[_Field], facts: TargetFacts
) -> tuple[list[tuple[bool, list[_Field]]], list[str]]:
    """Say which events are needed: (at the exit, its fields) each."""
    at_entry = [f for f in fields if not needs_exit(f.wanted.arg.expression)]
    arguments = [f for f in fields if needs_entry(f.wanted.arg.expression)]
    if probe.when is When.ENTRY:
        for field in fields:
            if needs_exit(field.wanted.arg.expression):
                raise _at(probe, field.wanted, Refused("RETVAL_ON_PROBE", 0, "$retval"), None)
        return [(False, fields)], []
    if dialect_of(facts).entry_at_exit or not arguments:
        both = [(False, at_entry), (True, fields)]
        return (both if probe.when is When.BOTH else both[1:]), []
    rest = [f for f in fields if f not in arguments]
    names = ", ".join(f.name for f in arguments)
    if probe.when is When.BOTH:
        return [(False, at_entry), (True, rest)], [
            f"{names}: this kernel has arguments at the entry only, the exit shows the rest"
        ]
    return [(False, arguments), (True, rest)], [
        f"{names}: this kernel has arguments at the entry only; an event of their own shows them before the call"
    ]


def _capture(
    probe: Probe, fields: list[_Field], capturer: Capturer, losses: list[str], limit: int
) -> tuple[list[str], list[Column]]:
    """Write the words of one event; what came with `$$args` and can't be had is left out and told."""
    words: list[str] = []
    columns: list[Column] = []
    taken = _Taken([])
    for field in fields:
        if len(words) == limit:
            losses.append(f"{field.name}: an event has at most {MAX_ARGS} fields")
            continue
        try:
            word = _first_taken(field, capturer, taken)
            columns.append(capturer.column(field.wanted.arg, field.name))
        except (NotThere, Refused) as error:
            if field.wanted.chosen:
                raise _at(probe, field.wanted, error, capturer.site) from None
            reason = error.reason if isinstance(error, NotThere) else message_of(error.code)
            losses.append(f"{field.name}: {reason or error.code}")
            continue
        words.append(word)
    return words, columns


@dataclass
class _Taken:
    """What the words so far take of an event's limits."""

    names: list[str]
    size: int = 0
    dentries: int = 0
    """Bytes of the text that `%pd` and `%pD` become."""


def _first_taken(field: _Field, capturer: Capturer, taken: _Taken) -> str:
    """Write it in the first way that this kernel takes."""
    first: Refused | None = None
    site, kept = capturer.site, len(capturer.site.entry_args)
    for word in capturer.words(field.wanted.arg, field.name):
        del site.entry_args[kept:]  # what a refused way would have kept
        try:
            expanded = expand_dentry([word], site)[0]
            dentries = len(expanded) + 1 if expanded != word else 0
            if taken.dentries + dentries > MAX_DENTRY_ARGS:
                continue  # the next way writes the offsets itself
            width = check_argument(expanded, len(taken.names), taken.names, taken.size, site).width
            check_entry_data(site)
        except Refused as error:
            first = first or error
            continue
        taken.names.append(field.name)
        taken.size += width
        taken.dentries += dentries
        return word
    del site.entry_args[kept:]
    raise first or Refused("ARG_TOO_LONG", 0)


def _at(probe: Probe, wanted: Wanted, error: NotThere | Refused, site: Site | None) -> CannotLower:
    """Place an error in the probe's own text."""
    words = str(probe).split(" ")
    start = sum(len(word) + 1 for word in words[: 2 + wanted.at])
    body = len(f"{wanted.arg.name}=") if wanted.arg.name is not None else 0
    if isinstance(error, NotThere):
        offset = error.offset + body
    else:
        offset = _offset_in_text(str(wanted.arg), error.code, site)
    reason = error.reason if isinstance(error, NotThere) else ""
    hint, nearest = hint_for(error.code, error.token, error.names)
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


def _event(
    probe: Probe,
    mechanism: Mechanism,
    at_exit: bool,
    words: Sequence[str],
    columns: Sequence[Column],
    group: str,
    event: str | None,
    paired: bool,
) -> PlannedEvent:
    """Put the line together."""
    end = "__exit" if at_exit else "__entry"
    given = event if event is not None else probe.event
    name = given if given and not paired else event_name(given or probe.place.symbol, end)
    path = f"{group or probe.group or _DEFAULT_GROUP}/{name}"
    line = " ".join([f"{mechanism.letter(at_exit)}:{path}", mechanism.target(at_exit), *words])
    triggers = (*(("stacktrace",) if probe.stack else ()), *probe.triggers)
    group_name, _, event_part = path.partition("/")
    return PlannedEvent(group_name, event_part, line, f"-:{path}", at_exit, "", triggers, tuple(columns))


def _filtered(probe: Probe, events: list[PlannedEvent], losses: list[str]) -> list[PlannedEvent]:
    """Give the filter to each event that records all it names."""
    if not probe.filter:
        return events
    recorded = list(dict.fromkeys(column.name for event in events for column in event.columns))
    stranger = unknown(probe.filter, recorded)
    if stranger is not None:
        hint, nearest = hint_for("unknown_filter_field", stranger.text, recorded)
        column = len(str(probe)) - len(probe.filter) + stranger.column
        raise CannotLower(own("unknown_filter_field", stranger.text, column, hint, nearest))
    out, without = [], []
    for event in events:
        mine = [column.name for column in event.columns]
        if unknown(probe.filter, mine) is None:
            out.append(replace(event, filter=probe.filter))
        else:
            out.append(event)
            without.append(event.event)
    if without and len(without) == len(events):
        names = ", ".join(dict.fromkeys(name.text for name in names_in(probe.filter)))
        raise CannotLower(own("filter_spans_events", names, len(str(probe)) - len(probe.filter)))
    losses += [f"{name}: not filtered, it does not record all that the filter names" for name in without]
    return out
