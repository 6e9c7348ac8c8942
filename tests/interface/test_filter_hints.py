"""The filter of the events shown says by what probe a field is recorded, and what function no probe is on."""

from __future__ import annotations

from functools import partial

from probes.command import parse_armable
from tests.interface.test_app import SIZE, says
from tests.interface.test_guards import ask_for, living
from tests.interface.widget_host import paste, until
from tui.app.app import Probewright
from widgets.dialogs.trigger_dialog import TriggerDialog

__all__ = ["living"]


UNKNOWN = {
    "count > 4096": "no field count: f vfs_read count records it",
    "ret < 0 && count > 4096": "no field ret: f vfs_read $retval records it",
    "func == vfs_raed": "no function of vfs_* is vfs_raed: did you mean vfs_read",
    "func != vfs_raed": "no function of vfs_* is vfs_raed: did you mean vfs_read",
    'func ~ "ext4_*"': "no function of vfs_* is ext4_*",
}
"""Conditions, and why nothing can pass them."""


def is_hidden(app: Probewright, text: str) -> bool:
    return not says(app, text)


async def test_a_condition_that_nothing_can_pass_says_why(living):
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await ask_for(app, pilot)
        await until(lambda: app.current_watch and app.current_watch.armed.probes, pilot)
        app.arming.arm_all([parse_armable("f vfs_*")])
        await until(lambda: says(app, "Arm it?"), pilot)  # the rate of several functions is shown before
        await pilot.press("a")
        await until(lambda: len(app.current_watch.armed.probes) == 2 and app.places.live.is_current, pilot)
        await pilot.press("f")
        for condition, told in UNKNOWN.items():
            await paste(pilot, condition)
            await until(partial(says, app, told), pilot, 10)
            await pilot.press("ctrl+u")
            await paste(pilot, "func == vfs_read")
            await until(partial(is_hidden, app, told), pilot, 10)
            await pilot.press("ctrl+u")


async def test_triggers_that_are_offered_have_fields_that_are_there(living):
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await ask_for(app, pilot)
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        await pilot.press("T")
        await until(lambda: isinstance(app.screen, TriggerDialog), pilot)
        await until(lambda: says(app, "stacktrace   traceoff:1   snapshot   hist:keys=common_pid"), pilot)
        assert not says(app, "ret < 0") and not says(app, "vals=count")
