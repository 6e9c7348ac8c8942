"""One function_graph tracer at a time, however quickly one is asked for after the other."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import ClassVar

import pytest

import kernel.graph.watch
from kernel.errors import KernelError
from tests.real.processes import until
from tui.app.trace_control import TraceControl
from tui.cli.commands.app import _take_away
from tui.messages import Disarmed, GraphFailed, GraphStarted

LONG = 60.0
"""Seconds that nothing here takes."""


class Tracer:
    """A watch of the tracer that takes as long to begin as the test wants."""

    made: ClassVar[list[Tracer]] = []
    go_on = threading.Event()

    def __init__(self, planner: object, plan: str) -> None:
        self.plan, self.live, self.settled = plan, False, False
        self.queue = SimpleNamespace(settle=self._settle, on_data=lambda: None)
        self.ended = True
        Tracer.made.append(self)

    def begin(self) -> None:
        assert Tracer.go_on.wait(LONG)
        if any(one.live for one in Tracer.made):
            raise AssertionError("two run at once")
        if self.plan == "nosuch":
            raise KernelError("no such function")
        self.live = True

    def _settle(self) -> None:
        self.settled = True

    def close(self) -> list[object]:
        self.live = False
        return []


class Workers:
    """What `TraceControl` needs of an application: messages in their order; and its threads."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []
        self.told: list[object] = []

    def post_message(self, message: object) -> None:
        self.told.append(message)

    def join(self) -> None:
        for thread in list(self.threads):
            thread.join(LONG)
            assert not thread.is_alive()


class NoPlanner:
    """Planner of which nothing is asked."""


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Workers:
    monkeypatch.setattr(kernel.graph.watch, "graph_watch", Tracer)
    monkeypatch.setattr(Tracer, "made", [])
    monkeypatch.setattr(Tracer, "go_on", threading.Event())
    return Workers()


@pytest.fixture
def graphing(app: Workers, monkeypatch: pytest.MonkeyPatch) -> TraceControl:
    made = TraceControl(app, None, None, lambda: None, lambda: None)  # type: ignore[arg-type]
    app.threads = made.threads
    for name in ("follow", "count", "schedule_tick"):
        monkeypatch.setattr(made._refresh_loop, name, lambda *_: None)
    return made


class Traced(str):
    """A plan of the tracer, known by its name."""

    __slots__ = ()
    returns = False


def start(graphing: TraceControl, planner: NoPlanner, plan: str) -> None:
    graphing.start(planner, Traced(plan))  # type: ignore[arg-type]


def running() -> list[str]:
    return [one.plan for one in Tracer.made if one.live]


def test_of_two_quick_starts_the_last_runs_alone(app: Workers, graphing: TraceControl) -> None:
    for plan in ("first", "second", "third"):
        start(graphing, NoPlanner(), plan)
    Tracer.go_on.set()
    app.join()
    assert running() == ["third"]
    told = [message.watch for message in app.told if isinstance(message, GraphStarted)]
    for watching in told:
        graphing.started(watching)
    app.join()
    assert graphing.current_watch is told[-1] and running() == ["third"]
    graphing.stop()
    app.join()
    assert running() == [] and told[-1].settled  # type: ignore[attr-defined]


def test_what_begins_ends_what_ran(app: Workers, graphing: TraceControl) -> None:
    earlier, later = Tracer(None, "earlier"), Tracer(None, "later")
    earlier.live = later.live = True
    graphing.started(earlier)  # type: ignore[arg-type]
    graphing.started(later)  # type: ignore[arg-type]
    app.join()
    assert running() == ["later"]
    assert [type(message) for message in app.told] == [Disarmed]
    graphing.started(later)  # type: ignore[arg-type]
    app.join()
    assert running() == ["later"]


def test_one_that_waits_is_not_begun_on_a_target_that_was_left(app: Workers, graphing: TraceControl) -> None:
    with graphing._changing:  # another worker is at it
        start(graphing, NoPlanner(), "late")
        graphing.leave()
    Tracer.go_on.set()
    app.join()
    assert Tracer.made == [] and app.told == []


def test_one_that_is_beginning_when_its_target_is_left_is_closed(app: Workers, graphing: TraceControl) -> None:
    start(graphing, NoPlanner(), "late")
    assert until(lambda: Tracer.made)
    graphing.leave()
    Tracer.go_on.set()
    app.join()
    assert running() == [] and app.told == []


def test_what_the_screen_never_heard_of_is_there_to_be_closed(app: Workers, graphing: TraceControl) -> None:
    Tracer.go_on.set()
    start(graphing, NoPlanner(), "begun")
    app.join()
    assert graphing.current_watch is None
    last = graphing.last()
    assert last is not None and [str(last.plan)] == running() == ["begun"]


def test_one_that_fails_is_told_and_the_next_one_runs(app: Workers, graphing: TraceControl) -> None:
    Tracer.go_on.set()
    for plan in ("nosuch", "other"):
        start(graphing, NoPlanner(), plan)
        app.join()
    assert [type(message) for message in app.told] == [GraphFailed, GraphStarted]
    assert running() == ["other"]


def test_one_that_is_given_up_is_ended_when_the_kernel_has_begun_it(app: Workers, graphing: TraceControl) -> None:
    start(graphing, NoPlanner(), "slow")
    assert graphing.begins and until(lambda: Tracer.made)
    graphing.give_up()
    assert not graphing.begins and graphing.given_up
    Tracer.go_on.set()
    app.join()
    assert running() == [] and app.told == []
    start(graphing, NoPlanner(), "next")
    assert graphing.begins and not graphing.given_up
    app.join()
    assert running() == ["next"]


def test_an_end_is_under_way_until_the_kernel_has_put_all_back(
    app: Workers, graphing: TraceControl, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracer, go_on = Tracer(None, "slow"), threading.Event()
    tracer.live = True
    graphing.started(tracer)  # type: ignore[arg-type]
    monkeypatch.setattr(tracer.queue, "settle", lambda: go_on.wait(LONG))
    graphing.stop()
    graphing.stop()
    assert graphing.ends and not graphing.runs and len(app.threads) == 1, "it is ended once"
    go_on.set()
    app.join()
    assert not graphing.ends and running() == []


@pytest.mark.parametrize("stopped", [True, False])
def test_quitting_says_that_it_waits_for_the_end_and_leaves_nothing(
    app: Workers,
    graphing: TraceControl,
    stopped: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The kernel may take half a minute; the application's own workers would be waited for without a word."""
    tracer, told = Tracer(None, "slow"), list[str]()
    tracer.live = True
    graphing.started(tracer)  # type: ignore[arg-type]

    def said() -> bool:
        told.append(capsys.readouterr().err)
        return "taking the call graph's tracer away" in "".join(told)

    monkeypatch.setattr(tracer.queue, "settle", lambda: until(said))
    monkeypatch.setattr(tracer, "set_deadline", lambda _: until(said) if not stopped else None, raising=False)
    opening = SimpleNamespace(cancel=threading.Event())
    over = SimpleNamespace(tracing=graphing, current_watch=None, opening=opening, planner=None, hosts=None)
    if stopped:
        graphing.stop()
    assert _take_away(over) == 0  # type: ignore[arg-type]
    assert said() and running() == []
    app.join()
