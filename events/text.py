"""Parse lines of trace and trace_pipe: the event, its fields, and messages about lost events.

Format: kernel/trace/trace_output.c:trace_print_context; records are turned into the same text by
`events.names.kernel_text`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from events.decode import Scalar, Value
from events.format import EventFormat, Field, FieldKind, is_unmapped
from events.print_format import PrintFormat

FAULT = "(fault)"
UNNAMED = "<...>"
"""Name of a task whose name is unknown: the kernel learns some only later."""

_TASK_BYTES = 16
"""Width to which a task name is padded (trace_print_context: `%16s-%-7d`)."""
_BYTE = re.compile(r"\\x[89a-f][0-9a-f]|.", re.DOTALL)
r"""Pattern of one letter of decoded text; a byte that is not UTF-8 appears as `\xNN`."""
_REST = (
    r"-(?P<pid>\d{1,10})\s+(?:\(\s*(?P<tgid>\d+|-+)\)\s+)?\[(?P<cpu>\d{3,6})\]\s+"
    r"(?:(?P<flags>\S{4,5})\s+)?(?P<ts>\d{1,20}(?:\.\d{6})?): (?P<text>.*)$"
)
_BEHIND_TASK = re.compile(_REST, re.DOTALL)
_LINE = re.compile(rf"^\s*(?P<comm>.{{1,16}}?){_REST}", re.DOTALL)
_LOST = re.compile(r"^CPU:(\d{1,6}) \[LOST (?:(\d{1,20}) )?EVENTS\]")
_EVENT = re.compile(r"^([A-Za-z_]\w*): ?(.*)$", re.DOTALL)
_PAIR = re.compile(r"(?:^|\s)(\w+)=(\{[^{}]*\}|\"[^\"]*\"|'.'|\S*)")
_PROBED = re.compile(r" \((?:[^()]* <- )?([^\s()+]+)(?:\+\S+)?( \[\w+\])?\)")
"""Pattern of the place of a kprobe or fprobe: `(vfs_read+0x4/0x490)`, `(ksys_read+0x70/0xf0 <- vfs_read)`."""
_LARGEST_TS = 1 << 63


class TextLine(NamedTuple):
    """Line of trace_pipe."""

    comm: str
    pid: int
    cpu: int
    flags: str
    """Latency flags, `d..2.`; empty if the option irq-info is off."""
    ts: int
    """Nanoseconds if the clock counts seconds, else ticks."""
    event: str
    """Event name without group; empty if the text does not begin with one."""
    text: str
    """Text after the time stamp."""


def parse_line(line: str) -> TextLine | None:
    """Parse one line; return None if it is no event (headers, stack entries, lost events)."""
    found = parse_padded(line)
    if found is None and (match := _LINE.match(line.rstrip("\n"))):
        found = _read(match["comm"], match)
    return found


def parse_padded(line: str) -> TextLine | None:
    """Parse a line by the width of the task name; return None if the name does not end there.

    A task name like `a-1 [000] 1: x:` cannot forge a line then, nor can one that contains a line break.
    """
    line = line.rstrip("\n")
    ends = dict.fromkeys((_end_of_task(line), _TASK_BYTES))
    match = next(filter(None, (_BEHIND_TASK.match(line, end) for end in ends)), None)
    return _read(line[: match.start()].lstrip(" "), match) if match else None


def _read(comm: str, match: re.Match[str]) -> TextLine | None:
    seconds, dot, fraction = match["ts"].partition(".")
    ts = int(seconds) * 1_000_000_000 + int(fraction) * 1000 if dot else int(seconds)
    if ts >= _LARGEST_TS:
        return None
    name_match = _EVENT.match(match["text"])
    name = name_match.group(1) if name_match else ""
    return TextLine(comm, int(match["pid"]), int(match["cpu"]), match["flags"] or "", ts, name, match["text"])


def _end_of_task(line: str) -> int:
    """Return the position after the padded task name."""
    if line[:_TASK_BYTES].isascii() and "\\" not in line[:_TASK_BYTES]:
        return _TASK_BYTES
    size = 0
    for letter in _BYTE.finditer(line):
        if size >= _TASK_BYTES:
            return letter.start()
        size += 1 if len(letter.group()) > 1 else len(letter.group().encode("utf-8", "surrogateescape"))
    return len(line)


def parse_lost(line: str) -> tuple[int, int] | None:
    """Return (CPU, number of lost events) for a line `CPU:1 [LOST 23 EVENTS]`; number -1 for `CPU:1 [LOST EVENTS]`.

    See print_trace_line() in kernel/trace/trace.c.
    """
    match = _LOST.match(line)
    return (int(match[1]), int(match[2] or -1)) if match else None


def text_values(text: str, fmt: EventFormat | None) -> dict[str, Value]:
    """Parse the values in `name: (symbol) a=1 b="x"`: typed by the format, otherwise as printed."""
    name_match = _EVENT.match(text)
    body = name_match.group(2) if name_match else text
    if fmt is None or fmt.printing is None:
        return {match.group(1): match.group(2) for match in _PAIR.finditer(body)}
    if not fmt.is_probe and (printed_parts := _parts(body, fmt.printing)):
        return _typed_parts(printed_parts, fmt, fmt.printing)
    body = f" {body}"
    places = _places(body, tuple(field for field in fmt.arguments if field is not fmt.function))
    quoted = any('"' in literal or "'" in literal for literal in fmt.printing.literals)
    values = {field.name: _typed(field, body[start:stop].strip(), quoted=quoted) for field, start, stop in places}
    if fmt.function is not None and (probed := _PROBED.match(body)):
        values[fmt.function.name] = probed[1] + (probed[2] or "")
    sizes = {field.name: field.size for field in fmt.fields}
    unread = (
        field.name
        for field in fmt.fields
        if any(is_unmapped(values.get(pointer), sizes[pointer]) for pointer in field.pointers)
    )
    return values | dict.fromkeys(tuple(unread))


def _places(body: str, fields: Sequence[Field]) -> list[tuple[Field, int, int]]:
    """Return the start and end of each value, in the order of the format and the text.

    The kernel does not escape strings, which may contain ` name=1`: each value ends where the next name begins, a
    string with its quote before that, and the numbers after the last string are searched from the end.
    """
    texts = next((n for n in range(len(fields), 0, -1) if fields[n - 1].kind is FieldKind.STRING), 0)
    numbers: list[tuple[Field, int, int]] = []
    end = len(body)
    for field in reversed(fields[texts:]):
        at = max(body.rfind(f"{blank}{field.name}=", 0, end) for blank in " ,")
        if at >= 0:
            numbers.insert(0, (field, at + len(field.name) + 2, end))
            end = at
    starts: list[tuple[Field, int, int]] = []
    at, quote = 0, ""
    for field in fields[:texts]:
        match = re.compile(rf"{quote}[\s,]{re.escape(field.name)}=").search(body, at, end)
        if match:
            starts.append((field, match.start() + len(quote), match.end()))
            at = match.end()
            quote = '"' if field.kind is FieldKind.STRING and body[at : at + 1] == '"' else ""
            at += len(quote)
    stops = [*(start for _, start, _ in starts[1:]), end]
    return [*((field, at, stop) for (field, _, at), stop in zip(starts, stops, strict=False)), *numbers]


def _parts(body: str, printing: PrintFormat) -> list[str] | None:
    """Return the text printed by each conversion of a tracepoint's print fmt, which is free to name fields; None: no
    match.

    Each part ends at the first occurrence of the literal after it, and parts after the last string are searched from
    the end: the kernel escapes nothing.
    """
    first, *others = printing.literals
    if not body.startswith(first):
        return None
    texts = [n for n, conversion in enumerate(printing.conversions) if conversion.spec[-1:] in ("s", "c")]
    last = texts[-1] if texts else 0
    parts, at = [], len(first)
    for literal in others[:last]:
        stop = body.find(literal, at)
        if stop < at:
            return None
        parts.append(body[at:stop])
        at = stop + len(literal)
    if not body.endswith(others[-1] if others else ""):
        return None
    later: list[str] = []
    end = len(body)
    for literal in reversed(others[last:]):
        stop = body.rfind(literal, at, end)
        if stop < at:
            return None
        later.append(body[stop + len(literal) : end])
        end = stop
    return [*parts, body[at:end], *reversed(later[1:])] if later else parts


def _typed_parts(texts: Sequence[str], fmt: EventFormat, printing: PrintFormat) -> dict[str, Value]:
    fields = {field.name: field for field in fmt.arguments}
    found: dict[str, Value] = {}
    for text, conversion in zip(texts, printing.conversions, strict=True):
        field = fields.get(conversion.field)
        if field is None or conversion.index is not None:
            continue
        if conversion.spec[-1:] in ("x", "X") and re.fullmatch("[0-9a-fA-F]+", text.strip()):
            found[field.name] = int(text, 16)
        else:
            found[field.name] = _typed(field, text.strip(), quoted=False)
    return found


def _typed(field: Field, text: str, *, quoted: bool) -> Value:
    if field.count is not None and text.startswith("{"):
        return tuple(_scalar(field, part, quoted=quoted) for part in text.strip("{}").split(","))
    return _scalar(field, text, quoted=quoted)


def _scalar(field: Field, text: str, *, quoted: bool) -> Scalar:
    if text == FAULT:
        return None
    if quoted and len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    if field.kind is FieldKind.STRING:
        return text.removeprefix('"') if quoted else text  # its end is missing
    try:
        return int(text, 0)
    except ValueError:
        return text


def show(value: Value) -> str:
    """Return a value as plain text: arrays in braces, `(fault)` for None."""
    if value is None:
        return FAULT
    if isinstance(value, tuple):
        return "{" + ",".join(map(show, value)) + "}"
    return value.hex() if isinstance(value, bytes) else str(value)


def join_values(values: Iterable[tuple[str, str]], owners: Mapping[str, str], gap: str = " ") -> str:
    """Return fields as one text, those of one structure in braces: `count=4096 file={f_pos=512, f_flags=O_RDONLY}`.

    A pair is within braces what it is without, so that a search finds it; a single field of a structure needs none.

    Args:
        values: name and text of each field.
        owners: structure that a field was read from, by the field's name: `file`.
        gap: blanks between fields.
    """
    pairs = tuple(values)
    sizes = Counter(owners[name] for name, _ in pairs if name in owners)
    members: dict[str, list[str]] = {owner: [] for owner, size in sizes.items() if size > 1}
    texts: dict[str, str] = {}
    for name, text in pairs:
        owner = owners.get(name, "")
        if owner not in members:
            texts[name] = f"{name}={text}"
            continue
        texts.setdefault(owner, f"{owner}=")
        members[owner].append(f"{name}={text}")
    groups = {owner: f"{{{', '.join(inner)}}}" for owner, inner in members.items()}
    return gap.join(text + groups.get(name, "") for name, text in texts.items())
