"""Keep the journal of this process, of which the next start undoes what a dead process left."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from kernel.agent.journal import Journal, folders, own_name
from kernel.target import Step

if TYPE_CHECKING:
    from kernel.agent.journal import Entry

_LOCK = threading.Lock()
_journals: dict[str, Journal] = {}


def add_step(undo: Step) -> None:
    """Write an undo step to the journal."""
    with _LOCK:
        _journal().add(*_entry(undo))


def drop_step(undo: Step) -> None:
    """Remove an undo step that was carried out, or is not needed, from the journal."""
    with _LOCK:
        _journal().drop(*_entry(undo))


def _journal() -> Journal:
    """Return the journal of this process, shared by all its targets: a forked child has another."""
    name = own_name()
    if name not in _journals:
        _journals.clear()
        _journals[name] = Journal(folders(os.geteuid(), os.environ), name)
    return _journals[name]


def _entry(step: Step) -> Entry:
    return step.effect.value.encode(), os.fsencode(step.path), step.data, step.expects
