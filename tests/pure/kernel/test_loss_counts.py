"""What did not reach us stays counted when probes go and come."""

from __future__ import annotations

from types import SimpleNamespace

from kernel.guards.loss_counts import LossCounter
from kernel.tracefs import Profile
from probes.plans.plan import PlannedEvent

EVENTS = (
    PlannedEvent("pw_1", "a", "p:pw_1/a vfs_read", "-:pw_1/a"),
    PlannedEvent("pw_1", "b", "f:pw_1/b vfs_read", "-:pw_1/b"),
)
PUMP = SimpleNamespace(dropped_events=0, dropped_bytes=0, read_errors=0)


class Kernel:
    """Has misses of kprobes that are there."""

    def __init__(self) -> None:
        self.misses: dict[str, int] = {}

    def kprobe_profile(self) -> dict[str, Profile]:
        return {path: Profile(9, missed) for path, missed in self.misses.items()}

    def stats(self) -> dict[int, object]:
        return {}


def test_misses_of_a_probe_that_is_armed_again_add_up() -> None:
    kernel = Kernel()
    losses = LossCounter(kernel, kernel)  # type: ignore[arg-type]
    for missed, total in ((5, 5), (7, 12), (0, 12)):
        kernel.misses = {"pw_1/a": missed}
        assert losses.counts(EVENTS, PUMP).nmissed == {"pw_1/a": total, "pw_1/b": None}  # type: ignore[arg-type]
        before = losses.read_nmissed(EVENTS)
        kernel.misses = {}
        losses.remember(EVENTS, before)
        assert losses.counts((), PUMP).nmissed == {"pw_1/a": total, "pw_1/b": None}  # type: ignore[arg-type]


def test_misses_of_an_event_that_others_have_too_are_counted_once() -> None:
    kernel = Kernel()
    losses = LossCounter(kernel, kernel)  # type: ignore[arg-type]
    kernel.misses = {"pw_1/a": 8}
    before = losses.read_nmissed(EVENTS)
    kernel.misses = {"pw_1/a": 3}  # of the probe that stays
    losses.remember(EVENTS, before)
    assert losses.counts(EVENTS, PUMP).nmissed["pw_1/a"] == 8  # type: ignore[arg-type]
