"""Histograms that the kernel keeps of armed probes while nothing of them is recorded.

Where events come too fast to be read, the kernel can count what they hold. The probe is switched to counting
(`Mode.COUNT`), then its events get `hist` triggers (`probes.hist.kept`); each has its undo with the probe.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from events.summary.hist_text import Histogram, parse_hist
from kernel.arming import Mode
from kernel.errors import KernelError, TargetUnusable
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
        """By `Armed.key`, for a probe may get another filter."""
        self._numbers: dict[object, int] = {}
        """Of those that have their synthetic event, by the same."""
        self._plans: dict[object, Plan] = {}
        """By which the triggers were written, by the same."""
        self._wanted: tuple[tuple[tuple[str, str], ...], bool] = ((), False)
        """Fields, and whether to record beside."""

    @property
    def counting(self) -> tuple[Armed, ...]:
        """Probes that only count, by our doing, and are still armed."""
        there = {armed.key: armed for armed in self.watch.armed}
        return tuple(there[key] for key in self._keeping if key in there)

    def begin(
        self, probes: Sequence[Armed], fields: Sequence[tuple[str, str]] = (), *, recording: bool = False
    ) -> None:
        """Let the kernel count what some probes see, and record it no more; what is counted already starts anew.

        Args:
            probes: armed ones.
            fields: paths of events, each with the name of a field: count its values too.
            recording: go on recording beside.

        Raises:
            ProbeRefused, FileRefused: this kernel does not take the triggers; the probes record as before.
            TargetUnusable: it is a recording.
            TargetLost: the line is gone.
        """
        session = self._session()
        clock = _CLOCK.search(session.instance.read("trace_clock"))
        self.end()
        self._wanted = tuple(fields), recording
        try:
            for armed in probes:
                self.watch.switch(armed, Mode.OFF if recording else Mode.COUNT)
            with self._still(session):
                for armed in probes:
                    number = self._numbers.get(armed.key, len(self._numbers))
                    wanted = keeping(
                        armed.plan, session.group, clock[1] if clock else "global", _of(armed, fields), number
                    )
                    self._keeping[armed.key], self._plans[armed.key] = wanted, armed.plan
                    self._write(session, armed, wanted)
            for armed in probes if recording else ():
                self.watch.switch(armed, Mode.RECORD)
        except BaseException:
            with contextlib.suppress(KernelError):
                self.end()
            for armed in probes:
                with contextlib.suppress(KernelError):
                    self.watch.switch(armed, Mode.RECORD)
            raise

    def read(self) -> tuple[Read, ...]:
        """All of them; where a probe got another filter they start anew, with that one.

        Raises ProbeRefused, FileRefused, TargetLost.
        """
        session = self._session()
        if any(armed.plan is not self._plans[armed.key] for armed in self.counting):
            fields, recording = self._wanted
            self.begin(self.counting, fields, recording=recording)
        found: list[Read] = []
        texts: dict[str, tuple[Histogram, ...]] = {}
        for armed in self.counting:
            for kept in self._keeping[armed.key].kept:
                path = kept.event.path
                if path not in texts:
                    texts[path] = parse_hist(session.instance.read(f"events/{path}/hist"))
                found += [Read(kept, one) for one in texts[path] if is_of(one.trigger, kept.trigger)][:1]
        return tuple(found)

    def end(self, record: bool = False) -> None:
        """Keep them no more; `record`: and let the probes record again.

        Raises ProbeRefused, FileRefused, TargetLost.
        """
        session = self._session()
        counting = self.counting
        for armed in counting:
            for event, text in reversed(list(_triggers(self._keeping[armed.key]))):
                session.remove_trigger(armed, event, text)
        self._keeping.clear()
        if record:
            for armed in counting:
                self.watch.switch(armed, Mode.RECORD)

    @contextlib.contextmanager
    def _still(self, session: Session) -> Iterator[None]:
        """See `kernel.stillness`; and a gap stands between what was before and after."""
        with session.stillness.hold():
            self.watch.mark_gap()
            yield

    def _write(self, session: Session, armed: Armed, wanted: Keeping) -> None:
        if wanted.synthetic is not None and armed.key not in self._numbers:
            session.add_event(armed, wanted.synthetic)
            self._numbers[armed.key] = len(self._numbers)
        for event, text in _triggers(wanted):
            session.add_trigger(armed, event, text)

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
