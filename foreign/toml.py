"""Bound TOML from outside before it is parsed, and parse it.

Parsers of TOML take the square of the parts of a dotted key (tomllib), or of lines and keys (tomlkit), so bytes alone
bound no time.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any, NamedTuple

from foreign.document import require_plain_numbers
from foreign.refusal import InputRefusal

_TEXT = re.compile(
    r'''"""(?:[^\\]|\\.)*?(?:"{3,5}|\Z)|\'\'\'.*?(?:'{3,5}|\Z)|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|#[^\n]*+''', re.DOTALL
)
"""Pattern for a string or a comment; one that does not end reaches to the end, where any parser gives up."""


class TomlBounds(NamedTuple):
    """Bounds of one sort of file."""

    characters: int
    lines: int
    dots: int
    """Dots of keys and numbers, of the whole file."""
    line_dots: int
    """Dots of one line."""


def require_small_toml(text: str, source: str, bounds: TomlBounds) -> None:
    """Check that a text is small enough for a parser of TOML.

    Raises:
        InputRefusal: the text has more characters, lines or dots, or a line has more dots than a key can need.
    """
    if len(text) > bounds.characters:
        raise InputRefusal(source, f"{len(text)} characters of TOML", f"{bounds.characters}")
    lines = text.count("\n")
    if lines > bounds.lines:
        raise InputRefusal(source, f"{lines} lines of TOML", f"{bounds.lines}")
    plain = _TEXT.sub("", text)
    dots = plain.count(".")
    if dots > bounds.dots:
        raise InputRefusal(source, f"{dots} dots of keys and numbers", f"{bounds.dots}")
    most = max(line.count(".") for line in plain.split("\n"))
    if most > bounds.line_dots:
        raise InputRefusal(source, f"a line with {most} dots", f"{bounds.line_dots}")


def read_toml(text: str, source: str, bounds: TomlBounds) -> dict[str, Any]:
    """Parse a text of TOML, whose numbers fit in 64 bits and are finite.

    Raises:
        InputRefusal: the text is no TOML, or exceeds a bound.
    """
    require_small_toml(text, source, bounds)
    try:
        plain = tomllib.loads(text)
    except RecursionError:
        raise InputRefusal(source, "TOML too deeply nested") from None
    except ValueError as error:  # also a number of 5,000 digits
        raise InputRefusal(source, f"no TOML: {error}") from None
    require_plain_numbers(plain, source)
    return plain
