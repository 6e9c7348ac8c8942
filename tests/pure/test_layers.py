"""The core runs without a screen, and no folder looks up."""

import subprocess
import sys
from pathlib import Path

import pytest

from tui.filter.filter import Filter
from tui.live.registry import EXTRA_LABELS, LABELS, make_view

ROOT = Path(__file__).parents[2]
CORE = ("foreign", "btf", "events", "probes", "kernel")


def modules(folder: str) -> list[str]:
    return sorted(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in (ROOT / folder).rglob("*.py"))


def imported_with(names: list[str]) -> set[str]:
    """Top-level packages that come along when `names` are imported in a process of their own."""
    return {name.split(".")[0] for name in modules_with(names)}


def modules_with(names: list[str]) -> set[str]:
    """Modules that come along when `names` are imported in a process of their own."""
    code = f"import sys\nfor name in {names!r}:\n    __import__(name)\nprint(' '.join(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return set(out.split())


# The agent and the keeper are programs of their own: importing them would start them.
PROGRAMS = {"kernel.agent.main", "kernel.lab.keeper", "kernel.lab.__main__"}


@pytest.mark.parametrize("folder", CORE)
def test_the_core_comes_without_a_screen(folder):
    names = [name for name in modules(folder) if name not in PROGRAMS and not name.endswith("__init__")]
    assert names
    assert not {"textual", "rich", "tui", "widgets"} & imported_with(names)


def test_commands_come_without_a_screen():
    names = [name for name in modules("tui/cli") if not name.endswith((".app", "__init__"))]
    assert len(names) >= 8
    assert not {"textual", "rich"} & imported_with(names)


def test_numpy_waits_until_there_are_events():
    commands = [
        "tui.cli.args.parser",
        "tui.cli.commands.list",
        "tui.cli.commands.check",
        "tui.cli.commands.show",
        "tui.cli.commands.run",
    ]
    assert "numpy" not in imported_with(
        ["tui.app.app", "kernel.watch.watch", "kernel.connection.open_target", *commands]
    )
    assert "numpy" in imported_with(["events.store.store"])


def test_the_live_place_comes_without_the_kernel_and_the_other_views():
    there = modules_with(["tui.app.app", "tui.compose.screen", "tui.live.screen"])
    assert "tui.views.events.view" in there
    assert not {name for name in there if name.split(".")[0] in ("btf", "numpy", "probes")}
    assert {name for name in there if name.startswith("kernel.")} <= {"kernel.errors"}
    assert not {f"tui.views.{name}" for name in (*LABELS, *EXTRA_LABELS) if name != "events"} & there


def test_each_view_is_made_by_its_name():
    names = [*LABELS, *EXTRA_LABELS]
    views = [make_view(name, Filter()) for name in names]
    assert [view.name for view in views] == names
    assert [view.pane.id for view in views] == names


def test_no_folder_hides_a_module_of_the_standard_library():
    folders = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert not folders & sys.stdlib_module_names
