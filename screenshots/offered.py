"""The targets in a picture of the chooser: those of a fictitious machine, so that every machine draws the same."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from unittest.mock import patch

from kernel.connection.open_target import open_target, shipped_recording
from kernel.facts.diagnosis import Observations, diagnose
from tui.dialogs import target_list
from widgets.dialogs.target_chooser import TargetRow


def this_machine() -> TargetRow:
    """The recorded kernel, as a user who is not root finds it."""
    facts = replace(open_target(str(shipped_recording())).facts(), uid=1000)
    sight = Observations(tracefs_readable=False, capabilities=0)
    return TargetRow("local", "this machine", facts.title, target_list.abilities(facts), diagnose(facts, sight))


@contextlib.contextmanager
def fictitious_machine() -> Iterator[None]:
    """While it holds, `tui.dialogs.target_list.choices` looks at nothing of the machine that it runs on."""
    over_ssh = [TargetRow(f"ssh://{host}", host, "over SSH") for host in ("board-arm64", "build")]
    with contextlib.ExitStack() as stack:
        local = this_machine()
        stack.enter_context(patch.object(target_list, "_local", lambda: local))
        stack.enter_context(patch.object(target_list, "_ssh", lambda: over_ssh))
        stack.enter_context(patch.object(target_list, "missing", lambda *_: ()))
        stack.enter_context(patch.object(target_list, "_recordings", recordings))
        yield


def recordings() -> list[TargetRow]:
    path = shipped_recording()
    assert path is not None
    return [TargetRow(str(path), path.name, "a recording: nothing can be armed that it does not hold")]
