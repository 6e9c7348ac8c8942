"""The top line and the live line give way where there is little room, but never with a loss."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.loss_counts import LossTotals
from widgets.events.status_bar import live_line, live_part, top_line
from widgets.events.values import LiveState, Status
from widgets.number_format import rate, short
from widgets.safe_text import cut_parts, width

STATUS = Status("lab", "Linux 7.2.13 x86-64", 43859, 1)
LIVE = LiveState(per_second=12_300, row_count=1_204_332)
LOSSES = LossTotals(9199, 2, 3)


@pytest.mark.parametrize("columns", [120, 100, 78, 60, 40, 20])
@pytest.mark.parametrize("losses", [LossTotals(), LOSSES, LossTotals(missed=7)])
def test_every_form_fits_and_shows_what_was_lost(columns, losses):
    for line in (
        top_line(replace(STATUS, losses=losses), columns).plain,
        live_line(replace(LIVE, losses=losses), columns).plain,
    ):
        if columns >= 45:
            assert len(line) == columns
        for name in ("lost", "missed", "dropped", "unread"):
            if getattr(losses, name):
                assert f"! {name} {getattr(losses, name):,}" in line


def test_what_stays_at_80_columns():
    assert " ".join(top_line(STATUS, 78).plain.split()) == (
        "lab · Linux 7.2.13 x86-64 armed 1 lost 0 missed 0 dropped 0 unread 0"
    )
    assert " ".join(top_line(replace(STATUS, armed=0), 78).plain.split()) == (
        "probewright lab · Linux 7.2.13 x86-64 · 43,859 functions armed 0 lost 0"
    )
    assert " ".join(live_line(replace(LIVE, losses=LossTotals()), 78).plain.split()) == (
        "● following 12.3k/s shown 1,204,332 lost 0 missed 0 dropped 0 unread 0"
    )
    assert "‖ paused" in live_line(replace(LIVE, following=False), 30).plain


def test_there_is_no_rate_where_nothing_is_recorded():
    line = live_line(replace(LIVE, per_second=0.0, no_events_text="counting in the kernel"), 118).plain
    assert "■ counting in the kernel  shown 1,204,332" in line and "/s" not in line


def test_the_note_wins_over_figures():
    note = "448 pairs, 4: its entry was not seen"
    state = replace(LIVE, note=note, views=("events", "entry→exit"), view=1)
    whole = " events  [entry→exit] ● following  12.3k/s  shown 1,204,332  " + note
    assert live_line(state, 118).plain.rstrip().startswith(whole)
    assert "lost" not in live_line(state, 118).plain, "the top line tells of that"
    assert live_line(replace(state, losses=LossTotals()), 118).plain.endswith("  lost 0")
    assert note in live_line(state, 98).plain
    assert f"{note} " in live_line(replace(state, losses=LOSSES), 118).plain
    paused = live_line(replace(state, following=False, new=1234), 118).plain
    assert "‖ paused +1,234 new (end)" in paused and note in paused


def test_a_long_note_is_cut_rather_than_left_out():
    note = "by count, the largest first, of the newest 100,000; new rows are left out"
    state = replace(LIVE, note=note, views=("events", "calls"))
    assert "[events] calls  ● following  by count, the largest first" in live_line(state, 78).plain
    assert "…" in live_line(state, 78).plain
    assert "by count" not in live_line(state, 24).plain


VIEWS = ("events", "graph", "entry→exit", "summary")


@pytest.mark.parametrize(
    "note",
    [
        "nothing is armed any more",
        "recording to probewright-20261122-093815.pwr, which 1,204 events were too fast for",
        "1,914 calls, 12 open, 3 without entry, 4 cut by losses, from 10.0 us on, slow: 2.30 ms",
    ],
)
@pytest.mark.parametrize("columns", [118, 78])
@pytest.mark.parametrize("new", [0, 1_234, 12_345_678])
@pytest.mark.parametrize("view", range(4))
def test_the_other_views_stay_in_sight_however_long_the_note_is(note, columns, new, view):
    state = replace(LIVE, note=note, views=VIEWS, view=view, following=not new, new=new)
    line = live_line(state, columns).plain
    assert len(line) == columns
    assert all(f"[{name}]" in line if n == view else f" {name} " in line for n, name in enumerate(VIEWS))
    assert note[:8] in line and (note in line or line.rstrip().endswith("…"))


@pytest.mark.parametrize(
    ("views", "note", "shown"),
    [
        (VIEWS, "F2 builds a probe, F4 opens a kernel", "F2 builds a probe, F4 opens a kernel"),
        ((*VIEWS, "time line"), "F2 builds a probe, F4 opens a kernel", "F2 builds a probe …"),
        ((*VIEWS, "failures"), "14 of 105 calls failed, 7 first failures", "14 of 105 calls failed …"),
        ((*VIEWS, "by key"), "261 without func or comm, each call once", "261 without func or comm …"),
    ],
)
def test_whole_parts_of_a_recordings_note_are_read_at_80_columns(views, note, shown):
    state = LiveState(is_recording=True, row_count=1_037, views=views, view=len(views) - 1, note=note)
    line = live_line(state, 78).plain
    assert line.rstrip().endswith(f"■  {shown}") and f"[{views[-1]}]" in line
    assert "■ recorded" in live_line(state, 118).plain
    places = {live_part(state, 78, line.index(name) + 1) for name in views}
    assert places == {*range(len(views))}, "each name is clicked where it is"


def test_what_is_left_out_is_told_with_what_is_shown():
    state = replace(LIVE, row_count=0, total=176)
    assert "shown 0 of 176" in live_line(state, 78).plain
    assert "shown" not in live_line(replace(LIVE, row_count=None), 78).plain


def test_a_tracer_that_is_on_is_told():
    assert "tracing  armed 0" in top_line(replace(STATUS, armed=0, tracing=True), 78).plain


def test_hostile_target_names():
    line = top_line(replace(STATUS, target="[/]\x1b[31m" * 20), 78).plain
    assert "\x1b" not in line
    assert len(line) == 78


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (0.01, "<0.1"), (0.42, "0.4"), (999, "999"), (999.9, "1.0k"), (1234, "1.2k"), (43_859, "43.9k")],
)
def test_short_figures(number, text):
    assert short(number) == text
    assert rate(number) == f"{text}/s"


def test_the_view_has_its_name_unless_without_it_more_of_an_urgent_note_is_read() -> None:
    views = ("events", "graph", "calls", "summary", "references")
    state = LiveState(views=views, view=4, is_recording=True, urgent=True)
    for ways, named, whole in ((3, True, True), (4, False, True), (12, True, False)):
        note = f"no references: {' or '.join(['a way out'] * ways)}"
        line = live_line(replace(state, note=note), 78).plain
        assert ("[references]" in line, note in line) == (named, whole)
        assert "no references" in line


def test_an_urgent_note_is_read_whole_before_other_views_are() -> None:
    """The way out of a lost connection stands at its end."""
    note = "disconnected: trying again in 4 s; F7 now, F8 give up"
    state = LiveState(views=("events", "graph", "entry→exit", "summary"), per_second=None, row_count=1, note=note)
    assert "F8" not in live_line(state, 78).plain
    urgent = live_line(replace(state, urgent=True), 78).plain
    assert "[events]" in urgent and note in urgent
    assert "F8 give up" in live_line(replace(state, urgent=True), 118).plain


def test_missed_calls_that_are_not_counted_are_not_told_as_none():
    losses = LossTotals(missed_counted=False)
    assert top_line(replace(STATUS, losses=losses), 78).plain.endswith("lost 0  missed ?  dropped 0  unread 0")
    assert losses.text == "lost 0, missed ?, dropped 0, unread 0"
    assert (losses + LossTotals(missed=12)).text == "lost 0, missed ≥ 12, dropped 0, unread 0"
    assert (LossTotals() + LossTotals(missed=12)).text == "lost 0, missed 12, dropped 0, unread 0"


def test_parts_of_a_note_that_do_not_fit_are_left_out_whole():
    note = "1,253 pairs, 472 alone: 454 what came between may be missing, 18 its entry was not seen"
    assert cut_parts(note, 100) == note
    assert cut_parts(note, 80) == "1,253 pairs, 472 alone: 454 what came between may be missing …"
    assert cut_parts(note, 40) == "1,253 pairs, 472 alone …"
    assert cut_parts(note, 20) == "1,253 pairs …"
    assert cut_parts(note, 10) == "1,253 …"
    assert cut_parts(note, 5) == "1,25…"
    assert cut_parts("840 events, k: count in the kernel", 20) == "840 events …", "a key is no part"
    lacking = "1,204 without func or comm or errno, 23 ends alone"
    shortened = {cut_parts(lacking, columns) for columns in range(12, 60)}
    assert all(text == lacking or re.search(r"\w …$", text) for text in shortened), shortened
    assert "1,204 without func or comm or errno …" in shortened


@given(st.text("ab1 ,;:é字", max_size=40), st.integers(0, 50))
def test_a_note_in_parts_is_never_wider_than_its_room(text, columns):
    found = cut_parts(text, columns)
    assert width(found) <= columns and (found == text or not columns or found.endswith("…"))
