"""Read JSON from outside with bounds on bytes, nesting and digits; without infinite numbers and lone surrogates."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn, TypeAlias

from foreign.refusal import InputRefusal
from foreign.text import MOST_DIGITS, without_surrogates

Json: TypeAlias = Any
"""Result of `json.loads`."""

MOST_BYTES = 16 << 20
_MOST_VALUES = 1 << 20
_MAX_DEPTH = 64
"""Maximum nesting of lists and objects."""


def read_json(data: bytes | str, source: str, most: int = MOST_BYTES) -> Json:
    """Parse one JSON value of at most `most` bytes.

    Raises:
        InputRefusal: the text is no JSON, or exceeds a bound.
    """
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
        raise InputRefusal(source, "JSON too deeply nested", f"{_MAX_DEPTH} levels") from None
    except ValueError as error:
        raise InputRefusal(source, f"no JSON: {error}") from None
    if isinstance(value, list | dict):
        return _clean(value, source)
    return without_surrogates(value) if isinstance(value, str) else value


def read_object(data: bytes | str, source: str, most: int = MOST_BYTES) -> dict[str, Any]:
    """Parse one JSON object, as `read_json`.

    Raises:
        InputRefusal: the text is no JSON object, or exceeds a bound.
    """
    value = read_json(data, source, most)
    if not isinstance(value, dict):
        raise InputRefusal(source, "JSON, but no object")
    return value


def require_plain_numbers(value: Json, source: str) -> None:
    """Check the numbers of a TOML table.

    Raises:
        InputRefusal: a number exceeds 64 bits, or is infinite.
    """
    pending: list[Json] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list):
            pending += item
        elif isinstance(item, float) and not math.isfinite(item):
            raise InputRefusal(source, f"{item} is no number that is taken")
        elif isinstance(item, int) and not -(1 << 63) <= item < 1 << 64:
            raise InputRefusal(source, "a number beyond 64 bits")


def _clean(value: Json, source: str) -> Json:
    """Return a value, changed in place, whose texts have no lone surrogates.

    Raises:
        InputRefusal: the value is too deeply nested.
    """
    pending: list[tuple[Any, int]] = [(value, 1)]
    while pending:
        container, depth = pending.pop()
        if depth > _MAX_DEPTH:
            raise InputRefusal(source, "JSON too deeply nested", f"{_MAX_DEPTH} levels")
        if isinstance(container, dict):
            for key in [key for key in container if not key.isascii()]:
                container[without_surrogates(key)] = container.pop(key)
        for key, item in container.items() if isinstance(container, dict) else enumerate(container):
            if isinstance(item, str) and not item.isascii():
                container[key] = without_surrogates(item)
            elif isinstance(item, list | dict):
                pending.append((item, depth + 1))
    return value
