"""The rhythm of a watch: how often the screen is painted, and who is asked for what was lost."""

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from tui.refresh import SHARE, SLOWEST, SOON, TICK, RefreshLoop, pause_after


def test_a_cheap_picture_comes_at_the_usual_pace():
    assert pause_after(0.0) == pause_after(TICK * SHARE / 2) == TICK


@given(st.floats(TICK * SHARE, SLOWEST * SHARE))
def test_a_dear_one_takes_no_more_than_its_share(cost):
    assert abs(cost / pause_after(cost) - SHARE) < 1e-9


def test_however_dear_what_happens_is_soon_seen():
    assert pause_after(10.0) == SLOWEST


def test_an_answer_that_hangs_keeps_no_other_watch_from_being_asked():
    """As over a dead line, with another target open by now."""
    workers, asked, late = [], [], []

    def watching(name):
        counts = lambda: asked.append(name)  # noqa: E731
        return SimpleNamespace(
            error=None, live=True, queue=SimpleNamespace(), names=dict, counts=counts, measure_clock=lambda: None
        )

    app = SimpleNamespace(
        post_message=lambda message: None,
        run_worker=lambda work, **_: workers.append(work),
        set_interval=lambda *_: SimpleNamespace(stop=lambda: None),
    )
    feed = RefreshLoop(app, lambda: None, lambda: late.append(len(workers)))
    feed.follow(watching("dead"))
    feed.count()
    assert late == []
    feed.count()
    assert len(workers) == 1, "nobody is asked twice at once"
    assert late == [1], "the screen goes on"
    feed.follow(watching("fresh"))
    feed.count()
    hanging, answering = workers
    answering()
    assert asked == ["fresh"]
    hanging()
    feed.count()
    assert len(workers) == 3
    workers[2]()
    assert asked == ["fresh", "dead", "fresh"]


def test_of_ticks_that_are_not_enough_few_are_shown_and_the_last_always(monkeypatch):
    now, shown, due, left = [100.0], [], [], [40]

    def tick(_):
        left[0] -= 1
        watching.intake.has_backlog = watching.intake.unsettled = left[0] > 0

    watching = SimpleNamespace(
        intake=SimpleNamespace(has_backlog=False, unsettled=False), queue=SimpleNamespace(), tick=tick, store=None
    )

    def set_timer(wait, work):
        due.append((wait, work))
        return SimpleNamespace()

    app = SimpleNamespace(set_timer=set_timer, call_after_refresh=lambda _: None, screen_stack=["one"])
    monkeypatch.setattr("tui.refresh.time.monotonic", lambda: now[0])
    feed = RefreshLoop(app, lambda: shown.append(left[0]), lambda: None)
    feed.follow(watching)
    feed.schedule_tick()
    while due:
        wait, work = due.pop()
        now[0] += wait
        work()
    assert left == [0] and shown[-1] == 0, "after the last, all of it"
    assert shown[0] == 39, "what came first"
    pauses = (39 * SOON) / SLOWEST
    assert pauses - 1 <= len(shown) - 2 <= pauses, "between, as often as a picture may take"
