"""What sessions that died have left in a kernel: found by name, proved dead by the kernel itself, removed.

A session is dead when its instance can be removed: a living one holds a file of it open, and rmdir gives EBUSY.
So the instance goes first, which also disables its events, then the events of its group. Other people's events are
never touched. A dead one may be kept by its own hist triggers (`kernel.cleanup.hist_references`), which are taken
away where no process of any PID name space can be its owner. Where there is a group and no instance, the owner's
process has to be gone. A synthetic event is a session's own where its name begins with that of the session's group
and two underscores. What bears no name of ours, an event that a person named or a setting of the whole kernel, stands
in the journal of the process (`kernel.agent.journal`), which goes when none of its instances is left; what someone
has changed since is left alone.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kernel.cleanup.hist_references import clear_hist_triggers
from kernel.cleanup.owner import GROUP_PREFIX, INSTANCE_PREFIX, is_alive, is_dead_everywhere, parse_owner
from kernel.cleanup.stale_journals import StaleJournal, old_journals
from kernel.cleanup.undo import take_back
from kernel.errors import FileRefused, KernelError, SettingChanged
from kernel.target import Effect, Step, Target
from kernel.tracefs import Instance, Tracefs
from probes.rules.deletion import SYNTHETIC


class Leftover(NamedTuple):
    """What one dead session left."""

    name: str
    """`PID_STARTTIME`, `_N` behind it for further sessions of one process."""
    instance: str
    """Path of its trace instance; empty: gone already."""
    events: tuple[str, ...]
    """`group/event`, oldest first; empty: none."""
    journal: StaleJournal | None = None
    """What its process has changed elsewhere; with the last session of a process."""

    @property
    def settings(self) -> int:
        """Number of changes elsewhere that are to be taken back."""
        return len(self.journal.steps) if self.journal else 0

    @property
    def process(self) -> str:
        """`PID_STARTTIME` of its owner."""
        return _process(self.name)

    @property
    def group(self) -> str:
        return f"{GROUP_PREFIX}{self.name}"


def find(target: Target) -> list[Leftover]:
    """Sessions on this kernel whose process is gone; none where there is no tracefs to look at. Raises TargetLost."""
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
    found: list[Leftover] = []
    for name in sorted(names | events.keys()):
        owner = parse_owner(name)
        if owner is None or owner.process == target.owner or is_alive(target, owner):
            continue
        instance = tracefs.instance(prefix + name) if name in names else None
        found.append(Leftover(name, instance.path if instance else "", tuple(events.get(name, ()))))
    return _with_journals(target, found, root)


def remove(
    target: Target, leftover: Leftover, tell: Callable[[SettingChanged], object] = lambda _: None
) -> Sequence[str]:
    """Take it away, each step tried.

    Args:
        target: where it is.
        leftover: as `find` gave it.
        tell: told what is left alone because someone else has changed it since.

    Returns:
        What failed, one line each; empty: nothing of it is left. A session that turns out to be alive is left alone.

    Raises:
        TargetLost: the line went away.
    """
    tracefs = Tracefs(target, target.facts().tracefs)
    try:
        # Also where find() saw none: it may have been made meanwhile, and then it is alive.
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
    # Newest first, because an event probe keeps the event it is attached to; asked again, because rmdir was first.
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
    """Remove it, with what its own triggers keep of it. Raises FileRefused (EBUSY: someone uses it), TargetLost."""
    remove = Step(Effect.RMDIR, instance.path)
    try:
        target.perform(remove)
    except FileRefused as error:
        owner = parse_owner(leftover.name)
        if error.errno != errno.EBUSY or owner is None or not is_dead_everywhere(target, owner):
            raise
        clear_hist_triggers(target, instance)
        target.perform(remove)


def _with_journals(target: Target, found: list[Leftover], root: str) -> list[Leftover]:
    """Add what dead processes wrote down: it goes after the last of their sessions."""
    for journal in old_journals(target, root):
        owner = parse_owner(journal.process)
        if owner is None or owner.process == target.owner or is_alive(target, owner):
            continue
        mine = [at for at, leftover in enumerate(found) if _process(leftover.name) == journal.process]
        if mine:
            found[mine[-1]] = found[mine[-1]]._replace(journal=journal)
        elif journal.steps:
            found.append(Leftover(journal.process, "", (), journal))
        else:  # of an earlier boot, or all of it was taken back: there is nothing to ask anybody
            with contextlib.suppress(FileRefused):
                target.perform(Step(Effect.UNLINK, journal.path))
    return found


def _undo(
    target: Target, tracefs: Tracefs, journal: StaleJournal, tell: Callable[[SettingChanged], object]
) -> list[str]:
    names = [name.removeprefix(INSTANCE_PREFIX) for name in tracefs.instances()]
    if any(_process(name) == journal.process for name in names):
        return [f"{journal.process}: it has an instance still, so what it set stays"]
    failed = []
    for step in reversed(journal.steps):
        try:
            if (left := take_back(target, step)) is not None:
                tell(left)
        except FileRefused as error:
            failed.append(_reason(error))
    if not failed:
        target.perform(Step(Effect.UNLINK, journal.path))
    return failed


def _process(name: str) -> str:
    owner = parse_owner(name)
    return owner.process if owner else ""


def _events_by_name(tracefs: Tracefs) -> dict[str, list[str]]:
    """Events of our groups, by the name of their session, oldest first."""
    found: dict[str, list[str]] = {}
    for event in tracefs.dynamic_events():
        # The kernel has one group for synthetic events: those of ours carry the name before two underscores.
        group = event.event.partition("__")[0] if event.group == SYNTHETIC else event.group
        name = group.removeprefix(GROUP_PREFIX)
        # Several probes may share one event; it is removed once.
        if name != group and parse_owner(name) and event.path not in found.setdefault(name, []):
            found[name].append(event.path)
    return found


def _reason(error: KernelError) -> str:
    if isinstance(error, FileRefused) and error.errno == errno.EBUSY:
        return "in use by someone else (enabled in another instance, or by perf)"
    return str(error)
