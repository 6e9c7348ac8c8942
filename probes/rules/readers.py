"""Readers of the kinds of dynamic event that probe something: a command's words -> the event it makes, or an error.

Each follows its `create` in kernel/trace: trace_kprobe.c, trace_uprobe.c, trace_fprobe.c, trace_eprobe.c. One gives
None where the command is not for it (-ECANCELED).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from btf.btf import Btf
from probes.facts.dialect import MAX_ARGS, Dialect
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import Environment, StaticEventField, events_like
from probes.functions.function_index import STUB, index_of, tracepoints_like
from probes.functions.signature import Signature, signature_of, tracepoint_of
from probes.names import MAX_EVENT_NAME, check_name, split_name
from probes.rules.argument import check_argument, check_entry_data, unread_argument
from probes.rules.events.fields import built_fields
from probes.rules.events.filter import check_filter
from probes.rules.existing import check_existing
from probes.rules.expand import expand_dentry, expand_meta
from probes.rules.parsed_event import ParsedArgument, ParsedEvent
from probes.rules.place import ParsedPlace, check_head, fprobe_spot, kprobe_spot, tprobe_spot
from probes.rules.site import Site
from probes.rules.user_verdict import is_user, user_spot
from probes.syntax.refused import Refused, RefusedWord


@dataclass
class RuleContext:
    """What commands are read with."""

    dialect: Dialect
    btf: Btf | None
    facts: TargetFacts
    environment: Environment
    existing: tuple[ParsedEvent, ...] = ()
    registers: bool = True
    """Whether the event is to be registered: False for one that is there already."""


_T = TypeVar("_T")


class _Name(NamedTuple):
    group: str
    event: str


def _read_name(text: str | None, head: str, group: str, event: str, reading: RuleContext) -> _Name:
    """Check the name behind the colon; what it leaves out is the default. Raises At.

    One that the kernel made and lists may hold any character.
    """
    if text is None:
        return _Name(group, event)
    if reading.registers and (bad := check_name(text)) is not None:
        raise RefusedWord(Refused(bad[0], len(head) - len(text) + bad[1], text))
    given_group, given_event = split_name(text)
    return _Name(given_group or group, given_event or event)


def _default(text: str) -> str:
    """Make an event's name as the kernel does: `:`, `.` and `*` become `_`, the rest is cut."""
    return (text[:1] + "".join("_" if c in ":.*" else c for c in text[1:]))[:MAX_EVENT_NAME]


def kprobe(words: list[str], reading: RuleContext) -> ParsedEvent | None:
    """Read `p` and `r` in kernel code."""
    if len(words) < 2:
        return None
    name = _head(words[0], reading.dialect)
    if "/" in words[1] and ":" in words[1]:
        return None
    spot = _spot(
        lambda: kprobe_spot(words[0], words[1], reading.btf, reading.facts, reading.dialect, reading.environment)
    )
    place = spot.place or spot.symbol
    symbol, _, offset = place.partition("+")
    returns = spot.at_exit or words[0].startswith("r")
    letter = "r" if returns else "p"
    named = _read_name(name, words[0], "kprobes", _default(f"{letter}_{symbol}_{offset or 0}"), reading)
    signature = signature_of(reading.btf, spot.symbol) if reading.btf is not None and spot.symbol else None
    site = _site(reading, signature, spot)
    arguments = _arguments(words, site, reading)
    built = ParsedEvent("k", named.group, named.event, place, returns, arguments)
    if spot.absent and site.late is not None and site.late.code == "BAD_PROBE_ADDR":
        return _register(built, None, reading)
    return _register(built, spot.notrace or site.late or spot.late, reading)


def fprobe(words: list[str], reading: RuleContext) -> ParsedEvent | None:
    """Read `f` and `t`."""
    if len(words) < 2 or not reading.dialect.fprobe:
        return None
    name = _head(words[0], reading.dialect)
    tracepoint = words[0].startswith("t")
    if tracepoint:
        spot = _spot(lambda: tprobe_spot(words))
        default = f"_{spot.symbol}" if spot.symbol[:1].isdigit() else spot.symbol
    else:
        spot = _spot(lambda: fprobe_spot(words, reading.dialect, reading.facts, reading.environment))
        default = f"{spot.symbol}__{'exit' if spot.at_exit else 'entry'}"
    named = _read_name(name, words[0], "tracepoints" if tracepoint else "fprobes", _default(default), reading)
    signature = None
    if reading.btf is not None:
        signature = (tracepoint_of if tracepoint else signature_of)(reading.btf, spot.symbol)
    site = _site(reading, signature, spot)
    site.fprobe, site.tracepoint = True, tracepoint
    try:
        arguments = _arguments(words, site, reading)
    except RefusedWord as error:
        if tracepoint and error.refused.code in ("NO_BTF_ENTRY", "NOSUP_BTFARG"):
            raise _no_tracepoint(error, spot.symbol, reading) from None
        raise
    try:
        check_entry_data(site)
    except Refused as error:
        raise RefusedWord(error, 2) from None
    built = ParsedEvent(words[0][0], named.group, named.event, spot.symbol, spot.at_exit, arguments)
    return _register(built, site.late or spot.late, reading)


def _no_tracepoint(error: RefusedWord, name: str, reading: RuleContext) -> RefusedWord:
    """What is said of an argument of a tracepoint that there is not: it is the tracepoint that is wrong."""
    known = tracepoints_like(name, reading.facts)
    if not known:
        return error
    found = error.refused
    hint = f"There is no tracepoint {name} now, so nobody knows its arguments"
    return RefusedWord(Refused(found.code, found.offset, name, names=known, hint=hint), error.index)


def uprobe(words: list[str], reading: RuleContext) -> ParsedEvent | None:
    """Read `p` and `r` in a file."""
    if not is_user(words):
        return None
    if len(words) - 2 > MAX_ARGS:
        _too_many(words, reading.dialect)
    head = words[0]
    spot = _spot(lambda: user_spot(head, words[1], reading.environment))
    named = _read_name(head[2:] if head[1:2] == ":" else None, head, "uprobes", _default(spot.default_event), reading)
    site = Site(reading.dialect, reading.btf, None, at_exit=spot.returns, user=True, environment=reading.environment)
    arguments = _arguments(words, site, reading)
    place = spot.place(reading.facts.long_size)
    built = ParsedEvent("u", named.group, named.event, place, spot.returns, arguments, spot.reference)
    return _register(built, None, reading)


def kprobe_or_uprobe(words: list[str], reading: RuleContext) -> ParsedEvent | None:
    """Read `p` and `r`: the kernel asks kprobes first."""
    return kprobe(words, reading) or uprobe(words, reading)


def eprobe(words: list[str], reading: RuleContext) -> ParsedEvent | None:
    """Read `e`."""
    if len(words) < 2 or Feature.EPROBE_EVENTS not in reading.facts.features:
        return None
    head = words[0]
    _, colon, name = head.partition(":")
    named = _read_name(name if colon else None, head, "eprobes", "", reading)
    system, event = split_name(words[1])
    if check_name(words[1]) is not None or not system or not event:
        raise RefusedWord(Refused("NO_EVENT_INFO", 0, words[1], names=_events_like(words[1], reading)), 1)
    named = named._replace(event=named.event or event)
    end = words.index("if", 2) if "if" in words[2:] else len(words)
    if end - 2 > MAX_ARGS:
        _too_many(words, reading.dialect)
    fields = _fields_of(words[1], reading)
    if end < len(words):
        _event_filter(words, end, fields, reading)
    site = Site(reading.dialect, reading.btf, None, on_event=True, fields=fields, environment=reading.environment)
    arguments = _arguments(words[:end], site, reading)
    return _register(ParsedEvent("e", named.group, named.event, f"{system}.{event}", False, arguments), None, reading)


def _event_filter(
    words: list[str], at: int, fields: Mapping[str, StaticEventField] | None, reading: RuleContext
) -> None:
    if at + 1 == len(words):
        raise RefusedWord(Refused("NO_EP_FILTER", 0), at + 1)
    text = " ".join(words[at + 1 :])
    check_filter(text, fields, reading.environment, reading.dialect, reading.facts.cpus)


def _fields_of(word: str, reading: RuleContext) -> Mapping[str, StaticEventField] | None:
    """Fields of an event that a probe may sit on; None: not known. Raises At where there is no such event."""
    group, event = split_name(word)
    for built in reversed(reading.existing):
        if (built.group, built.event) == (group, event):
            if built.letter in "kue":
                break
            return built_fields(built)
    else:
        if reading.environment.event is None:
            return None
        found = reading.environment.event(group, event)
        if found is not None:
            return {field.name: field for field in found}
    raise RefusedWord(Refused("BAD_ATTACH_EVENT", 0, word, names=_events_like(word, reading)), 1)


def _events_like(word: str, reading: RuleContext) -> tuple[str, ...]:
    """Events that a probe may sit on and that may be meant."""
    made = [f"{built.group}/{built.event}" for built in reading.existing if built.letter not in "kue"]
    return events_like(word, reading.environment, made)


def _head(head: str, dialect: Dialect) -> str | None:
    try:
        return check_head(head, dialect)
    except Refused as error:
        raise RefusedWord(error, 0) from None


def _spot(read: Callable[[], _T]) -> _T:
    """Read the second word. Raises At."""
    try:
        return read()
    except Refused as error:
        raise RefusedWord(error, 1) from None


def _site(reading: RuleContext, signature: Signature | None, spot: ParsedPlace) -> Site:
    return Site(reading.dialect, reading.btf, signature, spot.at_entry, spot.at_exit, environment=reading.environment)


def _arguments(words: list[str], site: Site, reading: RuleContext) -> tuple[ParsedArgument, ...]:
    """Read the arguments, from the third word on. Raises At.

    Those of an event that is there are good; what can't be read of one is in types of another module.
    """
    written = words[2:]
    try:
        expanded = written if site.user or site.on_event else expand_meta(written, site)
        if len(expanded) > MAX_ARGS:
            _too_many(words, site.dialect)
            expanded = expanded[:MAX_ARGS]
        if not site.user and not site.on_event:
            by_name = expanded is not written
            expanded = expand_dentry(expanded, site)
            if not by_name:
                words[2:] = expanded  # without names put for `$arg*` it does so in the command that it logs
    except Refused as error:
        if reading.registers:
            error.index = (error.index or 0) + 2
            raise RefusedWord(error, error.index) from None
        expanded = written
    built: list[ParsedArgument] = []
    names: list[str] = []
    size = 0
    for index, word in enumerate(expanded):
        try:
            argument = check_argument(word, index, names, size, site)
        except Refused as error:
            if reading.registers:
                raise RefusedWord(error, index + 2) from None
            argument = unread_argument(word, index, site)
        built.append(argument)
        names.append(argument.name)
        size += argument.width
    return tuple(built)


def _too_many(words: list[str], dialect: Dialect) -> None:
    """More than 128 arguments: 6.1 reads the first ones, 6.12 says nothing, later ones say so. Raises At."""
    if dialect.btf_args:
        code = "TOO_MANY_ARGS" if dialect.fprobe_on_graph else "refused_without_message"
        raise RefusedWord(Refused(code, 0, words[2]), 2)


def _register(built: ParsedEvent, late: Refused | None, reading: RuleContext) -> ParsedEvent:
    """See what registering says. Raises At."""
    if reading.registers:
        check_existing(built, reading.existing, reading.environment)
        if late is not None:
            raise RefusedWord(late, 1)
        if built.letter == "t" and not reading.dialect.late_symbols:
            _check_tracepoint(built, reading)
    return built


def _check_tracepoint(built: ParsedEvent, reading: RuleContext) -> None:
    """See whether a tracepoint takes a probe when it is registered: one, on a stub that can be traced. Raises At."""
    stub = f"{STUB}{built.place}"
    if reading.btf is None or reading.btf.function(stub) is None:
        return  # it may come with a module
    if any((event.letter, event.place) == ("t", built.place) for event in reading.existing):
        raise RefusedWord(Refused("refused_without_message", 0, built.place))
    if not index_of(reading.facts).count(stub):
        raise RefusedWord(Refused("FAIL_REG_PROBE", 0, built.place), 1)


Reader = Callable[[list[str], RuleContext], ParsedEvent | None]
EVENT_READERS: Mapping[str, Reader] = {
    "p": kprobe_or_uprobe,
    "r": kprobe_or_uprobe,
    "f": fprobe,
    "t": fprobe,
    "e": eprobe,
}
"""By the first letter of a command to dynamic_events."""
