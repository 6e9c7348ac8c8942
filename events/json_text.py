r"""Write JSON for machines, the same in all of probewright: ASCII, one line, exact in common readers.

Most readers store numbers as doubles, which round integers from 2^53 on: those are written as decimal strings with
all digits, smaller ones as numbers. Bytes are in hex. Values that RFC 8259 cannot represent are strings, too: `NaN`,
`Infinity`, `-Infinity` (as in the JSON of protocol buffers); a lone surrogate, which strict readers reject, is
written `\xNN` if it stands for a byte that is not UTF-8, else `\uNNNN`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Set
from typing import Final

EXACT: Final = 1 << 53
"""Smallest positive integer that is not certain to be exact as a double."""
_ENCODER: Final = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))
_NEEDS_CHECK: Final = re.compile(r"[0-9]{16}|\\ud[89a-f]")
"""Pattern, in encoded JSON, of digits of a number that may be too large, or of a surrogate that may be lone."""
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_BYTES: Final = range(0xDC80, 0xDD00)
"""Surrogates that stand for bytes that are not UTF-8 (PEP 383)."""


def json_line(value: Mapping[str, object]) -> str:
    """Return an object as one line of JSON, without the line end.

    Raises:
        TypeError: a value has no representation.
    """
    try:
        text = _ENCODER.encode(value)
    except (TypeError, ValueError):  # bytes, for example, or NaN
        return _ENCODER.encode(plain_value(value))
    return _ENCODER.encode(plain_value(value)) if _NEEDS_CHECK.search(text) else text


def plain_value(value: object) -> object:
    """Return a value as JSON can represent it: dicts, lists, texts, safe numbers, true, false and None."""
    match value:
        case None | bool():
            return value
        case str():
            return _text(value)
        case int():
            return int(value) if -EXACT < value < EXACT else str(int(value))
        case float():
            return value if math.isfinite(value) else _non_finite_text(value)
        case bytes() | bytearray():
            return value.hex()
        case Mapping():
            return {_text(str(name)): plain_value(part) for name, part in value.items()}
        case Set():
            return sorted(map(plain_value, value), key=str)
        case list() | tuple():
            return [plain_value(part) for part in value]
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _non_finite_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _text(text: str) -> str:
    return _SURROGATE.sub(lambda half: _escape_surrogate(ord(half[0])), str(text))


def _escape_surrogate(surrogate: int) -> str:
    return f"\\x{surrogate - 0xDC00:02x}" if surrogate in _BYTES else f"\\u{surrogate:04x}"
