"""Reconnect a watch after its connection was lost: arm the same probes again, and mark and count the outage.

The previous agent or shell on the remote host removes its probes by itself, at the latest
`kernel.remote.protocol.agent_client.SILENCE` seconds after the disconnect: it gets no further request, so nothing
depends on whether it can still be reached. If it was killed, the next one removes what it left
(`kernel.cleanup.abandoned_processes`).
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from itertools import chain, repeat
from typing import NamedTuple, TypeVar

from events.store.outage_mark import Outage
from kernel.cleanup.abandoned_processes import UNDOING, take_away_predecessors
from kernel.connection.plan_of_boot import plan_of_boot
from kernel.errors import ConnectionGone, FileRefused, HostUnreachable, KernelError, PasswordNeeded, TargetLost
from kernel.remote.silence import words
from kernel.session.armed import Armed
from kernel.session.probe_steps import Mode
from kernel.session.protocol import AnySession
from kernel.session.rearm import arm_again, armed_state
from kernel.session.session import Session
from kernel.target import Target
from kernel.watch.watch import Watch
from probes.command import short_subject
from probes.plans.instance_groups import has_chosen_name, replace_group, with_group
from probes.plans.plan import Plan
from probes.refusal import CannotLower

T = TypeVar("T")
PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds between attempts; the last one is repeated."""
PATIENCE = 60.0
"""Seconds after which whoever has nobody to ask gives up."""


class Reconnected(NamedTuple):
    """Result of a successful reconnect of a watch."""

    outage: Outage
    rearmed: tuple[tuple[Armed, Armed], ...]
    """Probes armed before, each with the one now in its place."""
    rejected_probes: tuple[str, ...]
    """Probes that could not be armed again, each with the reason."""

    @property
    def text(self) -> str:
        """Duration of the outage, and whether events are missing, in a line for people."""
        return (
            self.outage.text
            if self.outage.missing
            else f"back after {self.outage.duration_text}: nothing was recorded"
        )


class ReconnectAbandoned(KernelError):
    """The attempts to reconnect have ended without success."""


def can_reconnect(watch: Watch) -> bool:
    """Return whether a watch that has ended can be reconnected: its connection was lost, and another one can be
    made.
    """
    return isinstance(watch.error, TargetLost) and can_be_reached_again(watch.info.target)


def begun_anew(
    act: Callable[[], T],
    patience: float,
    tell: Callable[[KernelError], None],
    wait: Callable[[float], object] = time.sleep,
) -> T:
    """Run `act`, and run it again while its connection is lost. Raises what `act` raised last.

    Args:
        act: leaves nothing behind where it raises.
        patience: seconds of retries after the first disconnect; a host that was never reached is not retried.
        tell: takes the first error.
        wait: waits so many seconds; a true answer gives it up.
    """
    until, pauses = 0.0, chain(PAUSES, repeat(PAUSES[-1]))
    while True:
        try:
            return act()
        except (TargetLost, HostUnreachable) as error:
            disconnected = isinstance(error, TargetLost) or error.was_connected
            if patience <= 0 or not (disconnected or until):
                raise
            if not until:
                until = time.monotonic() + patience
                tell(error)
                continue
            pause = next(pauses)
            if time.monotonic() + pause > until or wait(pause):
                raise


def can_drop_silent(watch: Watch) -> bool:
    """Return whether the connection of a watch is silent, and another one can be made in its place."""
    return watch.overdue_seconds is not None and can_be_reached_again(watch.info.target)


def drop_silent(watch: Watch) -> bool:
    """Give up a silent connection, which then counts as lost, so that it is made again; False: it is not silent."""
    silent, link = watch.overdue_seconds, watch.info.target.link
    if silent is None or link is None or not link.can_reconnect:
        return False
    link.lose(f"{words(silent)}, and not waited for any longer")
    return True


def can_be_reached_again(target: Target) -> bool:
    """Return whether a lost connection to a target can be made again."""
    return target.link is not None and target.link.can_reconnect


def effects_note(target: Target) -> str:
    """Return what happens to our effects on a target whose connection is lost, and the remedy; call it before
    closing.
    """
    if target.link is not None and target.link.has_ended:
        return (
            f"the guest has ended, and nothing is left of it; `-t {target.name.partition(' (')[0]}` starts a new one"
        )
    return "the remote host removes its probes by itself; `clean` there checks again"


class ReconnectAttempt:
    """Attempts to reconnect one watch. `run` waits and belongs to a worker; other methods may be called from any
    thread.
    """

    def __init__(
        self,
        watch: Watch,
        *,
        patience: float | None = None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """Take the watch to reconnect.

        Args:
            watch: watch whose connection was lost.
            patience: seconds until the attempts end; None: they end with `give_up` only.
            changed: called from the thread of `run` when `reason` or `next_try` is another.
        """
        self.watch = watch
        self.since = time.monotonic()
        self.tries = 0
        self.reason = str(watch.error or "the connection was lost")
        """Reason of the last failure."""
        self.wants_to_ask = False
        """ssh has a question for a person: try with `asking`."""
        self.next_try = self.since
        """Start of the next attempt, by time.monotonic(); in the past: an attempt is in progress."""
        link = watch.info.target.link
        self._heard = link.last_received if link is not None else self.since
        self._booted = watch.session is not None and watch.info.symbols.boot != watch.session_boot
        self._until = self.since + patience if patience is not None else float("inf")
        self._changed = changed
        self._over = threading.Event()
        self._wake = threading.Event()
        self._tried = threading.Event()
        """Set: no caller waits for an attempt in which ssh may prompt."""
        self._tried.set()
        self._asking = False
        self._asked = threading.Lock()
        self.finished = False
        """`run` is over: no attempt follows."""

    @property
    def silent_seconds(self) -> float:
        """Seconds since the last byte from the remote host."""
        return time.monotonic() - self._heard

    @property
    def note(self) -> str:
        """State of the attempts in a few words."""
        left = self.next_try - time.monotonic()
        return f"disconnected {self.silent_seconds:.0f} s, {'trying' if left <= 0 else f'again in {left:.0f} s'}"

    def try_now(self, *, asking: bool = False) -> None:
        """Start the next attempt now; `asking`: ssh may prompt at the terminal until `wait_for_try` returns."""
        with self._asked:
            if asking and not self.finished:
                self._asking = True
                self._tried.clear()
        self._wake.set()

    def wait_for_try(self) -> None:
        """Wait until the attempt that may ask is over; not where none was asked for, or none comes any more."""
        self._tried.wait()

    def give_up(self) -> None:
        """End the attempts; `run` raises ReconnectAbandoned soon, even while it waits for a silent new connection."""
        self._over.set()
        self._wake.set()
        link = self.watch.info.target.link
        with self._asked:
            if not self.finished and link is not None:
                link.lose("given up")

    def run(self) -> Reconnected:
        """Try until it is back. Raises ReconnectAbandoned."""
        try:
            return self._run()
        finally:
            with self._asked:
                self.finished = True
                self._tried.set()

    def _run(self) -> Reconnected:
        while True:
            if self._over.is_set():
                raise ReconnectAbandoned(f"given up after {time.monotonic() - self.since:.0f} s: {self.reason}")
            pause = PAUSES[min(self.tries, len(PAUSES) - 1)]
            with self._asked:
                asking, self._asking = self._asking, False
            try:
                back = self._try(asking)
                self.wants_to_ask = False
                return back
            except ConnectionGone as error:
                raise ReconnectAbandoned(str(error), error.remedy) from None
            except KernelError as error:
                self.reason, self.wants_to_ask = str(error), isinstance(error, PasswordNeeded)
            finally:
                if asking:  # who asked during another attempt waits for the one that may ask
                    with self._asked:
                        if not self._asking:
                            self._tried.set()
            now = time.monotonic()
            if now + pause > self._until:
                raise ReconnectAbandoned(f"not reached for {now - self.since:.0f} s: {self.reason}")
            self.next_try = now + pause
            self._changed()
            self._wake.wait(pause)
            self._wake.clear()

    def _try(self, asking: bool) -> Reconnected:
        self.tries += 1
        self.next_try = time.monotonic()
        self._changed()
        target = self.watch.info.target
        if target.link is None:
            raise ConnectionGone(f"{target.name} can't be reached again")
        if target.link.reconnect(self._over, asking=asking):
            self._booted = True
            self.watch.begin_boot()
        session = self.watch.session
        named = session is not None and any(has_chosen_name(one.plan, session.group) for one in session.probes.armed)
        with contextlib.suppress(FileRefused):  # looked at again when the watch is closed, and told then
            # Before anything is armed: it may have events under names that are wanted.
            take_away_predecessors(target, UNDOING if named else 0.0)
        return self._rearm()

    def _plan_change(self, group: str) -> Callable[[Plan], Plan]:
        """Return the change that a plan needs in another session."""

        def changed(plan: Plan) -> Plan:
            return plan_of_boot(self.watch.planner, plan, group) if self._booted else plan

        return changed

    def _cut(self, session: Session) -> Outage:
        """Return the outage up to now, by the kernel's clock if it tells time and has not restarted.

        What was heard last was made before: from there on events are missing, and none is missing that came.
        """
        from kernel.watch.clocks.readings import read_clock  # and numpy

        now, heard = time.monotonic_ns(), int(self._heard * 1e9)
        reading = next(iter(read_clock(session, time.monotonic_ns, 1)), None)
        if reading is None or self._booted:
            back = reading.remote_time if reading is not None else None
            return Outage.lasting((now - heard) / 1e9, booted=self._booted, back=back)
        store = self.watch.store
        latest = store.latest if store is not None else 0
        return Outage.between(
            max(latest, reading.remote_time - (reading.request_time - heard), 0), reading.remote_time
        )

    def _rearm(self) -> Reconnected:
        if self.watch.session is None:  # nothing was armed: no event is missing
            return Reconnected(
                Outage.lasting(self.silent_seconds, booted=self._booted)._replace(missing=False), (), ()
            )
        again: list[tuple[Armed, Armed]] = []
        refused: list[str] = []

        def make(old: AnySession) -> tuple[AnySession, Outage]:
            known: list[Outage] = []
            session = self.watch.queue.reopen(lambda session: known.append(self._cut(session)))
            try:
                if self.watch.queue.wanted_kb:
                    session.resize(self.watch.queue.wanted_kb)
                if not known:
                    session.pause.begin()
                for armed in old.probes.armed:
                    change = self._plan_change(session.group)
                    fresh = _defined_again(old, armed, session, refused, change)
                    if fresh is not None:
                        again.append((armed, fresh))
                again[:] = [pair for pair in again if _switched_on(old, *pair, session, refused)]
                # Each took its time; all are recorded from one time on, and the gap ends in front of it.
                session.pause.end(lambda: known.append(self._cut(session)))
            except BaseException:
                session.close()
                raise
            recorded = bool(self.watch.queue.source.traces) or any(
                old.probes.mode(armed) is not Mode.OFF for armed in old.probes.armed
            )
            return session, known[0]._replace(missing=recorded)

        outage = self.watch.exchange(make)
        self.watch.armed.on_comeback()
        with contextlib.suppress(KernelError, OSError):  # the pump, or the recording, reports it
            self.watch.recording.add_symbols()
        return Reconnected(outage, tuple(again), tuple(refused))


def _defined_again(
    old: AnySession, armed: Armed, session: Session, refused: list[str], change: Callable[[Plan], Plan]
) -> Armed | None:
    """Make a probe of one session in another, with what was done to it by hand, and leave it off; None: refused.

    `change` makes the plan for the other one. Raises TargetLost.
    """
    name, groups = short_subject(armed.plan.probe), (old.group, session.group)
    was = armed_state(old, armed)
    was = was._replace(
        mode=Mode.OFF, triggers=tuple((number, replace_group(text, *groups)) for number, text in was.triggers)
    )
    try:
        again = arm_again(session, change(with_group(armed.plan, *groups)), was)
    except TargetLost:
        raise
    except (KernelError, CannotLower) as error:
        refused.append(f"{name}: {error}")
        return None
    refused += [f"{name}: {text}: {error}" for text, error in again.rejected_triggers]
    return again.armed


def _switched_on(old: AnySession, armed: Armed, fresh: Armed, session: Session, refused: list[str]) -> bool:
    """Set the mode that a probe had in another session; disarm it if the kernel rejects that. Raises TargetLost."""
    try:
        session.probes.switch(fresh, old.probes.mode(armed))
    except TargetLost:
        raise
    except KernelError as error:
        refused.append(f"{short_subject(armed.plan.probe)}: {error}")
        session.probes.disarm(fresh)
        return False
    return True
