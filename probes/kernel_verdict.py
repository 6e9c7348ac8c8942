"""Compute a kernel's answer to a command in its own syntax: error, message and column as in its error_log.

Each kind of dynamic event has a reader, chosen by the command's first letter and the tracefs file it is written to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from btf.btf import Btf
from probes.facts.dialect import MAX_LINE, Dialect, dialect_of
from probes.facts.errors_table import NO_MATCH, message_of
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import UNKNOWN, Environment, SymbolCount
from probes.hist.clause import unlogged_refusal
from probes.hist.verdict import check_trigger, event_of
from probes.rules.deletion import check_deletion
from probes.rules.events.fields import find_event
from probes.rules.events.filter import check_filter
from probes.rules.events.synthetic import read_bare, read_dynamic
from probes.rules.events.user import read_user_event
from probes.rules.messages.hints import hint_for
from probes.rules.parsed_event import ParsedEvent
from probes.rules.readers import EVENT_READERS, RuleContext, kprobe, uprobe
from probes.rules.user_verdict import is_user
from probes.syntax.refused import Refused, RefusedWord
from probes.syntax.text import split
from probes.verdict import Refusal, Verdict

_OWN_MESSAGES = {
    "refused_without_message": "The kernel refuses this without a word",
    "line_too_long": f"A command is at most {MAX_LINE} characters long",
}
DYNAMIC_EVENTS = "dynamic_events"
_FILTER, _TRIGGER = "/filter", "/trigger"
_HALF_PAIR = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Pattern for UTF-16 surrogates that no encoding turns into bytes; U+DC80 to U+DCFF stand for bytes
(surrogateescape)."""
_MERE_NAME = re.compile(r"(?![a-z][0-9]*\s)[A-Za-z_][A-Za-z0-9_]*\s")
_FILES = (DYNAMIC_EVENTS, "kprobe_events", "uprobe_events", "synthetic_events")


def kernel_verdict(
    text: str,
    btf: Btf | None,
    facts: TargetFacts,
    existing: Sequence[str] = (),
    interface: str = DYNAMIC_EVENTS,
    environment: Environment = UNKNOWN,
) -> Verdict:
    """Compute this kernel's answer to a command. Columns count bytes, as the kernel's do.

    Args:
        text: the command, one line.
        btf: types of the kernel; None: unknown.
        facts: features of the kernel.
        existing: lines of dynamic_events, or accepted commands. Existing triggers as
            `events/GROUP/EVENT/trigger|COMMAND`; a file may precede any other command in the same way.
        interface: tracefs file that the command is written to: `dynamic_events`, `kprobe_events`, `uprobe_events`,
            `synthetic_events`, or an event's `events/GROUP/EVENT/filter` or `…/trigger`.
        environment: what else can be asked.
    """
    if text.isascii():
        return _verdict(text, btf, facts, existing, interface, environment)
    # The kernel reads UTF-8 byte by byte: each byte is a letter, a blank or a sign.
    verdict = _verdict(
        _HALF_PAIR.sub("?", text).encode(errors="surrogateescape").decode("latin-1"),
        btf,
        facts,
        existing,
        interface,
        environment,
    )
    error = verdict.error
    if error is not None:
        error = replace(error, token=_as_written(error.token))
    return replace(verdict, command=_as_written(verdict.command), error=error)


def _as_written(text: str) -> str:
    """Decode Latin-1 characters as the UTF-8 bytes they stand for; a character cut in two becomes U+FFFD."""
    return text.encode("latin-1", errors="replace").decode(errors="replace")


def _verdict(
    text: str,
    btf: Btf | None,
    facts: TargetFacts,
    existing: Sequence[str],
    interface: str,
    environment: Environment,
) -> Verdict:
    words = [word.text for word in split(text)]
    command = " ".join(words)
    if len(text) > MAX_LINE:
        return Verdict(command, Refusal("line_too_long", _OWN_MESSAGES["line_too_long"]))
    context = RuleContext(dialect_of(facts, btf), btf, facts, environment)
    context.existing = parse_existing(existing, context)
    try:
        if interface.endswith(_FILTER):
            command = text.rstrip()
            words = [command]
            _filter(command, interface, context)
        elif interface.endswith(_TRIGGER):
            command = text.strip()
            words = [command]
            check_trigger(text, interface, _triggers(existing), context)
        else:
            _parse(text, words, interface, context)
    except RefusedWord as error:
        return _refused(error, words, context.dialect)
    return Verdict(command)


def parse_existing(lines: Sequence[str], context: RuleContext) -> tuple[ParsedEvent, ...]:
    """Parse lines of dynamic_events or accepted commands, also as `FILE|COMMAND`; skip those that can't be parsed."""
    parsed: list[ParsedEvent] = []
    # The events exist, so the symbols and files they name existed too.
    environment = replace(context.environment, symbol=lambda _: SymbolCount(0, 1), file_error=lambda _: "")
    lenient = RuleContext(context.dialect, context.btf, context.facts, environment, registers=False)
    for line in lines:
        file = _file_of(line)
        if file.endswith((_TRIGGER, _FILTER)):
            continue
        command = line.removeprefix(f"{file}|") if file else line
        # `ee sched.sched_switch` looks like a synthetic event: the kernel reads only the first letter of the word.
        for interface in dict.fromkeys((file or DYNAMIC_EVENTS, DYNAMIC_EVENTS)):
            try:
                event = _parse(command, [word.text for word in split(command)], interface, lenient)
            except RefusedWord:
                continue
            if event is not None:
                parsed.append(event)
                lenient.existing = tuple(parsed)
            break
    return tuple(parsed)


def _triggers(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Return the existing triggers: the file of each, and its text."""
    return [(_file_of(line), line.partition("|")[2]) for line in lines if _file_of(line).endswith(_TRIGGER)]


def _file_of(line: str) -> str:
    """Return the tracefs file of a command: the file before it, or by a mere name at its beginning; empty:
    unknown.
    """
    file, bar, _ = line.partition("|")
    if bar and (file.startswith("events/") or file in _FILES):
        return file
    return "synthetic_events" if _MERE_NAME.match(line) else ""


def _filter(text: str, interface: str, context: RuleContext) -> None:
    """Check a filter as written to an event's `filter` file; `0` removes the filter."""
    group, event = event_of(interface)
    match = find_event(group, event, context.existing, context.environment)
    if not match.exists:
        raise unlogged_refusal("There is no such event", f"{group}/{event}")
    if text.strip() != "0":
        check_filter(text, match.fields, context.environment, context.dialect, context.facts.cpus)


def _parse(text: str, words: list[str], interface: str, context: RuleContext) -> ParsedEvent | None:
    """Parse a command in the order in which the kernel tries its kinds of events. Raises RefusedWord.

    The words of the command may be replaced meanwhile, as the kernel does: error_log shows them so.
    """
    line = text.split("#", 1)[0]
    if not words:
        return None
    if line[0] in _DELETES.get(interface, ""):
        prefixed = not context.dialect.btf_args
        cut = prefixed or not context.dialect.event_size  # seen in 6.1 and in 6.16 to 6.19
        check_deletion(words, context.existing, _FAMILIES[interface], prefix=prefixed, cut=cut)
        return None
    event = None
    if interface == "synthetic_events":
        return read_bare(line.lstrip(), _synthetic(context))
    if interface == "kprobe_events":
        event = kprobe(words, context) if words[0][0] in "pr" else None
    elif interface == "uprobe_events":
        event = uprobe(words, context) if words[0][0] in "pr" and is_user(words) else None
    elif words[0].startswith("s:"):
        return read_dynamic(line.strip("\r\n").lstrip(), _synthetic(context))
    elif line.startswith("u:") and context.facts.has(Feature.USER_EVENTS):
        return read_user_event(line.strip("\r\n"), context)
    elif (reader := EVENT_READERS.get(words[0][0])) is not None:
        event = reader(words, context)
    if event is None:
        logged = interface == DYNAMIC_EVENTS and context.dialect.logs_no_match
        hint = "A synthetic event begins `s:NAME`: s:NAME TYPE FIELD; …" if words[0] == "s" else _kinds_of(words[0])
        raise RefusedWord(Refused(NO_MATCH if logged else "refused_without_message", 0, words[0], hint=hint))
    return event


def _kinds_of(word: str) -> str:
    """Return how a command begins, for a word that names no kind; empty: the kind is right, the error elsewhere."""
    return "" if re.fullmatch(r"[a-z][0-9]*(:.*)?", word) else "A probe begins with its kind: f vfs_read count"


_DELETES = {DYNAMIC_EVENTS: "-!", "kprobe_events": "-", "uprobe_events": "-"}
"""First characters of a command that deletes an event, by tracefs file."""
_FAMILIES = {DYNAMIC_EVENTS: "", "kprobe_events": "k", "uprobe_events": "u"}


def _synthetic(context: RuleContext) -> frozenset[str]:
    return frozenset(event.event for event in context.existing if event.letter == "s")


def _message(code: str, dialect: Dialect) -> str:
    """Return the kernel's message of an error, as spelled in that version."""
    if code == "BAD_VAR" and dialect.fprobe_on_graph and not dialect.typecast_known:
        return "Invalid $-valiable specified"  # 6.13 to 7.0
    if code == "FILE_ON_KPROBE" and dialect.typecast:
        return "File offset is not available for kernel probes"
    return message_of(code) or _OWN_MESSAGES.get(code, code)


def _refused(at: RefusedWord, words: list[str], dialect: Dialect) -> Verdict:
    """Place the caret (__trace_probe_log_err), and add hint and similar names."""
    error = at.refused
    if at.command is not None:
        words = [at.command]
    command = " ".join(words)
    lengths = [len(word) + 1 for word in words]
    message = error.message or _message(error.code, dialect)
    if error.code[0].islower():
        hint, nearest = hint_for("", error.token, error.names, error.hint, error.corrections)
        return Verdict(command, Refusal(error.code, message, None, error.token, hint, nearest))
    column = sum(lengths) if at.index >= len(lengths) else sum(lengths[: at.index]) + error.offset
    hint, nearest = hint_for(error.code, error.token, error.names, error.hint, error.corrections)
    return Verdict(command, Refusal(error.code, message, column, error.token, hint, nearest))
