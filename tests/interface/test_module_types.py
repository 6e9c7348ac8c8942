"""A function of a module is picked: its types are read aside, the screen goes on, the last one picked is shown."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from btf.elf import read_elf
from kernel.recording.target import RecordingTarget
from tests.btf_writer import stored
from tests.interface.test_app import SIZE, application, open_compose, write_kernel
from tests.interface.widget_host import until
from widgets.fields.field_hint import FieldHint
from widgets.fields.probe_editor import ProbeEditor
from widgets.fields.prototype import Prototype
from widgets.functions.function_list import FunctionList
from widgets.spec.spec_pane import SpecPane


@pytest.fixture(scope="module")
def kernel(tmp_path_factory) -> Path:
    """The kernel of the shipped recording with the types of one of its modules."""
    types = read_elf(stored("btf-7.2-net_failover.ko")).data
    return write_kernel(tmp_path_factory.mktemp("module") / "kernel.pwr", net_failover=types)


class Line:
    """Holds back what is read of modules until the test lets go."""

    def __init__(self, monkeypatch) -> None:
        self.asked: list[str] = []
        self.free = threading.Event()
        read = RecordingTarget.btf

        def slowly(target: RecordingTarget, module: str | None = None) -> bytes:
            if module:
                self.asked.append(module)
                assert self.free.wait(60), "nobody let go"
            return read(target, module)

        monkeypatch.setattr(RecordingTarget, "btf", slowly)


@pytest.fixture
def line(monkeypatch):
    made = Line(monkeypatch)
    yield made
    made.free.set()


async def search(app, pilot, name: str) -> None:
    functions = app.places.compose.query_one(FunctionList)
    functions.query_text = name
    await until(lambda: functions.current == name, pilot)
    functions.focus_search()
    await pilot.press("enter")


def text_of(app) -> str:
    return str(app.places.compose.query_one(FieldHint).render())


async def test_the_types_of_a_module_are_read_while_the_screen_goes_on(kernel, line):
    app = application(kernel)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await search(app, pilot, "net_failover_open")
        editor, spec = app.places.compose.query_one(ProbeEditor), app.places.compose.query_one(SpecPane)
        await until(lambda: "reading the types of module net_failover" in text_of(app), pilot)
        await until(lambda: line.asked == ["net_failover"], pilot)
        assert editor.probe is not None and editor.probe.place.symbol == "net_failover_open"
        await pilot.press("x")
        assert spec.shown.text == "f net_failover_open%return"
        assert spec.shown.verdict is None, "nobody knows yet"
        line.free.set()
        await until(lambda: "net_device" in editor.query_one(Prototype).text, pilot)
        await until(lambda: spec.shown.verdict is not None, pilot)
        assert str(editor.probe) == "f net_failover_open%return", "what was done meanwhile stays"
        assert spec.shown.verdict is not None and spec.shown.verdict.ok
        await pilot.press("1")
        assert str(editor.probe) == "f net_failover_open%return dev"
        await search(app, pilot, "net_failover_close")
        await until(lambda: "net_device" in editor.query_one(Prototype).text, pilot)
        assert line.asked == ["net_failover"], "once is enough"


async def test_another_one_picked_meanwhile_stays(kernel, line):
    app = application(kernel)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await search(app, pilot, "net_failover_open")
        await until(lambda: line.asked, pilot)
        await search(app, pilot, "vfs_read")
        editor, spec = app.places.compose.query_one(ProbeEditor), app.places.compose.query_one(SpecPane)
        await until(lambda: spec.shown.verdict is not None and spec.shown.verdict.ok, pilot)
        assert editor.probe is not None and editor.probe.place.symbol == "vfs_read"
        line.free.set()
        await until(lambda: not app.planner or not app.planner.info.unread_module("net_failover_open"), pilot)
        await pilot.pause(0.2)
        assert editor.probe.place.symbol == "vfs_read"
        assert "vfs_read" in editor.query_one(Prototype).text
