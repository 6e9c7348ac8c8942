"""Print the tables of hist triggers at the end of `run --trigger 'hist:…'`, for one host or several."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernel.errors import KernelError
from kernel.watch.hist_tables import read_tables
from kernel.watch.watch import Watch
from tui.cli.console.output import emit, line, plain

if TYPE_CHECKING:
    from kernel.hosts.host import Host
    from kernel.watch.hist_tables import HistTable


def print_tables(watch: Watch, *, as_json: bool, aside: bool = False) -> None:
    """Print the current contents of the kernel's histograms.

    Args:
        watch: its armed probes have the triggers.
        as_json: True: one JSON object for each table.
        aside: True: text on standard error, as standard output has events in another format.
    """
    try:
        tables = list(read_tables(watch.armed))
    except KernelError as error:
        _print_error("", str(error))
        return
    _print(tables, "", sum(outage.missing for outage in watch.outages), as_json=as_json, aside=aside)


def print_host_tables(host: Host, *, as_json: bool, aside: bool = False, given_out: bool = False) -> None:
    """Print the final histograms of one of several hosts, which is closed already; arguments as for `print_tables`.

    `given_out`: they are in a file, and only what is missing is reported.
    """
    from tui.hosts.host_text import gaps_of  # imports numpy

    if host.tables_error:
        _print_error(host.name, host.tables_error)
    if given_out:
        return
    outages = len(gaps_of(host))
    _print(host.tables, host.name, outages, as_json=as_json, aside=aside)


def _print_error(host: str, why: str) -> None:
    name = f"{host}: " if host else ""
    print(plain(f"probewright: {name}the tables of hist triggers can't be read: {why}"), file=sys.stderr)


def _print(tables: Sequence[HistTable], host: str, outages: int, *, as_json: bool, aside: bool) -> None:
    from tui.present.hist_tables import lines_of_watch, object_of  # imports code that measures text for a screen

    if as_json and not aside:
        for table in tables:
            emit(object_of(table, outages, host))
        return
    for one in lines_of_watch(tables, outages, host):
        print(line(one.text), file=sys.stderr if aside else sys.stdout)
