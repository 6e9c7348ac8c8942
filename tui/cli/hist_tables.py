"""Print the tables of hist triggers at the end of `run --trigger 'hist:…'`."""

from __future__ import annotations

import sys

from kernel.errors import KernelError
from kernel.hist_tables import read_tables
from kernel.watch import Watch
from tui.cli.output import emit, line, plain


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
        print(f"probewright: the tables of hist triggers can't be read: {plain(str(error))}", file=sys.stderr)
        return
    if not tables:
        return
    from tui.hist_tables import lines_of, object_of  # what measures text for a screen comes with it

    if as_json and not aside:
        for table in tables:
            emit(object_of(table))
        return
    for one in lines_of(tables):
        print(line(one.text), file=sys.stderr if aside else sys.stdout)
