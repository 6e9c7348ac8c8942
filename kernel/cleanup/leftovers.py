"""Find and remove the effects of dead sessions: found by name, proved dead by the kernel itself.

A session is dead if its instance can be removed: a live one holds a file of it open, and rmdir gives EBUSY. So the
instance is removed first, which also disables its events, then the events of its group. Events of others are never
touched. A dead session's own hist triggers may hold its instance (`kernel.cleanup.hist_references`); they are removed
if no process of any PID name space can be its owner. If there is a group and no instance, the owner's process has to
be gone. A synthetic event is a session's own if its name begins with that of the session's group and two underscores.
Effects without our names, such as events with a user's name or settings of the whole kernel, are listed in the
journal of the process (`kernel.agent.journal`), which is removed with the last of its instances; settings that
someone has changed since stay as they are.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kernel.cleanup.hist_references import clear_hist_triggers
from kernel.cleanup.owner import GROUP_PREFIX, INSTANCE_PREFIX, is_alive, is_dead_everywhere, parse_owner
from kernel.cleanup.stale_journals import StaleJournal, read_journals
from kernel.cleanup.undo import undo_step
from kernel.errors import FileRefused, KernelError, SettingChanged
from kernel.target import Effect, Step, Target
from kernel.tracefs import Instance, Tracefs
from probes.rules.deletion import SYNTHETIC


class Leftover(NamedTuple):
    """Effects left by one dead session."""

    name: str
    """`PID_STARTTIME`, with `_N` for further sessions of one process."""
    instance: str
    """Path of its trace instance; empty: already removed."""
    events: tuple[str, ...]
    """Events of the session as `group/event`, oldest first; empty: none."""
    journal: StaleJournal | None = None
    """Other changes by its process; with the last session of a process."""

    @property
    def settings(self) -> int:
        """Number of other changes to be undone."""
        return len(self.journal.steps) if self.journal else 0

    @property
    def process(self) -> str:
        """`PID_STARTTIME` of its owner."""
        return _process(self.name)

    @property
    def group(self) -> str:
        return f"{GROUP_PREFIX}{self.name}"


def find(target: Target) -> list[Leftover]:
    """Return the sessions on this kernel whose process is gone; empty if tracefs can't be read. Raises TargetLost."""
    root = target.facts().tracefs
    if not root:
        return []
    tracefs = Tracefs(target, root)
    try:
        events = _events_by_name(tracefs)
    except FileRefused:
        return []
    prefix = INSTANCE_PREFIX
    names = {name.removeprefix(prefix) for name in tracefs.instances() if name.startswith(prefix)}
    leftovers: list[Leftover] = []
    for name in sorted(names | events.keys()):
        owner = parse_owner(name)
        if owner is None or owner.process == target.owner or is_alive(target, owner):
            continue
        instance = tracefs.instance(prefix + name) if name in names else None
        leftovers.append(Leftover(name, instance.path if instance else "", tuple(events.get(name, ()))))
    return _with_journals(target, leftovers, root)


def remove(
    target: Target, leftover: Leftover, tell: Callable[[SettingChanged], object] = lambda _: None
) -> Sequence[str]:
    """Remove the effects of a dead session; every step is tried.

    Args:
        target: target with the effects.
        leftover: result of `find`.
        tell: called with each setting that stays because someone else has changed it since.

    Returns:
        Failures, one line each; empty: all effects are removed. A session that turns out to be alive is left as it
            is.

    Raises:
        TargetLost: the connection was lost.
    """
    tracefs = Tracefs(target, target.facts().tracefs)
    try:
        # Even if find() saw no instance: it may have been created meanwhile, by a live session.
        _remove_instance(target, tracefs.instance(INSTANCE_PREFIX + leftover.name), leftover)
    except FileRefused as error:
        if error.errno == errno.EBUSY:
            return (f"{error.path} is in use: the session is alive, or someone reads its files",)
        if error.errno != errno.ENOENT:
            return (str(error),)
        owner = parse_owner(leftover.name)
        if owner is None or is_alive(target, owner):
            return (f"{leftover.group}: the process that made it is alive",)
    failed: list[str] = []
    # Newest first, because an event probe holds the event it is attached to; read again, because rmdir was first.
    for event in reversed(_events_by_name(tracefs).get(leftover.name, [])):
        try:
            target.perform(tracefs.define(f"-:{event}"))
        except FileRefused as error:
            if error.errno != errno.ENOENT:
                failed.append(f"{event}: {_reason(error)}")
    if leftover.journal is not None:
        failed += _undo(target, tracefs, leftover.journal, tell)
    return failed


def _remove_instance(target: Target, instance: Instance, leftover: Leftover) -> None:
    """Remove an instance, and its own triggers that hold it. Raises FileRefused (EBUSY: in use), TargetLost."""
    remove = Step(Effect.RMDIR, instance.path)
    try:
        target.perform(remove)
    except FileRefused as error:
        owner = parse_owner(leftover.name)
        if error.errno != errno.EBUSY or owner is None or not is_dead_everywhere(target, owner):
            raise
        clear_hist_triggers(target, instance)
        target.perform(remove)


def _with_journals(target: Target, leftovers: list[Leftover], root: str) -> list[Leftover]:
    """Add the journals of dead processes, each to the last of its sessions."""
    for journal in read_journals(target, root):
        owner = parse_owner(journal.process)
        if owner is None or owner.process == target.owner or is_alive(target, owner):
            continue
        positions = [at for at, leftover in enumerate(leftovers) if _process(leftover.name) == journal.process]
        if positions:
            leftovers[positions[-1]] = leftovers[positions[-1]]._replace(journal=journal)
        elif journal.steps:
            leftovers.append(Leftover(journal.process, "", (), journal))
        else:  # of an earlier boot, or all undone: no need to ask the user
            with contextlib.suppress(FileRefused):
                target.perform(Step(Effect.UNLINK, journal.path))
    return leftovers


def _undo(
    target: Target, tracefs: Tracefs, journal: StaleJournal, tell: Callable[[SettingChanged], object]
) -> list[str]:
    names = [name.removeprefix(INSTANCE_PREFIX) for name in tracefs.instances()]
    if any(_process(name) == journal.process for name in names):
        return [f"{journal.process}: it has an instance still, so what it set stays"]
    failed = []
    for step in reversed(journal.steps):
        try:
            if (changed := undo_step(target, step)) is not None:
                tell(changed)
        except FileRefused as error:
            failed.append(_reason(error))
    if not failed:
        target.perform(Step(Effect.UNLINK, journal.path))
    return failed


def _process(name: str) -> str:
    owner = parse_owner(name)
    return owner.process if owner else ""


def _events_by_name(tracefs: Tracefs) -> dict[str, list[str]]:
    """Return the events of our groups, by the name of their session, oldest first."""
    events: dict[str, list[str]] = {}
    for event in tracefs.dynamic_events():
        # The kernel has one group for all synthetic events: the names of ours begin with the session's and two
        # underscores.
        group = event.event.partition("__")[0] if event.group == SYNTHETIC else event.group
        name = group.removeprefix(GROUP_PREFIX)
        # Several probes may share one event; it is removed once.
        if name != group and parse_owner(name) and event.path not in events.setdefault(name, []):
            events[name].append(event.path)
    return events


def _reason(error: KernelError) -> str:
    if isinstance(error, FileRefused) and error.errno == errno.EBUSY:
        return "in use by someone else (enabled in another instance, or by perf)"
    return str(error)
