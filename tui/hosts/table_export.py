"""Give out the tables of the place of several hosts: how each host is, and the histograms of all."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from events.export.catalogue import Format
from foreign.count_text import counted
from tui.hosts.host_text import account_of
from tui.hosts.tables import HostsTable, histograms_of
from tui.live.export_dialog import ExportScreen, tables_of

if TYPE_CHECKING:
    from kernel.hosts.fleet import Fleet


class HostsExportScreen(ExportScreen):
    """Writes a table as it is when it is asked for."""

    def __init__(self, fleet: Fleet) -> None:
        offered = [*tables_of("hosts"), *(tables_of("histograms") if histograms_of(fleet.hosts).tables else ())]
        super().__init__(
            f"{counted(len(fleet.hosts), 'host')}; their events: probewright run … -t A -t B -o FILE",
            offered,
            time.strftime("probewright-%Y%m%d-%H%M%S"),
        )
        self._fleet = fleet

    def begin(self, form: Format, view: str) -> None:
        """Write the table."""
        fleet = self._fleet
        if view == HostsTable.name:
            events = fleet.events
            accounts = [(host, account_of(fleet, host, events.kept_of(host))) for host in fleet.hosts]
            self.start_table(HostsTable(accounts), form)
        else:
            self.start_table(histograms_of(fleet.hosts), form)
