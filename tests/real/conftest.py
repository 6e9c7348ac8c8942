"""Guests for the tests on real kernels.

A module of tests has a guest for itself; it goes on from the state of one that was booted once, and the next module
gets it where nothing is left there (`saved.py`). Ask for one by name
(`guest_72`), or for several kernels in turn:

    @pytest.mark.parametrize("guest", ["6.1", "6.12", "7.2", "arm64:6.12"], indirect=True)

The workload of these guests is off; `guest.workload(True)` starts it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from kernel.lab.errors import LabError
from kernel.lab.guest import Guest, prepare
from kernel.lab.work import Work
from kernel.watch.watch import Watch
from tests import schedule
from tests.real.guest_watch import watch_of
from tests.real.processes import sshs, until, zombies
from tests.real.saved import SavedGuest, SavedGuests

REQUIRED = os.environ.get("PROBEWRIGHT_REAL") == "required"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    own = [item for item in items if item.path.is_relative_to(here)]
    matrix = schedule.only_in_matrix(item.nodeid for item in own)
    twice = schedule.also_on_arm64(item.nodeid for item in own)
    for item in own:
        item.add_marker(pytest.mark.real)
        if item.nodeid in twice:
            item.add_marker(pytest.mark.also_on_arm64)
        if item.nodeid in matrix:
            item.add_marker(pytest.mark.matrix)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """End the guest of a failed test where it no longer answers, so that tests after it fail without waiting."""
    if call.excinfo is not None and call.when == "call":
        for guest in getattr(item, "funcargs", {}).values():
            if isinstance(guest, SavedGuest) and not guest.answers():
                guest.close()
    return (yield)


@pytest.fixture(scope="module", autouse=True)
def nothing_stays() -> Iterator[None]:
    """A module closes its lines and waits for what it started: else the fault would show in the ones after it."""
    yield
    until(lambda: not sshs(os.getpid()) and not zombies())
    assert not sshs(os.getpid())
    assert not zombies()


def prepared(kernel: str, *, python: bool = True) -> None:
    """Fetch what a boot needs; skip the test, with the reason, where this machine cannot (unless it must)."""
    try:
        prepare(kernel, python=python, work=Work(lambda _: None))
    except LabError as error:
        reason = f"{error}; {error.remedy}"
        if REQUIRED:
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def saved(run_folder: Path) -> Iterator[SavedGuests]:
    """Where a module whose guest is of an ordinary kind gets it from."""
    with contextlib.closing(SavedGuests(run_folder)) as guests:
        yield guests


def _started(saved: SavedGuests, kernel: str, *, python: bool = True) -> Iterator[Guest]:
    prepared(kernel, python=python)
    with saved.lent(kernel, python=python) as guest:
        yield guest


@pytest.fixture(scope="module")
def guest(request: pytest.FixtureRequest, saved: SavedGuests) -> Iterator[Guest]:
    """A guest of the kernel in `request.param`; `-sh` after it: without Python (`7.2-sh`)."""
    kernel = str(request.param)
    yield from _started(saved, kernel.removesuffix("-sh"), python=not kernel.endswith("-sh"))


@pytest.fixture(scope="module")
def guest_72(saved: SavedGuests) -> Iterator[Guest]:
    """The newest that Debian has as a release."""
    yield from _started(saved, "7.2")


@pytest.fixture(scope="module")
def guest_72_sh(saved: SavedGuests) -> Iterator[Guest]:
    """The newest, with a shell and busybox only."""
    yield from _started(saved, "7.2", python=False)


@pytest.fixture
def watch(guest: Guest) -> Iterator[Watch]:
    """A watch of the guest, without probes."""
    with watch_of(guest) as watching:
        yield watching
