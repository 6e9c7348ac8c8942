"""Before a probe that is too fast, while one is, and what was lost: on the screen, and a kernel made of a dict."""

from __future__ import annotations

import threading
import time

import pytest

import kernel.connection.open_target
from events.loss_counts import LossCounts, LossTotals
from kernel.connection.open_target import TargetChoice, choose, shipped_recording
from kernel.session.probe_steps import Mode
from kernel.target import Step
from probes.command import parse_armable
from tests.fake_target import ROOT, FakeTarget
from tests.interface.test_app import SIZE, application, open_compose, pick
from tests.interface.test_widgets_dialogs import Asking
from tests.interface.widget_host import Host, screen_text, until
from tui.app import arming_patience
from tui.app.app import Probewright
from tui.app.typed_ahead import PAUSE
from tui.live.losses import LossScreen
from tui.live.triggers import TriggerScreen
from tui.messages import ProbeTooFast
from widgets.dialogs.choose import Answer, ChoiceDialog
from widgets.dialogs.progress import ProgressDialog
from widgets.dialogs.trigger_dialog import TriggerDialog, TriggerRow, TriggerVerdict
from widgets.events.loss_panel import LossPanel
from widgets.events.values import LossSheet, ProbeLoss
from widgets.spec.spec_editor import SpecEditor

HIST = """# event histogram
#
# trigger info: hist:name=pw_1_2__0_hits0:keys=common_cpu:vals=hitcount:sort=hitcount:size=2048 [active]
#


Totals:
    Hits: {}
    Entries: 1
    Dropped: 0
"""
ANSWERS = (Answer("leave", "n", "Don't"), Answer("count", "c", "Count only"), Answer("arm", "a", "Arm"))
EVIL = "[/b]\x1b[31mx"


@pytest.mark.parametrize(
    ("keys", "answer"), [(["a"], "arm"), (["c"], "count"), (["enter"], "leave"), (["right", "enter"], "count")]
)
async def test_a_question_with_several_answers(keys, answer):
    app = Asking(ChoiceDialog(f"{EVIL}: fast. Arm it?", ["It costs."], ANSWERS))
    async with app.shown() as pilot:
        assert r"[/b]\x1b[31mx: fast. Arm it?" in app.text
        await pilot.press(*keys)
        assert app.answers == [answer]


async def test_a_question_can_be_left():
    app = Asking(ChoiceDialog("Arm it?", [], ANSWERS))
    async with app.shown() as pilot:
        await pilot.press("escape")
        assert app.answers == [None]


async def test_a_probe_on_several_functions_can_be_armed_without_the_most_frequent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    probe, quieter = parse_armable("f [struct file *] file"), parse_armable("f [struct file *],!fput file")
    armed: list[object] = []
    app = application(shipped_recording())
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.target.planner is not None, pilot)
        monkeypatch.setattr(app.arming, "arm", lambda one, **_: armed.append(one))
        app.post_message(
            ProbeTooFast(
                probe,
                "about 90,000 events a second",
                "1 % of a CPU",
                quieter,
                f"{EVIL} 80,000",
                "50,000 events a second",
            )
        )
        await until(lambda: "Without (w)" in "\n".join(screen_text(app)), pilot)
        text = "\n".join(screen_text(app))
        assert "The limit is 50,000 events a second." in text
        assert "Arm (a)" in text and "f [struct file *],!fput" in text and r"\x1b[31mx 80,000" in text
        await pilot.pause(PAUSE)  # letters are for nobody while the screen has just changed
        await pilot.press("w")
        await until(lambda: armed == [quieter], pilot)


async def test_of_a_long_list_the_rate_and_the_question_fit_on_a_small_screen() -> None:
    names = ",".join(f"tcp_function_{number}" for number in range(400))
    probe, quieter = parse_armable(f"f {names} sk"), parse_armable(f"f {names},!tcp_function_7 sk")
    app = application(shipped_recording())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.target.planner is not None, pilot)
        app.post_message(ProbeTooFast(probe, "about 90,000 events a second", "1 % of a CPU", quieter, "", "50,000"))
        await until(lambda: "Without (w)" in "\n".join(screen_text(app)), pilot)
        text = "\n".join(screen_text(app))
        for said in (
            "more: about 90,000 events a second. Arm it?",
            "!tcp_function_7 sk",
            "The limit is 50,000",
            "Arm (a)",
        ):
            assert said in text, text


@pytest.mark.parametrize(("key", "answers"), [("w", "quieter"), ("enter", "probe"), ("n", "")])
async def test_the_rate_of_several_functions_is_shown_before_they_are_armed(
    monkeypatch: pytest.MonkeyPatch, key: str, answers: str
) -> None:
    probes = {"probe": parse_armable("f vfs_*"), "quieter": parse_armable("f vfs_*,!vfs_read")}
    armed: list[object] = []
    app = application(shipped_recording())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.target.planner is not None, pilot)
        monkeypatch.setattr(app.arming, "arm", lambda one, **_: armed.append(one))
        most = "vfs_read 900 a second, vfs_open 20"
        rate = "about 920 events a second"
        app.post_message(ProbeTooFast(probes["probe"], rate, "1 %", probes["quieter"], most))
        await until(lambda: "Without (w)" in "\n".join(screen_text(app)), pilot)
        text = "\n".join(screen_text(app))
        assert rate in text and most in text and "f vfs_*,!vfs_read" in text and "limit" not in text
        assert "Several functions are armed after their rate was shown." in " ".join(text.split())
        await pilot.pause(PAUSE)
        await pilot.press(key)
        await until(lambda: "Without (w)" not in "\n".join(screen_text(app)), pilot)
        assert armed == ([probes[answers]] if answers else [])


SHEET = LossSheet(
    LossTotals(lost=1_204_332, missed=17, dropped=0, unread=3),
    LossCounts({0: 1_204_000, 1: 300, 2: 0}, {0: 0, 1: 32, 2: 0}, {}, 0, 0, read_errors=4),
    (ProbeLoss("vfs_read", "record", 12_300.0, None, None), ProbeLoss(EVIL, "count only", 0.0, 99_123, 17, 10)),
    1408,
    1408,
)


async def test_losses_stand_by_cpu_and_by_probe_and_each_remedy_says_its_price():
    app = Host(LossPanel, LossPanel.Remedy)
    async with app.shown() as pilot:
        app.widget.show(SHEET)
        app.widget.focus_list()
        await pilot.pause()
        text = app.text
        for said in (
            "1,204,332",
            "17",
            "CPU 0",
            "1,204,000",
            "32 found no room",
            "99,123",
            "4 reads of the buffer",
            r"\x1b[31mx",
        ):
            assert said in text
        assert "CPU 2" not in text
        assert "1.4 MB → 2.8 MB" in text
        assert "only a kretprobe has one" in text
        await pilot.press("b", "c", "down", "f", "m", "r")
        assert [(one.name, one.row) for one in app.heard] == [
            ("bigger", 0),
            ("count", 0),
            ("filter", 1),
            ("maxactive", 1),
            ("record", 1),
        ]
        lines = app.text.split("\n")
        at = next((line.index("filter of"), y) for y, line in enumerate(lines) if "filter of" in line)
        await pilot.click(offset=at)
        await until(lambda: app.heard[-1].name == "filter", pilot)
        assert "maxactive 10 → 40" in app.text
        assert "it only counts" in app.text


def judged(text: str) -> TriggerVerdict:
    if text == "stacktrace":
        return TriggerVerdict(True)
    return TriggerVerdict(False, "There is no such field", 10, "did you mean count")


async def test_a_trigger_is_judged_as_typed_and_only_a_good_one_is_added():
    app = Asking(TriggerDialog("triggers of vfs_read", [TriggerRow("vfs_read", "snapshot")], judged))
    app._kinds = (TriggerDialog.Added, TriggerDialog.Removed)
    async with app.shown() as pilot:
        await pilot.press(*"hist:keys=x", "enter")
        assert "There is no such field" in app.text
        assert "did you mean count" in app.text
        line = next(line for line in app.text.split("\n") if "hist:keys=x" in line)
        caret = next(line for line in app.text.split("\n") if line.strip("│ ") == "^")
        assert caret.index("^") == line.index("x")
        assert app.heard == []
        await pilot.pause(0.3)  # keys behind an Enter wait for a moment
        await pilot.press("ctrl+u", *"stacktrace")
        await until(lambda: "this kernel takes it" in app.text, pilot)
        await pilot.press("enter")
        assert [one.text for one in app.heard] == ["stacktrace"]
        await pilot.pause(0.3)
        await pilot.press("down", "delete")
        await until(lambda: len(app.heard) == 2 and app.heard[1].number == 0, pilot)


async def test_a_recording_shows_its_losses_and_takes_no_remedies():
    app = application(shipped_recording())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.places.live is not None and app.current_watch and app.current_watch.ended, pilot)
        await pilot.press("L")
        await until(lambda: isinstance(app.screen, LossScreen), pilot)
        text = "\n".join(screen_text(app))
        assert "overwritten in the kernel's buffer" in text
        assert "\n a recording: nothing can be changed any more\n" in text  # no key before it
        await pilot.press("b")
        await pilot.press("escape")
        await until(lambda: app.screen is app.places.live, pilot)
        await pilot.press("T")
        await until(lambda: any("takes no triggers" in one.text for one in app.notice_lines), pilot)


class Kernel(FakeTarget):
    """With the functions and types of the shipped recording; its events happen at a rate."""

    def __init__(self, rate: float) -> None:
        path = shipped_recording()
        recorded = choose(str(path)).target
        super().__init__(facts=recorded.facts())
        self._recorded = recorded
        self.rate = rate
        self.lost = False
        self.overrun = 0
        self._began = time.monotonic()

    def btf(self, module=None):
        return self._recorded.btf(module)

    def read(self, path, limit=64 << 20, offset=0):
        if path.endswith("/hist"):
            return HIST.format(int((time.monotonic() - self._began) * self.rate)).encode()
        if path.endswith("/stats"):
            return f"entries: 0\noverrun: {self.overrun}\ncommit overrun: 0\ndropped events: 0\n".encode()
        if path == "/proc/kallsyms":
            return self._recorded.read(path, limit, offset)
        return super().read(path, limit, offset)


@pytest.fixture
def living(monkeypatch):
    """Makes a kernel at a rate, and the application on it."""

    def make(rate: float) -> tuple[Kernel, Probewright]:
        found = Kernel(rate)
        monkeypatch.setattr(kernel.connection.open_target, "choose", lambda *_, **_more: TargetChoice(found))
        return found, application("fake")

    return make


async def ask_for(app: Probewright, pilot) -> None:
    await open_compose(app, pilot)
    await pick(app, pilot, "vfs_read")
    await pilot.press("enter")


async def test_a_probe_that_is_armed_is_followed_though_rows_were_held(living):
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await ask_for(app, pilot)
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        await pilot.pause(PAUSE)
        await pilot.press("space")
        view = app.places.live.views.current
        assert not view.place.following
        app.arming.arm(parse_armable("f vfs_write"))
        await until(lambda: len(app.current_watch.armed.probes) == 2 and view.place.following, pilot)
    app.current_watch.close()


async def test_what_is_slow_is_armed_at_once_and_its_rate_is_said(living):
    found, app = living(200)
    async with app.run_test(size=SIZE) as pilot:
        await ask_for(app, pilot)
        await until(lambda: app.current_watch and app.current_watch.armed.probes, pilot)
        await until(lambda: any("events a second" in one.text for one in app.notice_lines), pilot)
        assert not any(step.data.startswith(b"hist") for step in found.guarded)
    app.current_watch.close()
    assert not found.traces


@pytest.mark.parametrize("stops", [True, False])
async def test_arming_that_takes_long_says_its_step_and_can_be_stopped(living, monkeypatch, stops):
    monkeypatch.setattr(arming_patience, "_DIALOG", 0.0)
    found, app = living(200)
    goes_on = threading.Event()

    def slow(step: Step) -> None:
        if step.data.startswith(b"f:"):
            assert goes_on.wait(60)

    found.before = slow
    async with app.run_test(size=SIZE) as pilot:
        await ask_for(app, pilot)
        await until(lambda: isinstance(app.screen, ProgressDialog), pilot)
        await until(lambda: "writing its lines: 0 of 1" in "\n".join(screen_text(app)), pilot)
        assert any("arming f vfs_read: writing its lines" in one.text for one in app.notice_lines)
        if stops:
            await pilot.press("escape")
            await until(lambda: "stopping" in "\n".join(screen_text(app)), pilot)
        goes_on.set()
        await until(lambda: not isinstance(app.screen, ProgressDialog), pilot)
        if stops:
            await until(lambda: any("stopped before it was armed" in one.text for one in app.notice_lines), pilot)
            assert not app.current_watch.armed.probes and not any("vfs_read" in line for line in found.traces)
            assert app.places.compose.is_current
            found.before = lambda _: None
            await pilot.press("enter")  # it can be armed again
        await until(lambda: app.current_watch.armed.probes, pilot)
        assert not any(one.text.startswith("arming ") for one in app.notice_lines)
    app.current_watch.close()
    assert not found.traces


@pytest.mark.parametrize(("key", "mode"), [("a", Mode.RECORD), ("c", Mode.COUNT)])
async def test_what_is_too_fast_is_asked_about(living, key, mode):
    found, app = living(3_000_000)
    async with app.run_test(size=SIZE) as pilot:
        await ask_for(app, pilot)
        await until(lambda: isinstance(app.screen, ChoiceDialog), pilot)
        assert not app.current_watch.armed.probes
        assert not any("vfs_read" in line for line in found.traces)
        text = "\n".join(screen_text(app))
        assert "Counting only would take" in text
        await pilot.press(key)
        await until(lambda: app.current_watch.armed.probes, pilot)
        (armed,) = app.current_watch.armed.probes
        assert app.current_watch.session.probes.mode(armed) is mode
        await until(lambda: app.screen is app.places.live, pilot)
    app.current_watch.close()
    assert not found.traces
    assert not found.guarded


async def test_what_is_too_fast_can_get_a_filter_or_be_left(living):
    _, app = living(3_000_000)
    async with app.run_test(size=SIZE) as pilot:
        await ask_for(app, pilot)
        await until(lambda: isinstance(app.screen, ChoiceDialog), pilot)
        await pilot.press("escape")
        await until(lambda: app.screen is app.places.compose, pilot)
        assert not app.current_watch.armed.probes
        await pilot.press("ctrl+r")
        await until(lambda: isinstance(app.screen, ChoiceDialog), pilot)
        await pilot.press("f")
        await until(lambda: isinstance(app.focused, SpecEditor) and "Keep filter" in screen_text(app)[-1], pilot)
        assert app.focused.value.endswith(" if ")


async def test_the_buffer_grows_and_shrinks_by_a_key_and_a_probe_counts(living):
    found, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await ask_for(app, pilot)
        await until(
            lambda: app.current_watch and app.current_watch.armed.probes and app.screen is app.places.live, pilot
        )
        found.overrun = 4321
        await pilot.press("L")
        await until(lambda: isinstance(app.screen, LossScreen) and "1.4 MB" in "\n".join(screen_text(app)), pilot)
        await until(lambda: "4,321" in "\n".join(screen_text(app)), pilot)
        size = f"{ROOT}/instances/probewright-{found.owner}/buffer_size_kb"
        await pilot.press("b")
        await until(lambda: found.files[size] == b"2820", pilot)
        await until(lambda: "2.8 MB → 5.6 MB" in "\n".join(screen_text(app)), pilot)
        await pilot.press("B")
        await until(lambda: found.files[size] == b"1410", pilot)
        (armed,) = app.current_watch.armed.probes
        await pilot.press("c")
        await until(lambda: app.current_watch.session.probes.mode(armed) is Mode.COUNT, pilot)
        await until(lambda: "count only" in "\n".join(screen_text(app)), pilot)
        await pilot.press("r")
        await until(lambda: app.current_watch.session.probes.mode(armed) is Mode.RECORD, pilot)
    app.current_watch.close()
    assert not found.traces


async def test_a_trigger_is_added_and_taken_away_by_hand(living):
    found, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await ask_for(app, pilot)
        await until(
            lambda: app.current_watch and app.current_watch.armed.probes and app.screen is app.places.live, pilot
        )
        (armed,) = app.current_watch.armed.probes
        event = armed.plan.events[0]
        trigger = f"{ROOT}/instances/probewright-{found.owner}/events/{event.path}/trigger"
        await pilot.press("T")
        await until(lambda: isinstance(app.screen, TriggerScreen), pilot)
        await pilot.press(*"hist:keys=nosuchfield")
        await pilot.pause()
        assert "this kernel takes it" not in "\n".join(screen_text(app))
        await pilot.press("ctrl+u", *"stacktrace", "enter")
        await until(lambda: found.files[trigger] == b"stacktrace", pilot)
        assert any(step == Step(step.effect, trigger, b"!stacktrace") for step in found.guarded)
        await until(lambda: app.screen._list.option_count == 1, pilot)
        await pilot.press("down", "delete")
        await until(lambda: found.files[trigger] == b"", pilot)
    app.current_watch.close()
    assert not found.traces
    assert not found.guarded


async def test_a_storm_is_told(living):
    found, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await ask_for(app, pilot)
        await until(
            lambda: app.current_watch and app.current_watch.armed.probes and app.screen is app.places.live, pilot
        )
        app.current_watch.guard.limit = 1000
        end = time.monotonic() + 60
        (armed,) = app.current_watch.armed.probes
        while app.current_watch.session.probes.mode(armed) is not Mode.OFF and time.monotonic() < end:
            found.overrun += 100_000
            await pilot.pause(0.3)
        await until(lambda: any("was stopped" in one.text for one in app.notice_lines), pilot)
        assert app.current_watch.session.probes.mode(armed) is Mode.OFF
    app.current_watch.close()
    assert not found.traces
