"""Generate `docs/errors.md`: the messages of kernels for rejected commands, with the remedies that the application
shows.
"""

from __future__ import annotations

from probes.facts.errors_table import (
    FILTER_MESSAGES,
    HIST_MESSAGES,
    MESSAGES,
    NO_MATCH,
    NO_MATCH_MESSAGE,
    SYNTH_MESSAGES,
)
from probes.rules.messages.error_remedies import WAYS_OUT
from tui.docs.text import MADE, cell, code, table

_TABLES = (
    ("Probes", "Errors of lines for `dynamic_events`, `kprobe_events` and `uprobe_events`.", MESSAGES),
    ("Filters", "Errors of an event's `filter`, and of `if` behind a trigger.", FILTER_MESSAGES),
    ("Synthetic events", "Errors of `s:NAME …`.", SYNTH_MESSAGES),
    ("Histograms", "Errors of `hist:` triggers.", HIST_MESSAGES),
    ("No kind of event", "The error of a line that no kind of event accepts.", {NO_MATCH: NO_MATCH_MESSAGE}),
)


def errors() -> str:
    """Return the page."""
    parts = [
        MADE.format(source="`probes/facts/errors_table.py` and `probes/rules/messages/error_remedies.py`"),
        "# The kernel's errors\n\n"
        "The symbolic name is the kernel's own (`kernel/trace/trace_probe.h` and others); the message is that\n"
        "of `error_log`. `probewright check` shows both, the place in the line, and similar names.\n",
    ]
    for title, intro, messages in _TABLES:
        rows = ((code(name), cell(text), cell(WAYS_OUT[name])) for name, text in messages.items())
        parts.append(f"\n## {title}\n\n{intro}\n\n{table(('error', 'the kernel says', 'way out'), rows)}")
    return "".join(parts)
