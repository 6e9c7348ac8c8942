"""On a recording no footer offers a key that can never work there; help, and the key, say why."""

from __future__ import annotations

from kernel.connection.open_target import shipped_recording
from tests.interface.test_app import application, pick
from tests.interface.widget_host import screen_text, until
from tui.commands import COMMANDS, KERNEL_ACTIONS
from tui.help import help_of
from tui.live.losses import LossScreen
from widgets.footer import KeyFooter


def offered(app) -> list[str]:
    return [key.label for key in app.screen.query_one(KeyFooter).keys]


def without_effect(app) -> str:
    return "".join(one.intro for one in help_of(app.screen) if one.title == "Without effect here")


async def test_no_key_that_only_refuses_is_offered():
    app = application(shipped_recording())
    async with app.run_test(size=(200, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        await until(lambda: "Filter" in offered(app), pilot)
        assert {"Export", "Disarm", "Summary"} <= set(offered(app))
        assert "Record" not in offered(app)
        assert without_effect(app) == "K, r, T, W, w, X: no kernel runs here; F4 chooses a kernel that runs."
        await pilot.press("w")
        await until(lambda: "already a recording" in "\n".join(screen_text(app)), pilot)
        await pilot.press("s")
        await until(lambda: "Next field" in offered(app), pilot)
        assert "In the kernel" not in offered(app) and "k, " in without_effect(app)
        await pilot.press("L")
        await until(lambda: isinstance(app.screen, LossScreen) and "Back" in offered(app), pilot)
        assert offered(app) == ["Back", "Help"]
        assert without_effect(app).startswith("B, b, c, f, m, r: ")
        await pilot.press("escape", "f2")
        await until(lambda: app.places.compose.is_current, pilot)
        await pick(app, pilot, "vfs_read")
        await until(lambda: "Export" in offered(app) and "Tick" in offered(app), pilot)
        assert "Graph" not in offered(app) and "G: " in without_effect(app)


def test_every_such_action_is_one():
    """A name that no key has would be a mistake."""
    assert {command.action for command in COMMANDS} >= KERNEL_ACTIONS - {
        "in_kernel",
        "measure",
        "remedy",
        "source",
        "watch_memory",
    }
