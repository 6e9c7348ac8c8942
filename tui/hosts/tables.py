"""Tables of several hosts for exports: the state of each host, and the histograms of all; no screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from foreign.count_text import counted
from tui.output.kernel_tables import HistogramsTable
from tui.output.view_table import Cells, ViewTable
from tui.present.hist_tables import TableLine, lines_of_watch
from widgets.safe_text import safe

if TYPE_CHECKING:
    from kernel.hosts.host import Host
    from tui.hosts.host_text import HostAccount

_TEXTS: Final = ("host", "target", "state", "kernel", "why", "remedy")
_COUNTS: Final = ("events", "of", "lost", "missed", "dropped", "undecodable", "late", "unshown")
_LISTS: Final = ("lowered", "notes", "left")
_CUTS: Final = ("cuts", "gap")


class HostsTable(ViewTable):
    """The table of hosts: the objects with which `run --json` accounts for several hosts."""

    name = "hosts"

    def __init__(self, accounts: Iterable[tuple[Host, HostAccount]]) -> None:
        self._rows = [account.json(host) for host, account in accounts]

    @property
    def text(self) -> str:
        return counted(len(self._rows), "host")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of all hosts; hits have a column for each event."""
        hits = dict.fromkeys(f"hits.{event}" for row in self._rows for event in row["hits"])
        return (*_TEXTS, *_COUNTS, *_CUTS, "offset", "uncertainty", *_LISTS, *hits)

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the hosts in the order in which they were named."""
        yield from self._rows

    def cells(self, row: Mapping[str, Any]) -> Iterator[Cells]:
        """Yield one row; lists are joined by newlines in a cell; of outages, their number and total seconds."""
        yield {
            **{name: row.get(name) for name in (*_TEXTS, *_COUNTS)},
            "cuts": len(row["gaps"]),
            "gap": float(sum(row["gaps"])),
            **(row["clock"] or {}),
            **{name: "\n".join(row[name]) or None for name in _LISTS},
            **{f"hits.{event}": number for event, number in row["hits"].items()},
        }


def histograms_of(hosts: Sequence[Host]) -> HistogramsTable:
    """Return the tables of hist triggers of several hosts, as each was read last."""
    table = HistogramsTable()
    table.tables = [(one, outage_count(host), host.name) for host in hosts for one in host.tables]
    return table


def lines_of_hosts(hosts: Sequence[Host]) -> Iterator[TableLine]:
    """Yield the lines of the same for a screen, host by host, with why one's can't be read."""
    between = False
    for host in hosts:
        lines = list(lines_of_watch(host.tables, outage_count(host), host.name))
        if host.tables_error:
            lines.append(TableLine(safe(f"{host.name}: can't be read: {host.tables_error}"), "bad"))
        if lines and between:
            yield TableLine("")
        yield from lines
        between = between or bool(lines)


def outage_count(host: Host) -> int:
    """Return the number of outages of a host."""
    return len(host.watch.outages) if host.watch is not None else 0
