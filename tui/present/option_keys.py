"""Put the keys of the application in place of the options that a message of `probes` or `kernel` names."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from probes import remedies
from probes.verdict import Refusal, Verdict
from tui.present.ways_out import (
    BY_TRACEFS,
    BY_TRACEFS_BEHIND,
    BY_TRACEFS_ELSEWHERE,
    COUNT_HITS,
    COUNT_RECORDED,
    FILTER_SHOWN,
    FILTER_SHOWN_BEHIND,
    FILTER_SHOWN_ELSEWHERE,
)
from widgets.way_out import Way


class KeysForOptions:
    """Keys in place of the options in a message, as they work on one kind of screen."""

    def __init__(self, by_tracefs: Way, filter_shown: Way) -> None:
        self._texts = {
            remedies.BY_TRACEFS: str(by_tracefs),
            remedies.FILTER_SHOWN: str(filter_shown),
            remedies.COUNT_HITS: str(COUNT_HITS),
            remedies.COUNT_RECORDED: str(COUNT_RECORDED),
            remedies.TOO_FAST: "a filter lowers the rate; --max-rate at the start sets the limit",
        }

    def text(self, message: str) -> str:
        """Return a message with keys in place of its options."""
        for option, keys in self._texts.items():
            message = message.replace(option, keys)
        return message

    def refusal(self, error: Refusal) -> Refusal:
        """Return a refusal with keys in place of the options in its hint."""
        return replace(error, hint=self.text(error.hint))

    def verdict(self, verdict: Verdict) -> Verdict:
        """Return a verdict with keys in place of the options in its hint."""
        return verdict if verdict.error is None else replace(verdict, error=self.refusal(verdict.error))


WHERE_BUILT: Final = KeysForOptions(BY_TRACEFS, FILTER_SHOWN_ELSEWHERE)
"""Keys where probes are built, also while a text is typed."""
WHERE_SHOWN: Final = KeysForOptions(BY_TRACEFS_ELSEWHERE, FILTER_SHOWN)
"""Keys where events are shown."""
BEHIND_DIALOG: Final = KeysForOptions(BY_TRACEFS_BEHIND, FILTER_SHOWN_BEHIND)
"""Keys in a dialog over the events."""
