"""JSON lines of ours, read as docs/exports.md says: a text that is a whole number beyond 2^53 is that number."""

from __future__ import annotations

import json
import re
from typing import Any

from events.json_text import EXACT

_WHOLE = re.compile(r"-?[1-9][0-9]{15,}")


def read_line(line: str | bytes) -> Any:
    """Return the object of a line, with numbers in the place of texts for them."""
    return _numbers(json.loads(line))


def _numbers(value: Any) -> Any:
    match value:
        case dict():
            return {name: _numbers(part) for name, part in value.items()}
        case list():
            return [_numbers(part) for part in value]
        case str() if _WHOLE.fullmatch(value) and abs(int(value)) >= EXACT:
            return int(value)
    return value
