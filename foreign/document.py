"""JSON from outside: bounds on bytes, nesting and digits; no numbers without end, no lone surrogates."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn, TypeAlias

from foreign.refusal import InputRefusal
from foreign.text import MOST_DIGITS, without_surrogates

Json: TypeAlias = Any
"""What `json.loads` gives."""

MOST_BYTES = 16 << 20
_MOST_VALUES = 1 << 20
_DEEPEST = 64
"""Lists and objects within each other."""


def read_json(data: bytes | str, source: str, most: int = MOST_BYTES) -> Json:
    """Read one JSON value of at most `most` bytes. Raises InputRefusal."""
    if len(data) > most:
        raise InputRefusal(source, f"{len(data)} bytes of JSON", f"{most} bytes")
    if isinstance(data, bytes):
        data = data.decode("utf-8", "replace")
    if data.count(",") + data.count("[") + data.count("{") > _MOST_VALUES:
        raise InputRefusal(source, "more values of JSON", f"{_MOST_VALUES}")

    def refuse(word: str) -> NoReturn:
        raise InputRefusal(source, f"{word} is no number of JSON")

    def whole(digits: str) -> int:
        if len(digits) > MOST_DIGITS:
            raise InputRefusal(source, f"a number of {len(digits)} digits", f"{MOST_DIGITS}")
        return int(digits)

    def real(text: str) -> float:
        number = float(text)
        return number if math.isfinite(number) else refuse(text[:MOST_DIGITS])

    try:
        value = json.loads(data, parse_constant=refuse, parse_int=whole, parse_float=real)
    except InputRefusal:
        raise
    except RecursionError:
        raise InputRefusal(source, "JSON too deeply nested", f"{_DEEPEST} levels") from None
    except ValueError as error:
        raise InputRefusal(source, f"no JSON: {error}") from None
    if isinstance(value, list | dict):
        return _clean(value, source)
    return without_surrogates(value) if isinstance(value, str) else value


def read_object(data: bytes | str, source: str, most: int = MOST_BYTES) -> dict[str, Any]:
    """Read one JSON object, as `read_json`. Raises InputRefusal."""
    value = read_json(data, source, most)
    if not isinstance(value, dict):
        raise InputRefusal(source, "JSON, but no object")
    return value


def require_plain_numbers(value: Json, source: str) -> None:
    """Raise InputRefusal where a table of TOML holds a number beyond 64 bits, or one without end."""
    waiting: list[Json] = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, float) and not math.isfinite(one):
            raise InputRefusal(source, f"{one} is no number that is taken")
        elif isinstance(one, int) and not -(1 << 63) <= one < 1 << 64:
            raise InputRefusal(source, "a number beyond 64 bits")


def _clean(value: Json, source: str) -> Json:
    """The same, changed in place, with texts that can be written anywhere. Raises InputRefusal."""
    waiting: list[tuple[Any, int]] = [(value, 1)]
    while waiting:
        inside, depth = waiting.pop()
        if depth > _DEEPEST:
            raise InputRefusal(source, "JSON too deeply nested", f"{_DEEPEST} levels")
        if isinstance(inside, dict):
            for key in [key for key in inside if not key.isascii()]:
                inside[without_surrogates(key)] = inside.pop(key)
        for key, one in inside.items() if isinstance(inside, dict) else enumerate(inside):
            if isinstance(one, str) and not one.isascii():
                inside[key] = without_surrogates(one)
            elif isinstance(one, list | dict):
                waiting.append((one, depth + 1))
    return value
