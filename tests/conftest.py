"""What holds for every test."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from kernel.connection import open_target
from kernel.lab import cache
from tests import schedule
from tests.events_recording import write_events_recording
from tui.cli.console import once, waiting

pytest_plugins = ["tests.second_try", "tests.lab_kernels"]

# How fast an example runs says nothing here. `--hypothesis-profile=fixed` gives every run the same examples.
settings.register_profile("random", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("fixed", settings.get_profile("random"), derandomize=True, database=None)
settings.register_profile("typing", settings.get_profile("random"))
settings.load_profile("random")

_RUN_FOLDER = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """A folder that the workers of one run share; it goes with the process that started them."""
    # The deafness of nohup, and of what a shell runs in the background, would pass to the processes of tests.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):
        config.stash[_RUN_FOLDER] = folder = cache.run_folder()
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        write_events_recording(folder)
    # In place of the one that ships, before any test is imported: what tests count in it stays as it is.
    recordings = str(_run_folder(config))
    open_target._data_folders = lambda: (recordings,)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["run_folder"] = str(node.config.stash[_RUN_FOLDER])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return two for each core: a test waits for guests and screens nearly as long as it computes."""
    return max(2, (os.cpu_count() or 1) * 2)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> schedule.GroupScheduling:
    return schedule.GroupScheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark and sort; it comes after tests/real has marked its own, and before `-m` selects."""
    places = schedule.places(item.nodeid for item in items)
    items.sort(key=lambda item: places[schedule.group_of(item.nodeid)])


@pytest.fixture(scope="session")
def run_folder(pytestconfig: pytest.Config) -> Path:
    """What the tests of one run share, in whichever process."""
    return _run_folder(pytestconfig)


def _run_folder(config: pytest.Config) -> Path:
    worker = getattr(config, "workerinput", None)
    return Path(worker["run_folder"]) if worker else config.stash[_RUN_FOLDER]


@pytest.fixture(scope="session", autouse=True)
def no_presets_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nor other configuration of who runs the tests; commands and applications that they start have none either."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture(autouse=True)
def a_command_of_its_own() -> Iterator[None]:
    """Have a command for the lab print its progress in lines, and none that runs in this process after it."""
    yield
    waiting._prints_lines = False
    once.reset_reported()


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    """A command that was asked to end ignores further signals, and so would the processes of the tests after it."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
