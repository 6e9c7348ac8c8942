"""Histograms that the kernel keeps of armed probes while nothing of them is recorded.

Where events come too fast to be read, the kernel can count what they hold. The probe is switched to counting
(`Mode.COUNT`), then its events get `hist` triggers (`probes.hist.kept`); each has its undo with the probe.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from events.summary.hist_text import Histogram, parse_hist
from kernel.arming import Mode
from kernel.errors import KernelError, TargetLost, TargetUnusable
from kernel.session import Armed, Session
from probes.hist.kept import Keeping, Kept, is_of, keeping
from probes.plan import Plan, PlannedEvent

if TYPE_CHECKING:
    from kernel.watch import Watch

_CLOCK = re.compile(r"\[([\w-]+)\]")


class Read(NamedTuple):
    """One histogram as it is now."""

    kept: Kept
    histogram: Histogram


class Histograms:
    """Those of some probes of one watch. Every call waits for the kernel: it belongs into a worker."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._keeping: dict[object, Keeping] = {}
        """By `Armed.key`, for a probe may get another filter, or come back on another line."""
        self._numbers: dict[object, int] = {}
        """That tell their synthetic events apart, by the same."""
        self._plans: dict[object, Plan] = {}
        """By which the triggers were written, by the same."""
        self._modes: dict[object, Mode] = {}
        """What the probes did before, by the same."""
        self._wanted: tuple[tuple[tuple[str, str], ...], bool] = ((), False)
        """Fields, and whether to record beside."""
        self._last: tuple[Read, ...] = ()
        self._failed: KernelError | None = None
        """Why they could not go on on another line."""
        self._changing = threading.RLock()

    @property
    def counting(self) -> tuple[Armed, ...]:
        """Probes that only count, by our doing, and are still armed."""
        return self._there(self._keeping)

    def begin(
        self, probes: Sequence[Armed], fields: Sequence[tuple[str, str]] = (), *, recording: bool = False
    ) -> None:
        """Let the kernel count what some probes see, and record it no more; what is counted already starts anew.

        Where the line is cut and comes back they begin anew by themselves.

        Args:
            probes: armed ones.
            fields: paths of events, each with the name of a field: count its values too.
            recording: the probes go on with what they do beside.

        Raises:
            ProbeRefused, FileRefused: this kernel does not take the triggers; the probes do what they did.
            TargetUnusable: it is a recording.
            TargetLost: the line is gone.
        """
        with self._changing:
            session = self._session()
            clock = _CLOCK.search(session.instance.read("trace_clock"))
            self.end()
            self._wanted, self._last, self._failed = (tuple(fields), recording), (), None
            self.watch.on_comeback = self._came_back
            for armed in probes:
                self._modes.setdefault(armed.key, session.mode(armed))
            try:
                for armed in probes:
                    self.watch.switch(armed, self._ours)
                with self._still(session):
                    for armed in probes:
                        number = self._numbers.setdefault(armed.key, len(self._numbers))
                        wanted = keeping(
                            armed.plan, session.group, clock[1] if clock else "global", _of(armed, fields), number
                        )
                        self._keeping[armed.key], self._plans[armed.key] = wanted, armed.plan
                        self._write(session, armed, wanted)
                if recording:
                    self._restore(session)
            except BaseException:
                with contextlib.suppress(KernelError):
                    self.end()
                with contextlib.suppress(KernelError):
                    self._restore(session)
                raise

    def read(self) -> tuple[Read, ...]:
        """All of them; where a probe got another filter they start anew, with that one.

        Where the line is cut they are as they were read last: whoever reads the events hears of it.
        Raises ProbeRefused, FileRefused.
        """
        with self._changing:
            session = self._session()
            if self._failed is not None:
                failed, self._failed = self._failed, None
                raise failed
            with contextlib.suppress(TargetLost):
                self._follow()
                self._last = self._read(session)
            return self._last

    def end(self, record: bool = False) -> None:
        """Keep them no more; `record`: and let the probes do what they did before.

        Raises ProbeRefused, FileRefused, TargetLost.
        """
        with self._changing:
            session = self._session()
            counting, written = self.counting, dict(self._keeping)
            self._keeping.clear()
            for armed in counting:
                for event, text in reversed(list(_triggers(written[armed.key]))):
                    session.remove_trigger(armed, event, text)
            if record:
                self._restore(session)

    @property
    def _ours(self) -> Mode:
        """What the probes do while the triggers are written."""
        return Mode.OFF if self._wanted[1] else Mode.COUNT

    def _there(self, keys: Container[object]) -> tuple[Armed, ...]:
        return tuple(armed for armed in self.watch.armed if armed.key in keys)

    def _restore(self, session: Session) -> None:
        """Let probes do what they did, unless someone switched them since; all are tried. Raises the first error."""
        errors: list[KernelError] = []
        for armed in self._there(self._modes):
            try:
                if session.mode(armed) is self._ours:
                    self.watch.switch(armed, self._modes[armed.key])
                del self._modes[armed.key]
            except KernelError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def _follow(self) -> None:
        """Begin anew where a probe has another plan than the one by which its triggers were written."""
        counting, written, plans = self.counting, dict(self._keeping), dict(self._plans)
        if all(armed.plan is plans[armed.key] for armed in counting):
            return
        fields, recording = self._wanted
        pairs = [pair for armed in counting for pair in zip(plans[armed.key].events, armed.plan.events, strict=True)]
        paths = {old.path: new.path for old, new in pairs}
        try:
            self.begin(counting, [(paths.get(path, path), name) for path, name in fields], recording=recording)
        except TargetLost:
            self._keeping, self._plans = written, plans  # they are still wanted when it comes back
            raise

    def _came_back(self) -> None:
        """The line was cut, and the probes are armed again on another."""
        with self._changing:
            try:
                if self._keeping:
                    self._follow()
                else:
                    self._restore(self._session())
            except TargetLost:
                pass  # once more, when that one is back
            except KernelError as error:
                self._failed = error

    def _read(self, session: Session) -> tuple[Read, ...]:
        found: list[Read] = []
        texts: dict[str, tuple[Histogram, ...]] = {}
        for armed in self.counting:
            for kept in self._keeping[armed.key].kept:
                path = kept.event.path
                if path not in texts:
                    texts[path] = parse_hist(session.instance.read(f"events/{path}/hist"))
                found += [Read(kept, one) for one in texts[path] if is_of(one.trigger, kept.trigger)][:1]
        return tuple(found)

    @contextlib.contextmanager
    def _still(self, session: Session) -> Iterator[None]:
        """See `kernel.stillness`; and a gap stands between what was before and after."""
        with session.stillness.hold():
            self.watch.mark_gap()
            yield

    def _write(self, session: Session, armed: Armed, wanted: Keeping) -> None:
        if wanted.synthetic is not None:
            session.add_event(armed, wanted.synthetic)
        for event, text in _triggers(wanted):
            session.add_trigger(armed, event, text, by_hand=False)

    def _session(self) -> Session:
        session = self.watch.session
        if not isinstance(session, Session):
            raise TargetUnusable("there is no kernel here that could count")
        return session


def _triggers(wanted: Keeping) -> list[tuple[PlannedEvent, str]]:
    return [*((kept.event, kept.trigger) for kept in wanted.kept), *wanted.timing]


def _of(armed: Armed, fields: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Those that the probe's events have and the kernel can count: numbers and texts, no arrays."""
    formats = armed.formats.values()
    there = {(fmt.path, field.name) for fmt in formats for field in fmt.fields if field.count is None}
    return tuple(field for field in fields if field in there)
