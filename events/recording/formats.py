"""Parse the format files of a recording, each text once, with what its plans say of their columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from events.format import EventFormat, FormatError, parse_format
from events.names.event_names import exported_name
from foreign.refusal import InputRefusal

LARGEST_FORMAT = 1 << 20
_MOST_BYTES = 16 << 20
"""Maximum total bytes of different format files: 10,000 events have some ten million."""
_MOST_READ = 256 << 20
"""Maximum total bytes of format files in one pass over a recording: each arming writes them again."""
_MOST_COLUMNS = 1024
"""Maximum columns of an event, as of the fields of a format."""
_MOST_POINTERS = 16
"""Maximum pointers in a row through which a column is read (`events.format`)."""


class FormatBudget:
    """Bytes of format files that one pass over a recording has read."""

    def __init__(self) -> None:
        self._left = _MOST_READ

    def take(self, size: int) -> None:
        """Count the bytes of a file. Raises InputRefusal if all of them are more than `_MOST_READ`."""
        self._left -= size
        if self._left < 0:
            raise InputRefusal("", "its format files have more", f"{_MOST_READ} bytes")


class EventColumns(NamedTuple):
    """Columns of an event in the plans of a recording."""

    function: str
    """Name of the column with the probed function; empty: none."""
    is_unknown: Mapping[str, bool]
    """True for return values of unknown types, by column."""
    pointers: Mapping[str, tuple[str, ...]]
    """Names of the fields through which a column is read."""


class RecordedFormats:
    """Formats by the text of their files."""

    def __init__(self, plans: Iterable[Any], long_size: int) -> None:
        """Take the plans of the recording, which may be damaged, and the bytes of a long.

        Raises:
            InputRefusal: an event has too many columns.
        """
        self._columns = _columns_by_event(plans)
        self._long_size = long_size
        self._parsed: dict[tuple[str, bytes], EventFormat] = {}
        self._left = _MOST_BYTES

    def parse(self, path: str, text: bytes) -> EventFormat:
        """Return the format of an event; the same one for the same text.

        Raises:
            FormatError: the text is no format file.
            InputRefusal: all of them have more bytes than are parsed.
        """
        found = self._parsed.get((path, text))
        if found is None:
            self._left -= len(text)
            if self._left < 0:
                raise InputRefusal("", "its different format files have more", f"{_MOST_BYTES} bytes")
            found = self._parsed[path, text] = self._parse(path, text)
        return found

    def _parse(self, path: str, text: bytes) -> EventFormat:
        system, _, _ = path.rpartition("/")
        try:
            parsed = parse_format(text.decode("utf-8", "replace"), system, self._long_size)
        except FormatError as error:
            raise FormatError(f"format of {path}: {error}") from error
        columns = self._columns.get(exported_name(path))
        if columns is None:
            return parsed
        parsed = parsed.with_results(columns.is_unknown).with_pointers(columns.pointers)
        return parsed.with_function(columns.function) if columns.function else parsed


def _columns_by_event(plans: Iterable[Any]) -> dict[str, EventColumns]:
    """Return the columns by event, as the plans have them."""
    found: dict[str, EventColumns] = {}
    for plan in plans:
        with suppress(TypeError, KeyError, AttributeError):  # damaged plans are reported with the probes
            for event in plan["events"]:
                path = f"{event['group']}/{event['event']}"
                if len(event["columns"]) > _MOST_COLUMNS:
                    raise InputRefusal("", f"{len(event['columns'])} columns of {path}", f"{_MOST_COLUMNS}")
                found[exported_name(path)] = _event_columns(event["columns"])
    return found


def _event_columns(columns: list[dict[str, Any]]) -> EventColumns:
    """Return the columns of an event. Raises KeyError, TypeError, AttributeError: they are damaged."""
    names = [str(one["name"]) for one in columns]
    named = list(zip(names, columns, strict=True))
    function = next((name for name, one in named if one.get("functions")), "")
    unknown = {name: bool(function) and one.get("btf_type") is None for name, one in named if one.get("is_retval")}
    pointers = {name: tuple(map(str, one.get("pointers", ())[:_MOST_POINTERS])) for name, one in named}
    return EventColumns(function, unknown, pointers)
