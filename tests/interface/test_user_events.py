"""Events of programs in the specification: completed, judged as they are typed, with their lines."""

from __future__ import annotations

import pytest

from probes.facts.facts import Feature, TargetFacts
from tests.interface.test_app import SIZE, application, kernel_only, says  # noqa: F401
from tests.interface.test_typed_spec import editing, put
from tests.interface.widget_host import until
from widgets.spec.completion_list import CompletionList

DEFINITION = "u:request u64 length; char[16] verb"


@pytest.fixture
def has_user_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kernel has them."""
    has = TargetFacts.has
    monkeypatch.setattr(TargetFacts, "has", lambda facts, one: one is Feature.USER_EVENTS or has(facts, one))


@pytest.mark.usefixtures("has_user_events")
async def test_a_definition_is_completed_and_judged(kernel_only):  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        spec, _ = await editing(app, pilot)
        items = app.places.compose.query_one(CompletionList)
        await put(pilot, "u:request un")
        await until(lambda: items.display and says(app, "unsigned short") and says(app, "unsigned char"), pilot)
        await pilot.press("backspace")
        await put(pilot, "64 length; char[16] verb")
        await until(lambda: spec.shown.text == DEFINITION and spec.shown.verdict is not None, pilot)
        assert spec.shown.verdict is not None
        assert spec.shown.verdict.ok
        await pilot.press("space")
        await put(pilot, "if length > 1000 && verb")
        await until(lambda: spec.shown.verdict is not None and not spec.shown.verdict.ok, pilot)
        await pilot.press("space")
        await put(pilot, '== "GET"')
        await until(lambda: spec.shown.verdict is not None and spec.shown.verdict.ok, pilot)


async def test_a_kernel_without_them_says_which_option_gives_them(kernel_only):  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await editing(app, pilot)
        await put(pilot, DEFINITION)
        await until(lambda: says(app, "CONFIG_USER_EVENTS"), pilot)
