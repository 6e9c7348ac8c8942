"""Parse and write bootconfig text by the rules of the kernel's own parser.

lib/bootconfig.c, include/linux/bootconfig.h, Documentation/admin-guide/bootconfig.rst. A key is words joined by dots,
a value is text or an array of texts; quotes hold a value together, and nothing within them can be escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

MOST_BYTES = 32766
"""Largest number of bytes of a text: XBC_DATA_MAX (32767) counts the NUL behind it."""
MOST_NODES = 8192
"""Largest number of words of keys and of values together (XBC_NODE_MAX)."""
MOST_DEPTH = 16
"""Largest number of words of a key (XBC_DEPTH_MAX)."""
MOST_KEY = 256
"""Largest number of bytes of a key, with a dot or NUL behind each word (XBC_KEYLEN_MAX)."""
_WORD = re.compile(r"[A-Za-z0-9_-]+")
_DELIMITER = re.compile(r"[{}=+;:\n#]")
_VALUE_END = re.compile(r"[,;\n#}]")
_SPACES = " \t\n\v\f\r"
_BLANKS = " \t\v\f\r"
_PRINTABLE = re.compile(r"[\t-\r -~]*")

Pairs = Sequence[tuple[str, tuple[str, ...]]]
"""Keys with their values, in the order of the text; a key without a value has none."""


class BootconfigError(ValueError):
    """A text that the kernel's parser rejects, with its words.

    Attributes:
        offset: characters before the place of the error; -1: the text as a whole.
    """

    def __init__(self, message: str, offset: int = -1, text: str = "") -> None:
        line = text.count("\n", 0, offset) + 1
        super().__init__(f"{message} (line {line})" if offset >= 0 else message)
        self.message = message
        self.offset = offset


@dataclass(slots=True)
class _Node:
    """Word of a key, with its values and the words behind it."""

    word: str = ""
    depth: int = 0
    """Number of words up to this one."""
    below: dict[str, _Node] = field(default_factory=dict)
    values: list[str] | None = None


def parse(text: str) -> Pairs:
    """Return the keys and values of a text. Raises BootconfigError."""
    if len(text) > MOST_BYTES:
        raise BootconfigError("Config data is too big")
    return _Parser(text).pairs()


def compose(values: Mapping[str, Sequence[str]]) -> str:
    """Return a text with one line for each key; `parse` gives the same keys and values. Raises BootconfigError."""
    lines = []
    for key, texts in values.items():
        joined = ", ".join(map(quoted, texts))
        lines.append(f"{key} = {joined}\n" if texts else f"{key}\n")
    text = "".join(lines)
    parse(text)
    return text


def quoted(text: str) -> str:
    """Return a value in the quotes that it has not. Raises BootconfigError where no quotes hold it."""
    mark = next((mark for mark in "\"'" if mark not in text), None)
    if mark is None:
        raise BootconfigError(f"a value can't hold both kinds of quotes: {text}")
    if not text.isascii() or not _PRINTABLE.fullmatch(text):
        raise BootconfigError(f"a value holds printable ASCII only: {ascii(text)[1:-1]}")
    return f"{mark}{text}{mark}"


def in_pieces(text: str) -> list[str]:
    """Return a text as values of an array, each of which has one kind of quotes at most."""
    return re.findall(r"[^\"]++|[^']++", text) or [""]


class _Parser:
    """One reading of a text; the names of its steps are those of lib/bootconfig.c."""

    def __init__(self, text: str) -> None:
        end = text.find("\0")
        self._text = text if end < 0 else text[:end]
        self._root = _Node()
        self._parent = self._root
        self._open: list[_Node] = []
        self._nodes = 0
        self._parse_tree()
        self._verify()

    def pairs(self) -> Pairs:
        """Return the keys that have a value, or no words behind them."""
        return list(self._leaves(self._root, ""))

    def _leaves(self, node: _Node, key: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        if node is not self._root and (node.values is not None or not node.below):
            yield key, tuple(node.values or ())
        for word, child in node.below.items():
            yield from self._leaves(child, f"{key}.{word}" if key else word)

    def _fail(self, message: str, offset: int) -> BootconfigError:
        return BootconfigError(message, offset, self._text)

    def _add_node(self, offset: int) -> None:
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise self._fail("Too many nodes", offset)

    def _parse_tree(self) -> None:
        text, at = self._text, 0
        while found := _DELIMITER.search(text, at):
            end, mark = found.start(), found[0]
            if mark in ":+=":
                begin = end + 1
                if mark != "=":
                    if text[begin : begin + 1] != "=":
                        raise self._fail(f"Wrong '{mark}' operator", end)
                    begin += 1
                at = self._key_value(at, end, begin, mark)
            elif mark == "{":
                self._keys(at, end)
                self._open.append(self._parent)
                if len(self._open) >= MOST_DEPTH:
                    raise self._fail("Exceed max depth of braces", end)
                at = end + 1
            else:
                self._key(at, end)
                at = end + 1
                if mark == "#":
                    at = self._skip_comment(at)
                elif mark == "}":
                    self._close_brace(end)
        rest = text[at:].strip(_SPACES)
        if rest:
            raise self._fail("No delimiter", text.index(rest, at))

    def _skip_comment(self, at: int) -> int:
        return self._text.find("\n", at) + 1 or len(self._text)

    def _keys(self, begin: int, end: int) -> None:
        """Go to the node of a key below the present one, made where it is missing."""
        for word in self._text[begin:end].strip(_SPACES).split("."):
            if not _WORD.fullmatch(word):
                raise self._fail("Invalid keyword", begin)
            child = self._parent.below.get(word)
            if child is None:
                self._add_node(begin)
                child = self._parent.below[word] = _Node(word, self._parent.depth + 1)
                if child.depth > MOST_DEPTH:
                    raise self._fail("Too many key words", begin)
            self._parent = child

    def _key(self, begin: int, end: int) -> None:
        """Take a key without a value."""
        if self._text[begin:end].strip(_SPACES):
            before = self._parent
            self._keys(begin, end)
            self._parent = before

    def _close_brace(self, offset: int) -> None:
        if not self._open or self._open.pop() is not self._parent:
            raise self._fail("Unexpected closing brace", offset)
        self._parent = self._open[-1] if self._open else self._root

    def _key_value(self, begin: int, end: int, at: int, operator: str) -> int:
        """Take a key and its values; return the offset behind them."""
        before = self._parent
        self._keys(begin, end)
        node = self._parent
        values = []
        offset, mark = at, ","
        while mark == ",":
            value, at, mark = self._value(at)
            values.append(value)
            if not (operator == ":" and node.values and len(values) == 1):
                self._add_node(offset)
        if node.values is not None and operator == "=":
            raise self._fail("Value is redefined", offset)
        node.values = [*(node.values or ()), *values] if operator == "+" else values
        self._parent = before
        if mark == "}":
            self._close_brace(at - 1)
        return at

    def _value(self, at: int) -> tuple[str, int, str]:
        """Return a value, the offset behind its delimiter, and the delimiter; empty at the end of the text."""
        text = self._text
        at = self._skip_spaces(at, _SPACES)
        while text[at : at + 1] == "#":
            at = self._skip_spaces(self._skip_comment(at), _SPACES)
        mark = text[at : at + 1]
        if mark and mark in "\"'":
            end = text.find(mark, at + 1)
            self._require_printable(at + 1, end if end >= 0 else len(text))
            if end < 0:
                raise self._fail("No closing quotes", len(text))
            value = text[at + 1 : end]
            at = self._skip_spaces(end + 1, _BLANKS)
            mark = text[at : at + 1]
            if mark and mark not in ",;\n#}":
                raise self._fail("No value delimiter", at)
        else:
            found = _VALUE_END.search(text, at)
            end = found.start() if found else len(text)
            self._require_printable(at, end)
            value = text[at:end].strip(_SPACES) if found else text[at:end]
            at, mark = end, text[end : end + 1]
        if mark == "#":
            return value, self._skip_comment(at + 1), "\n"
        return value, at + len(mark), mark

    def _skip_spaces(self, at: int, spaces: str) -> int:
        while at < len(self._text) and self._text[at] in spaces:
            at += 1
        return at

    def _require_printable(self, begin: int, end: int) -> None:
        printable = _PRINTABLE.match(self._text, begin, end)
        if printable is not None and printable.end() < end:
            raise self._fail("Non printable value", printable.end())

    def _verify(self) -> None:
        if self._open:
            raise self._fail("Brace is not closed", len(self._text))
        if not self._nodes:
            raise BootconfigError("Empty config")
        for key, _ in self.pairs():
            if len(key) + 1 > MOST_KEY:
                raise BootconfigError("Too long key length")
