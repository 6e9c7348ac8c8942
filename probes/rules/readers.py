"""Parse commands of the event kinds that probe something: a command's words -> the event it defines, or an error.

Each reader follows its `create` in kernel/trace: trace_kprobe.c, trace_uprobe.c, trace_fprobe.c, trace_eprobe.c. A
reader returns None where the command is not of its kind (-ECANCELED).
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
    """Facts and existing events with which commands are parsed."""

    dialect: Dialect
    btf: Btf | None
    facts: TargetFacts
    environment: Environment
    existing: tuple[ParsedEvent, ...] = ()
    registers: bool = True
    """True if the event is to be registered; False for an existing one."""


_T = TypeVar("_T")


class _Name(NamedTuple):
    group: str
    event: str


def _read_name(text: str | None, head: str, group: str, event: str, context: RuleContext) -> _Name:
    """Check the name after the colon; missing parts get the default. Raises RefusedWord.

    A name that the kernel itself made and lists may have any character.
    """
    if text is None:
        return _Name(group, event)
    if context.registers and (bad := check_name(text)) is not None:
        raise RefusedWord(Refused(bad[0], len(head) - len(text) + bad[1], text))
    written_group, written_event = split_name(text)
    return _Name(written_group or group, written_event or event)


def _default(text: str) -> str:
    """Return an event's name as the kernel makes it: `:`, `.` and `*` become `_`, and the rest is cut."""
    return (text[:1] + "".join("_" if c in ":.*" else c for c in text[1:]))[:MAX_EVENT_NAME]


def kprobe(words: list[str], context: RuleContext) -> ParsedEvent | None:
    """Parse a `p` or `r` command in kernel code."""
    if len(words) < 2:
        return None
    name = _check_head(words[0], context.dialect)
    if "/" in words[1] and ":" in words[1]:
        return None
    place_read = _spot(
        lambda: kprobe_spot(words[0], words[1], context.btf, context.facts, context.dialect, context.environment)
    )
    place = place_read.place or place_read.symbol
    symbol, _, offset = place.partition("+")
    returns = place_read.at_exit or words[0].startswith("r")
    letter = "r" if returns else "p"
    named = _read_name(name, words[0], "kprobes", _default(f"{letter}_{symbol}_{offset or 0}"), context)
    signature = (
        signature_of(context.btf, place_read.symbol) if context.btf is not None and place_read.symbol else None
    )
    site = _site(context, signature, place_read)
    arguments = _arguments(words, site, context)
    built = ParsedEvent("k", named.group, named.event, place, returns, arguments)
    if place_read.absent and site.registration_error is not None and site.registration_error.code == "BAD_PROBE_ADDR":
        return _register(built, None, context)
    return _register(built, place_read.notrace or site.registration_error or place_read.registration_error, context)


def fprobe(words: list[str], context: RuleContext) -> ParsedEvent | None:
    """Parse an `f` or `t` command."""
    if len(words) < 2 or not context.dialect.fprobe:
        return None
    name = _check_head(words[0], context.dialect)
    tracepoint = words[0].startswith("t")
    if tracepoint:
        place_read = _spot(lambda: tprobe_spot(words))
        default = f"_{place_read.symbol}" if place_read.symbol[:1].isdigit() else place_read.symbol
    else:
        place_read = _spot(lambda: fprobe_spot(words, context.dialect, context.facts, context.environment))
        default = f"{place_read.symbol}__{'exit' if place_read.at_exit else 'entry'}"
    named = _read_name(name, words[0], "tracepoints" if tracepoint else "fprobes", _default(default), context)
    signature = None
    if context.btf is not None:
        signature = (tracepoint_of if tracepoint else signature_of)(context.btf, place_read.symbol)
    site = _site(context, signature, place_read)
    site.fprobe, site.tracepoint = True, tracepoint
    try:
        arguments = _arguments(words, site, context)
    except RefusedWord as error:
        if tracepoint and error.refused.code in ("NO_BTF_ENTRY", "NOSUP_BTFARG"):
            raise _no_tracepoint(error, place_read.symbol, context) from None
        raise
    try:
        check_entry_data(site)
    except Refused as error:
        raise RefusedWord(error, 2) from None
    built = ParsedEvent(words[0][0], named.group, named.event, place_read.symbol, place_read.at_exit, arguments)
    return _register(built, site.registration_error or place_read.registration_error, context)


def _no_tracepoint(error: RefusedWord, name: str, context: RuleContext) -> RefusedWord:
    """Return the error for an argument of a nonexistent tracepoint, placed at the tracepoint."""
    similar = tracepoints_like(name, context.facts)
    if not similar:
        return error
    refused = error.refused
    hint = f"There is no tracepoint {name} now, so nobody knows its arguments"
    return RefusedWord(Refused(refused.code, refused.offset, name, names=similar, hint=hint), error.index)


def uprobe(words: list[str], context: RuleContext) -> ParsedEvent | None:
    """Parse a `p` or `r` command in a file."""
    if not is_user(words):
        return None
    if len(words) - 2 > MAX_ARGS:
        _too_many(words, context.dialect)
    head = words[0]
    place_read = _spot(lambda: user_spot(head, words[1], context.environment))
    named = _read_name(
        head[2:] if head[1:2] == ":" else None, head, "uprobes", _default(place_read.default_event), context
    )
    site = Site(
        context.dialect, context.btf, None, at_exit=place_read.returns, user=True, environment=context.environment
    )
    arguments = _arguments(words, site, context)
    place = place_read.place(context.facts.long_size)
    built = ParsedEvent("u", named.group, named.event, place, place_read.returns, arguments, place_read.reference)
    return _register(built, None, context)


def kprobe_or_uprobe(words: list[str], context: RuleContext) -> ParsedEvent | None:
    """Parse a `p` or `r` command; the kernel tries kprobes first."""
    return kprobe(words, context) or uprobe(words, context)


def eprobe(words: list[str], context: RuleContext) -> ParsedEvent | None:
    """Parse an `e` command."""
    if len(words) < 2 or Feature.EPROBE_EVENTS not in context.facts.features:
        return None
    head = words[0]
    _, colon, name = head.partition(":")
    event_name = _read_name(name if colon else None, head, "eprobes", "", context)
    system, event = split_name(words[1])
    if check_name(words[1]) is not None or not system or not event:
        raise RefusedWord(Refused("NO_EVENT_INFO", 0, words[1], names=_events_like(words[1], context)), 1)
    event_name = event_name._replace(event=event_name.event or event)
    end = words.index("if", 2) if "if" in words[2:] else len(words)
    if end - 2 > MAX_ARGS:
        _too_many(words, context.dialect)
    fields = _fields_of(words[1], context)
    if end < len(words):
        _event_filter(words, end, fields, context)
    site = Site(context.dialect, context.btf, None, on_event=True, fields=fields, environment=context.environment)
    arguments = _arguments(words[:end], site, context)
    return _register(
        ParsedEvent("e", event_name.group, event_name.event, f"{system}.{event}", False, arguments), None, context
    )


def _event_filter(
    words: list[str], at: int, fields: Mapping[str, StaticEventField] | None, context: RuleContext
) -> None:
    if at + 1 == len(words):
        raise RefusedWord(Refused("NO_EP_FILTER", 0), at + 1)
    text = " ".join(words[at + 1 :])
    check_filter(text, fields, context.environment, context.dialect, context.facts.cpus)


def _fields_of(word: str, context: RuleContext) -> Mapping[str, StaticEventField] | None:
    """Return the fields of an event that a probe may be on; None: unknown. Raises RefusedWord for no such event."""
    group, event = split_name(word)
    for built in reversed(context.existing):
        if (built.group, built.event) == (group, event):
            if built.letter in "kue":
                break
            return built_fields(built)
    else:
        if context.environment.event is None:
            return None
        event_fields = context.environment.event(group, event)
        if event_fields is not None:
            return {field.name: field for field in event_fields}
    raise RefusedWord(Refused("BAD_ATTACH_EVENT", 0, word, names=_events_like(word, context)), 1)


def _events_like(word: str, context: RuleContext) -> tuple[str, ...]:
    """Return similar names of events that a probe may be on."""
    dynamic = [f"{built.group}/{built.event}" for built in context.existing if built.letter not in "kue"]
    return events_like(word, context.environment, dynamic)


def _check_head(head: str, dialect: Dialect) -> str | None:
    try:
        return check_head(head, dialect)
    except Refused as error:
        raise RefusedWord(error, 0) from None


def _spot(read: Callable[[], _T]) -> _T:
    """Parse the second word. Raises RefusedWord."""
    try:
        return read()
    except Refused as error:
        raise RefusedWord(error, 1) from None


def _site(context: RuleContext, signature: Signature | None, spot: ParsedPlace) -> Site:
    return Site(context.dialect, context.btf, signature, spot.at_entry, spot.at_exit, environment=context.environment)


def _arguments(words: list[str], site: Site, context: RuleContext) -> tuple[ParsedArgument, ...]:
    """Parse the arguments, from the third word on. Raises RefusedWord.

    Arguments of an existing event are valid; one that can't be parsed has types of another module.
    """
    words_written = words[2:]
    try:
        expanded = words_written if site.user or site.on_event else expand_meta(words_written, site)
        if len(expanded) > MAX_ARGS:
            _too_many(words, site.dialect)
            expanded = expanded[:MAX_ARGS]
        if not site.user and not site.on_event:
            by_name = expanded is not words_written
            expanded = expand_dentry(expanded, site)
            if not by_name:
                words[2:] = expanded  # unless names replace `$arg*`, the kernel logs the expanded command
    except Refused as error:
        if context.registers:
            error.index = (error.index or 0) + 2
            raise RefusedWord(error, error.index) from None
        expanded = words_written
    arguments: list[ParsedArgument] = []
    names: list[str] = []
    size = 0
    for index, word in enumerate(expanded):
        try:
            argument = check_argument(word, index, names, size, site)
        except Refused as error:
            if context.registers:
                raise RefusedWord(error, index + 2) from None
            argument = unread_argument(word, index, site)
        arguments.append(argument)
        names.append(argument.name)
        size += argument.width
    return tuple(arguments)


def _too_many(words: list[str], dialect: Dialect) -> None:
    """Check for more than 128 arguments: 6.1 ignores the rest, 6.12 logs nothing. Raises RefusedWord."""
    if dialect.btf_args:
        code = "TOO_MANY_ARGS" if dialect.fprobe_on_graph else "refused_without_message"
        raise RefusedWord(Refused(code, 0, words[2]), 2)


def _register(built: ParsedEvent, late: Refused | None, context: RuleContext) -> ParsedEvent:
    """Check the registration of an event. Raises RefusedWord."""
    if context.registers:
        check_existing(built, context.existing, context.environment)
        if late is not None:
            raise RefusedWord(late, 1)
        if built.letter == "t" and not context.dialect.late_symbols:
            _check_tracepoint(built, context)
    return built


def _check_tracepoint(built: ParsedEvent, context: RuleContext) -> None:
    """Check that a tracepoint takes a probe: the first one, on a traceable stub. Raises RefusedWord."""
    stub = f"{STUB}{built.place}"
    if context.btf is None or context.btf.function(stub) is None:
        return  # the tracepoint may come with a module
    if any((event.letter, event.place) == ("t", built.place) for event in context.existing):
        raise RefusedWord(Refused("refused_without_message", 0, built.place))
    if not index_of(context.facts).count(stub):
        raise RefusedWord(Refused("FAIL_REG_PROBE", 0, built.place), 1)


Reader = Callable[[list[str], RuleContext], ParsedEvent | None]
EVENT_READERS: Mapping[str, Reader] = {
    "p": kprobe_or_uprobe,
    "r": kprobe_or_uprobe,
    "f": fprobe,
    "t": fprobe,
    "e": eprobe,
}
"""Readers by the first letter of a command to dynamic_events."""
