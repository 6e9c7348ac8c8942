"""Explain a rejection by the kernel: make a verdict from an errno and error_log."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence

from kernel.errors import FileRefused, ProbeRefused
from kernel.tracefs import Instance, LogEntry
from probes.facts.errors_table import code_of
from probes.rules.messages.hints import hint_for
from probes.verdict import Refusal, Verdict

NO_LOG = "refused"
"""Code of a rejection without an entry in error_log; the message is then the errno's."""

_TOKEN = re.compile(r"[\w$%@*]+|\S+")

_LAST_WORD = re.compile(r"(?<!\w)\w++ *+$")

_HINTS = {
    errno.E2BIG: "too many arguments, or too much data in one event",
    errno.EBUSY: "an event of that name is in use",
    errno.EEXIST: "an event of that name is there already",
    errno.ENOENT: "a symbol or event that it names does not exist",
    errno.ENODEV: "what it attaches to is not there",
    errno.EPERM: "the kernel is locked down, or we are not root",
    errno.EADDRINUSE: "the kernel has an event of programs of this name, with other fields",
    errno.EMFILE: "the kernel has as many events of programs as it takes (kernel.user_events_max)",
    errno.ENOSYS: "it takes system calls, which need python3 on the remote host",
    errno.EACCES: "only root may do this",
    errno.ENOMEM: "the kernel has no memory for it",
}
_ONE_TRACEPOINT = (
    "there is a probe on this tracepoint already: kernels of this age take one; an event probe goes beside it"
)


def logged_form(line: str) -> str:
    """Return a line as error_log shows it: cut at `#`, words joined by one space (trace_probe_log_err)."""
    return " ".join(line.split("#", 1)[0].split())


def rejection_error(
    line: str, error: FileRefused, log: Sequence[LogEntry], shown: str = "", hint: str = ""
) -> ProbeRefused:
    """Return the exception for a rejected line.

    Args:
        line: text that was written.
        error: failure of the write.
        log: error_log of the instance (or root) that records such errors.
        shown: command for the verdict, if not the line itself (a filter's probe).
        hint: reason that is known, for an error that error_log has no entry of; empty: that of the errno.
    """
    command = logged_form(line)
    # The kernel keeps eight entries, others write there too, and not every rejection is logged: only an entry with
    # our own words counts.
    entry = next((entry for entry in reversed(log) if logged_form(entry.command) == command), None)
    if entry is None:
        number = error.errno
        message = f"{os.strerror(number)} ({errno.errorcode.get(number, number)})"
        usual = _ONE_TRACEPOINT if number == errno.EEXIST and command.startswith("t:") else _HINTS.get(number, "")
        return ProbeRefused(Verdict(shown or command, Refusal(NO_LOG, message, hint=hint or usual), by_kernel=True))
    code = code_of(entry.message)
    column = entry.column
    token = "" if column is None else _token(entry.command, column, behind="filter" in entry.location)
    hint, _ = hint_for(code, token)
    return ProbeRefused(Verdict(entry.command, Refusal(code, entry.message, column, token, hint), by_kernel=True))


def _token(command: str, column: int, *, behind: bool) -> str:
    """Return the word under the caret, or the word before it (`behind`), as for most errors of a filter."""
    previous = _LAST_WORD.search(command[:column]) if behind else None
    match = previous or _TOKEN.match(command, column)
    return match[0].strip() if match else ""


def read_log(instance: Instance) -> list[LogEntry]:
    """Return the kernel's log of rejected commands; empty where it has none. Raises TargetLost."""
    try:
        return instance.error_log()
    except FileRefused:
        return []
