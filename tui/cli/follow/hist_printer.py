"""Print the tables of hist triggers at the end of `run --trigger 'hist:…'`, of one host or of several."""

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


def tell_tables(watch: Watch, *, as_json: bool, aside: bool = False) -> None:
    """Print what the kernel's histograms hold now.

    Args:
        watch: what is armed.
        as_json: one object a table.
        aside: as text on standard error, for standard output has events in another format.
    """
    try:
        tables = list(read_tables(watch))
    except KernelError as error:
        _tell_unread("", str(error))
        return
    _print(tables, "", sum(cut.missing for cut in watch.cuts), as_json=as_json, aside=aside)


def tell_tables_of(host: Host, *, as_json: bool, aside: bool = False, given_out: bool = False) -> None:
    """Print what the histograms of one of several hosts held when it was closed; as `tell_tables`.

    `given_out`: they are in a file, and only what is missing there is told.
    """
    from tui.hosts.host_text import gaps_of  # and numpy

    if host.tables_error:
        _tell_unread(host.name, host.tables_error)
    if given_out:
        return
    cuts = len(gaps_of(host))
    _print(host.tables, host.name, cuts, as_json=as_json, aside=aside)


def _tell_unread(host: str, why: str) -> None:
    name = f"{host}: " if host else ""
    print(plain(f"probewright: {name}the tables of hist triggers can't be read: {why}"), file=sys.stderr)


def _print(tables: Sequence[HistTable], host: str, cuts: int, *, as_json: bool, aside: bool) -> None:
    from tui.present.hist_tables import lines_of_watch, object_of  # what measures text for a screen comes with it

    if as_json and not aside:
        for table in tables:
            emit(object_of(table, cuts, host))
        return
    for one in lines_of_watch(tables, cuts, host):
        print(line(one.text), file=sys.stderr if aside else sys.stdout)
