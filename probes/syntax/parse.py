"""Parse the specification language to values; errors have their column.

The language is the kernel's own (Documentation/trace/kprobetrace.rst, fprobetrace.rst) with `$$args`, `%both`,
`%retinsn` and a filter behind ` if `; text -> tree -> text returns the same text except for white space.
`probes.kernel_verdict` computes a kernel's answer to a text; this module rejects only texts that can't be parsed.
"""

from __future__ import annotations

import re
from dataclasses import replace

from events.names.function_choice import ChoiceError, FunctionChoice, is_choice, is_own_choice
from probes.fetcharg import FetchArg
from probes.names import check_name, split_name
from probes.probe import INSTRUCTION_ENDS, TEXT, Probe, ProbeEnds, ProbeKind, ProbePlace, SymbolBase
from probes.syntax.parse_error import ParseError, refuse
from probes.syntax.parse_fetcharg import parse_fetcharg
from probes.syntax.text import Word, kstrtol, kstrtoul, split

__all__ = [
    "ParseError",
    "arguments_of",
    "parse_fetcharg",
    "parse_probe",
    "refuse",
    "split_command",
    "uses_own",
    "words_of",
]

_FILTER = re.compile(r"\sif(?:\s+|$)")
_INSTRUCTIONS = {end.value: end for end in INSTRUCTION_ENDS}
_TYPE = re.compile(r"\s*+(f\S*+)\s++\[([^\[\]]*+)\]((?:,![^\s%]*+)?+(?:%\w*+)?+)(?!\S)")
"""First word and place of a probe on the functions of a type."""


def parse_probe(text: str) -> Probe:
    """Parse a function probe: `f`, `p` or `r`, a place, fetchargs, and a filter after ` if `.

    `f` is `ProbeKind.AUTO`: fprobe where the target has it. Raises ParseError with the column in the command, its
    words joined by one space.
    """
    words, condition = words_of(text)
    if not words or words[0].text[0] not in "fpr":
        raise refuse("unknown_kind", 0, words[0].text if words else "")
    head = words[0].text
    match = re.fullmatch(r"([fpr])([^:]*)(?::(.*))?", head)
    # After p and r the kernel checks digits only, as 6.12 does after f (trace_kprobe.c, trace_fprobe.c).
    if match is None or (match[2][:1].isdigit() and not re.fullmatch("[0-9]+", match[2])):
        raise refuse("BAD_MAXACT", 1, head)
    if match[2][:1].isdigit() and head[0] == "p":
        raise refuse("BAD_MAXACT_TYPE", 1, match[2])
    group, event, separator = "", "", "/"
    if match[3] is not None:
        if (invalid := check_name(match[3])) is not None:
            raise refuse(invalid[0], len(head) - len(match[3]) + invalid[1], match[3])
        group, event = split_name(match[3])
        separator = match[3][len(group)] if group else "/"
    if len(words) < 2:
        raise refuse("no_place", len(head))
    kind = {"f": ProbeKind.AUTO, "p": ProbeKind.KPROBE, "r": ProbeKind.KRETPROBE}[head[0]]
    place, when = _place(words[1].text, kind, len(head) + 1)
    fetchargs = arguments_of(words)
    suffix = True if kind is ProbeKind.KRETPROBE and words[1].text.endswith("%return") else None
    probe = Probe(
        place,
        when,
        kind,
        fetchargs,
        condition,
        group=group,
        event=event,
        maxactive=match[2],
        suffix=suffix,
        separator=separator,
    )
    if when is ProbeEnds.ENTRY and probe.returns_by_value:
        return replace(probe, when=ProbeEnds.EXIT, suffix=False)
    return probe


def words_of(text: str) -> tuple[list[Word], str]:
    """Split a command into its words and the filter after them. Raises ParseError."""
    command = text.split("#", 1)[0]
    match = _FILTER.search(command)
    if match is None:
        return split_command(text), ""
    condition = text[match.end() :].strip()  # a `#` in the filter stays: the filter isn't written with the command
    if not condition:
        raise refuse("no_filter", len(" ".join(text.split())))
    return split_command(text[: match.start()]), condition


def split_command(text: str) -> list[Word]:
    """Split a command at blanks, but for those in a type in brackets at the second place (`f [struct file *]`)."""
    match = _TYPE.match(text)
    if match is None:
        return split(text)
    head, place = match[1], f"[{' '.join(match[2].split())}]{match[3]}"
    rest = [word._replace(start=word.start + match.end()) for word in split(text[match.end() :])]
    return [Word(head, match.start(1)), Word(place, match.start(2) - 1), *rest]


def arguments_of(words: list[Word]) -> tuple[FetchArg, ...]:
    """Parse the fetchargs of a command, from its third word on. Raises ParseError."""
    return tuple(_fetcharg_at(word.text, column) for word, column in zip(words[2:], _columns(words)[2:], strict=True))


def _columns(words: list[Word]) -> list[int]:
    """Return the column of each word in the command joined by single spaces."""
    columns, at = [], 0
    for word in words:
        columns.append(at)
        at += len(word.text) + 1
    return columns


def _fetcharg_at(word: str, column: int) -> FetchArg:
    try:
        return parse_fetcharg(word)
    except ParseError as error:
        r = error.refusal
        raise refuse(r.code, column + (r.column or 0), r.token, r.hint) from None


def _place(text: str, kind: ProbeKind, at: int) -> tuple[ProbePlace, ProbeEnds]:
    if "/" in text and kind is not ProbeKind.AUTO:
        raise refuse("user_probe", at, text)
    symbol, percent, suffix = text.partition("%")
    when = ProbeEnds.EXIT if kind is ProbeKind.KRETPROBE else ProbeEnds.ENTRY
    if percent:
        when = _end(suffix, kind, at + len(symbol))
    if not symbol:
        raise refuse("no_place", at)
    if kstrtoul(symbol) is not None:
        return ProbePlace(symbol), when
    if kind is ProbeKind.AUTO and is_choice(symbol):
        if when is ProbeEnds.TRACK:
            raise refuse("bad_track", at + len(symbol), "%track")
        return _choice(symbol, at), when
    module, colon, name = symbol.rpartition(":")
    name, sign, number = _split_offset(name)
    offset = kstrtol(number) if sign else 0
    if name == TEXT and offset is not None and offset > 0 and not colon:
        return ProbePlace(name, written=symbol, base=SymbolBase(name, offset)), when
    if offset is None or offset < 0 or sign == "-" or not name or (offset and kind is ProbeKind.AUTO):
        raise refuse("BAD_PROBE_ADDR", at, symbol)
    if offset and when is ProbeEnds.BOTH:
        raise refuse("bad_both", at + len(symbol), "%both")
    if offset and when in INSTRUCTION_ENDS:
        raise refuse("bad_retinsn", at + len(symbol), f"%{suffix}")
    written = sign + number
    plain = f"+{offset}" if offset else ""
    return ProbePlace(name, module if colon else None, offset, "" if written == plain else written), when


def _end(suffix: str, kind: ProbeKind, at: int) -> ProbeEnds:
    """Return the end of a call that follows `%`. Raises ParseError."""
    if suffix == "both" and kind is not ProbeKind.KRETPROBE:
        return ProbeEnds.BOTH
    if suffix == "track" and kind is ProbeKind.AUTO:
        return ProbeEnds.TRACK
    if suffix in _INSTRUCTIONS and kind is ProbeKind.KPROBE:
        return _INSTRUCTIONS[suffix]
    if suffix == "return":
        return ProbeEnds.EXIT
    own = {"both": "bad_both", "track": "bad_track", **dict.fromkeys(_INSTRUCTIONS, "bad_retinsn")}
    raise refuse(own.get(suffix, "BAD_ADDR_SUFFIX"), at, f"%{suffix}")


def _choice(text: str, at: int) -> ProbePlace:
    """Return the place of a probe on several functions. Raises ParseError."""
    try:
        choice = FunctionChoice.parse(text)
    except ChoiceError as error:
        raise refuse("bad_choice", at + error.offset, text, str(error)) from None
    if len(choice.patterns) == 1 and choice.patterns[0].module and not choice.patterns[0].excluded:
        return ProbePlace(choice.patterns[0].text, choice.patterns[0].module)
    return ProbePlace(text)


def _split_offset(text: str) -> tuple[str, str, str]:
    """Split `symbol+offset` at its first sign."""
    match = re.search(r"[+-]", text)
    if match is None:
        return text, "", ""
    return text[: match.start()], match.group(), text[match.end() :]


def uses_own(text: str, has_filter: bool = False) -> bool:
    """Return whether a text has probewright's own syntax: `$$args`, `%both`, `%track`, `%retinsn`, `[i]`, several
    functions otherwise than by a pattern, or a filter the kernel doesn't take.
    """
    command = text.split("#", 1)[0]
    condition = _FILTER.search(command)
    if condition is not None and not has_filter:
        return True
    words = split_command(command if condition is None else command[: condition.start()])
    if len(words) > 1 and words[0].text.startswith("f") and is_own_choice(words[1].text.partition("%")[0]):
        return True
    return (len(words) > 1 and words[1].text.endswith(_OWN_ENDS)) or any(
        _OWN_ARGUMENTS.search(word.text) or _OWN_INDEX.search(word.text) for word in words[2:]
    )


_OWN_ENDS = ("%both", "%track", *(f"%{end}" for end in _INSTRUCTIONS))
_OWN_ARGUMENTS = re.compile(r"(^|=|\()\$\$args$")
_OWN_INDEX = re.compile(r"^[^:\\]*[A-Za-z0-9_]\[[0-9]+\]")
