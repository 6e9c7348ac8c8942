"""Describe whether armed probes record, only count in the kernel, or are off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from foreign.count_text import counted
from kernel.session.probe_steps import Mode
from kernel.watch.counting_states import Phase

if TYPE_CHECKING:
    from kernel.watch.watch import Watch

_WORDS: Final = {
    Phase.BEGINNING: "counting in the kernel begins",
    Phase.COUNTING: "counting in the kernel",
    Phase.ENDING: "counting in the kernel ends",
    Phase.DISCONNECTED: "counting in the kernel: disconnected",
}
_COUNT_ONLY: Final = "count only"
_OFF: Final = "off"


class Activity(NamedTuple):
    """Words about the modes of armed probes."""

    mark: str = ""
    """Words in place of "following" if no probe records; empty: one records, or none is armed."""
    note: str = ""
    """Note where only some of several probes record."""


def activity_of(watch: Watch) -> Activity:
    """Return the words for a watch. Never waits."""
    return activity(watch.counting, watch.armed.modes)


def mark_of(watch: Watch) -> str:
    """Return words in place of "following" if no rows can arrive now; empty: they may. Never waits."""
    if watch.error is not None:
        return "disconnected"
    return "" if watch.ended else activity_of(watch).mark


def activity(phase: Phase, modes: Sequence[Mode]) -> Activity:
    """Return the words for probes of these modes, and a phase of counting."""
    silent = [mode for mode in modes if mode is not Mode.RECORD]
    if not silent:
        return Activity(note=_WORDS.get(phase, ""))
    word = _WORDS.get(phase, _COUNT_ONLY if Mode.COUNT in silent else _OFF)
    if len(silent) == len(modes):
        return Activity(word)
    return Activity(note=f"{len(silent)} of {counted(len(modes), 'probe')}: {word}")


def after_counting(modes: Sequence[Mode]) -> str:
    """Return what counted probes do when counting in the kernel ends, of the modes that they have then."""
    recorded = sum(mode is Mode.RECORD for mode in modes)
    if recorded == len(modes):
        return "record again"
    if recorded:
        return f"record {recorded} of {counted(len(modes), 'probe')} again"
    return f"{_COUNT_ONLY if Mode.COUNT in modes else _OFF} again"
