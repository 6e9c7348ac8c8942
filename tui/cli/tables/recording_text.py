"""`probewright show FILE.pwr`: print what a recording holds."""

from __future__ import annotations

import argparse

from kernel.connection.planner import Planner
from kernel.guards.row_bounds import SCREEN
from kernel.watch.watch import Watch
from tui.cli.console.output import connect, emit, plain
from tui.cli.console.waiting import waiting
from tui.cli.status import DONE
from tui.recording_contents import contents_of, lines_of, object_of


def show_recording(arguments: argparse.Namespace) -> int:
    """Print the contents. Raises TargetUnusable where the file can't be read."""
    info = connect(arguments.name)
    watch = Watch(Planner(info), SCREEN)
    try:
        watch.begin()
        with waiting(f"counting the events of {arguments.name}"):
            while not watch.ended:
                watch.tick()
            if watch.store is not None:
                watch.store.flush()
        found = contents_of(watch, watch.counts())
    finally:
        watch.close()
        info.close()
    if arguments.json:
        emit(object_of(found))
    else:
        for text in lines_of(found):
            print(plain(text))
    return DONE
