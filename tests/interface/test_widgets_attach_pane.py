"""Why a function can't be probed, on the screen: reasons, ways out, the search for callers."""

from __future__ import annotations

from textual.widget import Widget

from probes.attaching.callers import Caller, Callers, CallSite
from probes.attaching.values import ALL, Alternative, Attachability, Reason, ReasonKind, Relation
from probes.probe import ProbeKind, ProbePlace
from tests.interface.widget_host import Host
from widgets.fields.attach_pane import AttachPane

HIDDEN = Attachability(
    "helper",
    reasons=(
        Reason(ReasonKind.NOTRACE, "no tracer's call at its entry"),
        Reason(ReasonKind.MODULE, "not there", "modprobe [mod]"),
    ),
    alternatives=(
        Alternative(ProbePlace("helper.isra.0"), Relation.COPY),
        Alternative(ProbePlace("0xffff1000"), Relation.TWIN, "between a and b"),
    ),
)
FOUND = Callers(
    "helper",
    (
        Caller(CallSite("caller_a", 0x100, ProbePlace("caller_a"), ALL), (0x10, 0x24)),
        Caller(CallSite("caller_b", 0x200, ProbePlace("caller_b"), frozenset({ProbeKind.FPROBE})), path=("middle",)),
    ),
    ("middle",),
    "the kernel's code",
)


def host(about: Attachability = HIDDEN) -> Host:
    def make() -> Widget:
        pane = AttachPane()
        pane.call_after_refresh(pane.show, about)
        return pane

    return Host(make, AttachPane.AlternativeTaken, AttachPane.CallersWanted)


def pane(app: Host) -> AttachPane:
    assert isinstance(app.widget, AttachPane)
    return app.widget


async def test_reasons_and_ways_out() -> None:
    app = host()
    async with app.shown(80, 16) as pilot:
        assert "no tracer's call at its entry" in app.line(0)
        assert "not there — modprobe [mod]" in app.line(1)
        assert "helper.isra.0" in app.line(3)
        assert "copy" in app.line(3)
        assert "f p" in app.line(3)
        assert "between a and b" in app.line(4)
        pane(app).list.focus()
        await pilot.press("down", "enter")
        [taken] = app.heard
        assert (taken.function, str(taken.way.place), taken.way.relation) == ("helper", "0xffff1000", Relation.TWIN)


async def test_callers_are_looked_for_once_when_asked() -> None:
    app = host()
    async with app.shown(80, 16) as pilot:
        assert "c looks for who calls it" in app.text
        pane(app).list.focus()
        await pilot.press("c", "c")
        assert [type(event) for event in app.heard] == [AttachPane.CallersWanted]
        assert app.heard[0].function == "helper"
        pane(app).searching("helper", 0.4)
        await pilot.pause()
        assert "40%" in app.text
        pane(app).searching("another", 0.9)
        pane(app).found(Callers("another"))
        await pilot.pause()
        assert "40%" in app.text, "what comes for another function is not for this one"
        pane(app).found(FOUND)
        await pilot.pause()
        assert "at +0x10, +0x24" in app.text
        assert "through middle" in app.text
        assert "2 callers by the kernel's code; 1 more call it and can't be probed" in app.text
        await pilot.press("end", "enter", "c")
        assert [str(event.way.place) for event in app.heard[1:]] == ["caller_b"]


async def test_another_function_begins_anew_the_same_one_does_not() -> None:
    app = host()
    async with app.shown(80, 16) as pilot:
        pane(app).list.focus()
        await pilot.press("c")
        pane(app).found(FOUND)
        pane(app).show(HIDDEN)
        await pilot.pause()
        assert "caller_a" in app.text, "a closer look keeps what was found"
        pane(app).show(Attachability("other", kinds=ALL))
        await pilot.pause()
        assert "caller_a" not in app.text
        assert "everything can attach here" in app.line(0)


async def test_what_could_not_be_found_is_said() -> None:
    texts: list[tuple[Callers, str]] = [
        (Callers("helper", error="no permission"), "can't be looked for: no permission"),
        (Callers("helper", searched="the kernel's code"), "called through a pointer, or never"),
        (Callers("helper", hidden=("a", "b"), searched="x"), "only a, b call it, and none of them can be probed"),
    ]
    app = host()
    async with app.shown(80, 16) as pilot:
        for callers, text in texts:
            pane(app).found(callers)
            await pilot.pause()
            assert text in app.text.replace("\n", " ")


async def test_it_fits_into_narrow_panes_and_nothing_breaks_the_screen() -> None:
    way = Alternative(ProbePlace("[b]\x1b" * 9), Relation.COPY, "\x1b[2J" * 9)
    evil = Attachability("x", reasons=(Reason(ReasonKind.UNKNOWN, "[/red]\x1b[31m"),), alternatives=(way,))
    for columns in (20, 30, 50, 120):
        app = host(evil)
        async with app.shown(columns, 12):
            assert "\x1b" not in app.text
            assert "[/red]" in app.line(0)
            assert all(len(line) <= columns for line in app.text.split("\n"))
