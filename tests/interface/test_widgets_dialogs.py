"""Help, questions, troubles, progress: by key and by mouse, with hostile words, at 80x24."""

from __future__ import annotations

from typing import Any

import pytest
from textual.app import App
from textual.binding import Binding
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from tests.interface.widget_host import Host, count_paints, until
from widgets.dialogs.choose import Answer, ChoiceDialog
from widgets.dialogs.confirm import ConfirmDialog
from widgets.dialogs.error_dialog import ErrorDialog
from widgets.dialogs.help import HelpScreen, section
from widgets.dialogs.pasted_probes import PastedLine, PastedProbes
from widgets.dialogs.progress import ProgressDialog
from widgets.fields.field_list import FieldList
from widgets.fields.probe_editor import ProbeEditor
from widgets.footer import KeyFooter
from widgets.lists.line_list import LineList

EVIL = "[/b]\x1b[31m[@click=app.quit]x[/]"


class Asking(Host):
    """Pushes one dialog and keeps its answer."""

    def __init__(self, dialog: ModalScreen[Any], theme: str = "") -> None:
        super().__init__(LineList, theme=theme)
        self.dialog = dialog
        self.answers: list[Any] = []

    def on_mount(self) -> None:
        self.push_screen(self.dialog, self.answers.append)


@pytest.mark.parametrize(
    ("keys", "careful", "answer"),
    [
        (["y"], False, True),
        (["n"], False, False),
        (["enter"], False, True),
        (["enter"], True, False),
        (["left", "enter"], True, True),
        (["escape"], False, None),
    ],
)
async def test_a_question_by_keys(keys, careful, answer):
    app = Asking(ConfirmDialog("Arm it?", ["vfs_read: 812k/s", EVIL], yes="Arm", careful=careful))
    async with app.shown() as pilot:
        assert r"[/b]\x1b[31m[@click=app.quit]x[/]" in app.text
        await pilot.press(*keys)
        assert app.answers == [answer]


async def test_the_marked_answer_is_taken_wherever_it_stands():
    answers = [Answer(f"levels{n}", str(n), str(n)) for n in range(1, 10)] + [Answer("levels0", "a", "All")]
    app = Asking(ChoiceDialog("How deep?", [EVIL], answers, marked="levels3"))
    async with app.shown() as pilot:
        buttons = next(line for line in app.text.splitlines() if "All (a)" in line)
        assert buttons.split()[1:-1] == [*"123456789", "All", "(a)"], "in order, all of them, and no key twice"
        await pilot.press("right", "left", "enter")
        assert app.answers == ["levels3"]
    app = Asking(ChoiceDialog("Arm it?", [], [Answer("leave", "n", "Don't"), Answer("arm", "a", "Arm")]))
    async with app.shown() as pilot:
        assert "Don't (n)" in app.text and "Arm (a)" in app.text
        await pilot.press("enter")
        assert app.answers == ["leave"], "the first where none is marked"


async def test_the_foot_of_the_screen_has_the_keys_of_the_dialog():
    for dialog, keys in (
        (ChoiceDialog("How deep?", [], [Answer("one", "1", "1")]), "esc Close"),
        (ConfirmDialog("Arm it?"), "esc Close  y Yes  n No"),
        (ProgressDialog("booting", lambda: ("", None), lambda: None), "esc Stop"),
    ):
        app = Asking(dialog)
        app.compose = lambda: [KeyFooter("below")]  # type: ignore[method-assign]
        async with app.shown():
            foot = app.text.splitlines()[-1]
            assert foot.startswith(f" {keys}  ") and foot.endswith("f1 Help"), foot


async def test_a_question_by_mouse():
    app = Asking(ConfirmDialog("Arm it?"))
    async with app.shown() as pilot:
        await pilot.click("#no")
        assert app.answers == [False]


async def test_trouble_says_what_why_and_the_way_out():
    app = Asking(
        ErrorDialog(
            "tracefs is not mounted",
            "The kernel's tracing files are not there.\n" + EVIL,
            ["mount -t tracefs nodev /sys/kernel/tracing", ""],
        )
    )
    async with app.shown() as pilot:
        assert "✗ tracefs is not mounted" in app.text
        assert "way out: mount -t tracefs nodev /sys/kernel/tracing" in app.text
        assert app.text.count("way out:") == 1  # an empty one is left out
    app = Asking(ErrorDialog("no way out"))
    async with app.shown() as pilot:
        await pilot.press("enter")
        assert app.answers == [None]


async def test_progress_reports_and_asks_its_owner_to_stop():
    state: dict[str, tuple[str, float | None]] = {"now": ("fetching linux-image-7.2", None)}
    stops: list[str] = []
    dialog = ProgressDialog("lab", lambda: state["now"], lambda: stops.append("stop"))
    app = Asking(dialog, theme="ansi-dark")
    async with app.shown() as pilot:
        assert "····" in app.text
        state["now"] = (f"unpacking {EVIL}", 0.48)
        await until(lambda: "48%" in app.text, pilot)
        assert r"unpacking [/b]\x1b" in app.text
        painted = [count_paints(widget) for widget in dialog.query("*")]
        await pilot.pause(0.3)
        assert sum(n[0] for n in painted) == 0
        await pilot.press("enter")
        assert stops == []  # it was meant for what was there before
        await pilot.press("escape", "escape")
        assert stops == ["stop"]
        assert app.answers == []  # its owner closes it, when the undoing is done
        assert dialog.query_one(Button).disabled


async def test_help_is_made_from_the_tables():
    sections = [
        section("signature", ProbeEditor.BINDINGS, "Tick what is to be recorded."),
        section("fields", FieldList.BINDINGS),
        section("list", LineList.BINDINGS),
        section("evil", [Binding("z", "z", EVIL)]),
    ]
    app = Asking(HelpScreen("keys", sections))
    async with app.shown() as pilot:
        assert "1 … 9  Tick the argument with that number" in app.text
        for binding in Binding.make_bindings([*ProbeEditor.BINDINGS, *FieldList.BINDINGS, *LineList.BINDINGS]):
            assert binding.id
            assert binding.description
            assert binding.tooltip
        await pilot.press("end")
        await until(lambda: r"[/b]\x1b[31m" in app.text, pilot)
        assert r"[/b]\x1b[31m" in app.text
        await pilot.press("question_mark")
        assert app.answers == [None]


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (140, 50)])
async def test_dialogs_fit(size):
    app: App[None] = Asking(ErrorDialog("x" * 200, "why " * 100, "way " * 60))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        box = app.screen.query_one(".box")
        assert box.region.width <= size[0]
        assert box.region.height <= size[1]


@pytest.mark.parametrize(
    ("refused", "asked"), [(("", "no"), "arm 1 of 2 probes?"), (("no", "no"), "none of these can be armed")]
)
async def test_pasted_lines_ask_only_where_one_can_be_armed(refused, asked):
    app = Host(Static)
    async with app.shown() as pilot:
        app.push_screen(PastedProbes([PastedLine(f"f name_{n}", why) for n, why in enumerate(refused)], 0))
        await pilot.pause()
        assert asked in app.text
