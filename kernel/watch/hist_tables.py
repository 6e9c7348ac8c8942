"""Read the histograms of hist triggers that the user added to armed probes: `T`, `--trigger`, or a preset.

The kernel sorts them as their trigger says (hist_trigger_show in kernel/trace/trace_events_hist.c). Histograms that a
session uses internally are in the same files and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from events.summary.hist_text import Histogram, may_be_forged, parse_hist, sections
from kernel.errors import FileRefused, KernelError
from kernel.session.armed import text_fields
from kernel.session.session import Session
from kernel.watch.armed_set import ArmedSet
from probes.hist.kept import is_session_trigger
from probes.plans.plan import PlannedEvent


class HistTable(NamedTuple):
    """Histogram of one event."""

    event: str
    """Path of the event."""
    histogram: Histogram
    ignored: str = ""
    """Filter of the event that does not apply to the histogram, as a trigger applies its own filter only. Empty:
    none.
    """


def events_with_tables(armed_set: ArmedSet) -> tuple[PlannedEvent, ...]:
    """Return the events of armed probes that have such a trigger, each once. Never waits.

    Triggers of events that are not recorded measure a `lat:`, and are left out.
    """
    session = armed_set.session
    if not isinstance(session, Session):
        return ()
    current = {
        event.path: event for armed in session.probes.armed for event in armed.plan.events
    }  # with the present filters
    events = {
        event.path: current.get(event.path, event)
        for armed in session.probes.armed
        for event, text in session.probes.triggers(armed)
        if event.recorded and text.strip().startswith("hist") and not is_session_trigger(text)
    }
    return tuple(events.values())


def read_tables(armed_set: ArmedSet) -> Iterator[HistTable]:
    """Read the tables, event by event; waits for the kernel. Raises FileRefused, TargetLost, and as `histograms_of`
    does.
    """
    session = armed_set.session
    if not isinstance(session, Session):
        return
    for event in events_with_tables(armed_set):
        try:
            text = session.instance.read(f"events/{event.path}/hist")
        except FileRefused:
            if event not in events_with_tables(armed_set):
                continue  # its probe was disarmed meanwhile
            raise
        for histogram in histograms_of(session, event.path, text):
            if not is_session_trigger(histogram.trigger):
                yield HistTable(event.path, histogram, "" if " if " in histogram.trigger else event.filter)


def histograms_of(session: Session, path: str, text: str) -> tuple[Histogram, ...]:
    """Parse the `hist` file of an event. Raises FileRefused, TargetLost, and KernelError for a forged key.

    The text of a key that a process chose may look like a whole histogram; then there are more of them than triggers.

    Args:
        session: session that has the event armed.
        path: path of the event.
        text: content of the file.
    """
    texts = text_fields(session.probes.armed, path)
    if may_be_forged(text, texts):
        triggers = session.instance.read(f"events/{path}/trigger").splitlines()
        if len(sections(text)) > sum(line.startswith("hist:") for line in triggers):
            raise KernelError(f"{path}: a key that a process chose looks like a histogram, so that none is sure")
    return parse_hist(text, texts)
