r"""JSON as all of probewright writes it for machines: ASCII, one line, and nothing that a usual reader would spoil.

Most readers hold numbers as doubles, which round whole numbers from 2^53 on: those are texts with all their digits,
in decimal. Everything smaller is a number. Bytes are in hex. What RFC 8259 has no word for is text, too: `NaN`,
`Infinity`, `-Infinity` (as the JSON of protocol buffers has them); half of a pair of surrogates, which strict readers
refuse, is written `\xNN` where it stands for a byte that is no UTF-8, else `\uNNNN`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Set
from typing import Final

EXACT: Final = 1 << 53
"""Whole numbers below it, and above its negative, are exact as a double."""
_ENCODER: Final = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))
_DOUBTFUL: Final = re.compile(r"[0-9]{16}|\\ud[89a-f]")
"""In finished JSON: digits of a number that may be too large, or what may be half a pair of surrogates."""
_HALF: Final = re.compile("[\ud800-\udfff]")
_BYTES: Final = range(0xDC80, 0xDD00)
"""Surrogates for bytes that are no UTF-8 (PEP 383)."""


def json_line(value: Mapping[str, object]) -> str:
    """Return an object as one line of JSON, without the line's end. Raises TypeError for what has no form there."""
    try:
        text = _ENCODER.encode(value)
    except (TypeError, ValueError):  # bytes, say, or a number that is none
        return _ENCODER.encode(plain_value(value))
    return _ENCODER.encode(plain_value(value)) if _DOUBTFUL.search(text) else text


def plain_value(value: object) -> object:
    """Return a value as JSON has it: made of dicts, lists, texts, safe numbers, true, false and None."""
    match value:
        case None | bool():
            return value
        case str():
            return _text(value)
        case int():
            return int(value) if -EXACT < value < EXACT else str(int(value))
        case float():
            return value if math.isfinite(value) else _no_number(value)
        case bytes() | bytearray():
            return value.hex()
        case Mapping():
            return {_text(str(name)): plain_value(part) for name, part in value.items()}
        case Set():
            return sorted(map(plain_value, value), key=str)
        case list() | tuple():
            return [plain_value(part) for part in value]
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _no_number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _text(text: str) -> str:
    return _HALF.sub(lambda half: _named(ord(half[0])), str(text))


def _named(half: int) -> str:
    return f"\\x{half - 0xDC00:02x}" if half in _BYTES else f"\\u{half:04x}"
