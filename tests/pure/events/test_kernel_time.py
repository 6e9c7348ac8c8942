"""Times are written in one way everywhere: as the kernel rounds them."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from events.export.formats.text import context
from events.kernel_time import seconds
from events.record import Record
from events.store.outage_mark import Outage
from tui.cli.commands.run import _line
from tui.present.event_times import ClockFace, stamp_of, wall_clock
from tui.views.events.clauses import time_of
from widgets.events.times import kernel_stamp

STAMPS = st.integers(0, (1 << 63) - 501) | st.integers(0, 10**7)


@given(STAMPS)
def test_the_kernel_rounds_to_microseconds(ns: int) -> None:
    """Half of one upwards; also where a number with a point has not enough digits."""
    assert Decimal(seconds(ns)) == (Decimal(ns) / 10**9).quantize(Decimal("0.000001"), ROUND_HALF_UP)


@given(STAMPS)
def test_one_time_stands_in_every_place(ns: int) -> None:
    text = seconds(ns)
    record = Record(0, ns, 0, 5, "cat", "g/a", None)
    watching = SimpleNamespace(event_fields=SimpleNamespace(values=lambda *_, **__: [], line=lambda *_: ""))
    assert kernel_stamp(ns, 0) == stamp_of(lambda: None, ClockFace.LOCAL)(ns, 0) == text
    assert _line(watching, record, ()).split()[0] == text  # type: ignore[arg-type]
    assert context(record).split()[-1] == f"{text}:"
    assert f"from {text} to" in Outage(1.0, False, ns, ns + 1).text


@given(st.integers(0, 10**15))
def test_a_time_that_is_typed_as_it_is_shown_is_not_behind_its_row(ns: int) -> None:
    typed = time_of(seconds(ns), 0)
    assert typed is not None and typed <= ns < typed + 1000


def test_a_time_of_day_is_rounded_also_at_the_end_of_a_second() -> None:
    assert wall_clock(999_999_500, utc=True) == "00:00:01.000000"
    assert wall_clock(999_999_499, utc=True) == "00:00:00.999999"
