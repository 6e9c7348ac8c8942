"""What one kernel answers to a command of its own syntax, computed: error, message and column as in its error_log.

Each kind of dynamic event has its reader; a command's first letter, and the file it is written to, tell which it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from btf.btf import Btf
from probes.facts.dialect import MAX_LINE, Dialect, dialect_of
from probes.facts.errors_table import NO_MATCH, message_of
from probes.facts.facts import TargetFacts
from probes.facts.lookups import UNKNOWN, Environment, SymbolCount
from probes.hist.clause import silent
from probes.hist.verdict import check_trigger, event_of
from probes.rules.deletion import check_deletion
from probes.rules.events.fields import find_event
from probes.rules.events.filter import check_filter
from probes.rules.events.synthetic import read_bare, read_dynamic
from probes.rules.messages.hints import hint_for
from probes.rules.parsed_event import ParsedEvent
from probes.rules.readers import EVENT_READERS, RuleContext, kprobe, uprobe
from probes.rules.user_verdict import is_user
from probes.syntax.refused import Refused, RefusedWord
from probes.syntax.text import split
from probes.verdict import Refusal, Verdict

_OWN = {
    "refused_without_message": "The kernel refuses this without a word",
    "line_too_long": f"A command is at most {MAX_LINE} characters long",
}
DYNAMIC_EVENTS = "dynamic_events"
_FILTER, _TRIGGER = "/filter", "/trigger"
_HALF_PAIR = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Halves of a pair of UTF-16, of which no encoding makes bytes; U+DC80 to U+DCFF stand for bytes."""
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
        facts: what the kernel can do.
        existing: lines of dynamic_events: events that are there; commands that were accepted do as well. Triggers
            that are there: `events/GROUP/EVENT/trigger|COMMAND`, and so may the file stand before any other command.
        interface: file of tracefs that it is written to: `dynamic_events`, `kprobe_events`, `uprobe_events`,
            `synthetic_events`, or an event's `events/GROUP/EVENT/filter` or `…/trigger`.
        environment: what else can be asked.
    """
    if text.isascii():
        return _verdict(text, btf, facts, existing, interface, environment)
    # A byte of UTF-8 is a letter, a blank or a sign to the kernel, each for itself.
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
    """Put bytes together again; what a column cuts in two shows its other half as a sign for it."""
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
        return Verdict(command, Refusal("line_too_long", _OWN["line_too_long"]))
    reading = RuleContext(dialect_of(facts, btf), btf, facts, environment)
    reading.existing = built_events(existing, reading)
    try:
        if interface.endswith(_FILTER):
            command = text.rstrip()
            words = [command]
            _filter(command, interface, reading)
        elif interface.endswith(_TRIGGER):
            command = text.strip()
            words = [command]
            check_trigger(text, interface, _triggers(existing), reading)
        else:
            _read(text, words, interface, reading)
    except RefusedWord as error:
        return _refused(error, words, reading.dialect)
    return Verdict(command)


def built_events(lines: Sequence[str], reading: RuleContext) -> tuple[ParsedEvent, ...]:
    """Read lines of dynamic_events, or accepted commands, also `FILE|COMMAND`; what can't be read is left out."""
    built: list[ParsedEvent] = []
    # They are there, so what they name is.
    around = replace(reading.environment, symbol=lambda _: SymbolCount(0, 1), file_error=lambda _: "")
    lenient = RuleContext(reading.dialect, reading.btf, reading.facts, around, registers=False)
    for line in lines:
        file = _file_of(line)
        if file.endswith((_TRIGGER, _FILTER)):
            continue
        command = line.removeprefix(f"{file}|") if file else line
        # What looks like a synthetic event may be `ee sched.sched_switch`: the kernel reads one letter of the word.
        for interface in dict.fromkeys((file or DYNAMIC_EVENTS, DYNAMIC_EVENTS)):
            try:
                found = _read(command, [word.text for word in split(command)], interface, lenient)
            except RefusedWord:
                continue
            if found is not None:
                built.append(found)
                lenient.existing = tuple(built)
            break
    return tuple(built)


def _triggers(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Triggers that are there: the file each is in, and its text."""
    return [(_file_of(line), line.partition("|")[2]) for line in lines if _file_of(line).endswith(_TRIGGER)]


def _file_of(line: str) -> str:
    """The file of a command, where it tells: it stands before it, or a mere name begins a synthetic event."""
    file, bar, _ = line.partition("|")
    if bar and (file.startswith("events/") or file in _FILES):
        return file
    return "synthetic_events" if _MERE_NAME.match(line) else ""


def _filter(text: str, interface: str, reading: RuleContext) -> None:
    """A filter written to an event's `filter`; `0` takes it away."""
    group, event = event_of(interface)
    found = find_event(group, event, reading.existing, reading.environment)
    if not found.exists:
        raise silent("There is no such event", f"{group}/{event}")
    if text.strip() != "0":
        check_filter(text, found.fields, reading.environment, reading.dialect, reading.facts.cpus)


def _read(text: str, words: list[str], interface: str, reading: RuleContext) -> ParsedEvent | None:
    """Read one command in the order in which the kernel asks its kinds. Raises At.

    Like the kernel's, the words of the command may be replaced on the way: error_log shows them so.
    """
    line = text.split("#", 1)[0]
    if not words:
        return None
    if line[0] in _DELETES.get(interface, ""):
        old = not reading.dialect.btf_args
        cut = old or not reading.dialect.event_size  # seen in 6.1 and in 6.16 to 6.19
        check_deletion(words, reading.existing, _FAMILIES[interface], prefix=old, cut=cut)
        return None
    found = None
    if interface == "synthetic_events":
        return read_bare(line.lstrip(), _synthetic(reading))
    if interface == "kprobe_events":
        found = kprobe(words, reading) if words[0][0] in "pr" else None
    elif interface == "uprobe_events":
        found = uprobe(words, reading) if words[0][0] in "pr" and is_user(words) else None
    elif words[0].startswith("s:"):
        return read_dynamic(line.strip("\r\n").lstrip(), _synthetic(reading))
    elif (reader := EVENT_READERS.get(words[0][0])) is not None:
        found = reader(words, reading)
    if found is None:
        logged = interface == DYNAMIC_EVENTS and reading.dialect.logs_no_match
        hint = "A synthetic event begins `s:NAME`: s:NAME TYPE FIELD; …" if words[0] == "s" else _kinds_of(words[0])
        raise RefusedWord(Refused(NO_MATCH if logged else "refused_without_message", 0, words[0], hint=hint))
    return found


def _kinds_of(word: str) -> str:
    """Say how a command begins where this one begins with no kind; empty: it does, and something else is wrong."""
    return "" if re.fullmatch(r"[a-z][0-9]*(:.*)?", word) else "A probe begins with its kind: f vfs_read count"


_DELETES = {DYNAMIC_EVENTS: "-!", "kprobe_events": "-", "uprobe_events": "-"}
"""How a command begins that takes an event away."""
_FAMILIES = {DYNAMIC_EVENTS: "", "kprobe_events": "k", "uprobe_events": "u"}


def _synthetic(reading: RuleContext) -> frozenset[str]:
    return frozenset(event.event for event in reading.existing if event.letter == "s")


def _message(code: str, dialect: Dialect) -> str:
    """The kernel's sentence, as that kernel spells it."""
    if code == "BAD_VAR" and dialect.fprobe_on_graph and not dialect.typecast_known:
        return "Invalid $-valiable specified"  # 6.13 to 7.0
    if code == "FILE_ON_KPROBE" and dialect.typecast:
        return "File offset is not available for kernel probes"
    return message_of(code) or _OWN.get(code, code)


def _refused(at: RefusedWord, words: list[str], dialect: Dialect) -> Verdict:
    """Place the caret (__trace_probe_log_err) and add what we know."""
    error = at.refused
    if at.command is not None:
        words = [at.command]
    command = " ".join(words)
    lengths = [len(word) + 1 for word in words]
    message = error.message or _message(error.code, dialect)
    if error.code[0].islower():
        hint, nearest = hint_for("", error.token, error.names, error.hint, error.meant)
        return Verdict(command, Refusal(error.code, message, None, error.token, hint, nearest))
    column = sum(lengths) if at.index >= len(lengths) else sum(lengths[: at.index]) + error.offset
    hint, nearest = hint_for(error.code, error.token, error.names, error.hint, error.meant)
    return Verdict(command, Refusal(error.code, message, column, error.token, hint, nearest))
