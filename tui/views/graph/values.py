"""Values of the function_graph tracer's records with their names, unshortened: arguments by BTF, results as
errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from events.graph.record_ends import EVENTS

if TYPE_CHECKING:
    from events.format import EventFormat
    from events.record import Record
    from kernel.watch.watch import Watch
    from tui.views.graph.names import GraphNames

_NAMED = ("args", "retval")


class GraphValues:
    """Texts of the tracer's records, for exports."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._names: GraphNames | None = None

    def named_fields(self, fmt: EventFormat) -> tuple[str, ...]:
        """Return the fields of the tracer's events that only functions' types name; empty: another event."""
        return tuple(name for name in _NAMED if name in fmt.names) if fmt.path in EVENTS else ()

    def field_texts(self, record: Record) -> list[tuple[str, str]]:
        """Return name and text of each field of a record of the tracer; empty: another event."""
        if record.event not in EVENTS or record.layout is None:
            return []
        from tui.views.graph.names import GraphNames  # imports numpy

        self._names = self._names or GraphNames(self._watch.info, whole=True)
        names = self._names.of(record.boot)
        values = record.values
        address, result = values.get("func"), values.get("retval")
        function = names.function(address) if isinstance(address, int) else ""
        named = {"args": names.arguments(function, record)}
        if isinstance(result, int):
            named["retval"], _ = names.result(function, result - (1 << 64) if result >> 63 else result)
        return [(name, named.get(name) or text) for name, text in self._watch.event_fields.values(record)]
