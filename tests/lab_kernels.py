"""Pytest plugin that has the kernels of the selected tests fetched and built before the first of them runs.

A build (`full`: minutes on all processors) inside a test would be ended by that test's timeout, and begun anew by the
next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from kernel.lab.errors import LabError
from kernel.lab.guest import prepare
from kernel.lab.work import Progress, Work
from tests.schedule import kernels_of

_READY = pytest.StashKey[set[str]]()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    """Prepare while the workers wait for their first tests."""
    _prepare(node.config, ids)


def pytest_collection_finish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        _prepare(session.config, [item.nodeid for item in session.items])


def _prepare(config: pytest.Config, tests: Iterable[str]) -> None:
    ready = config.stash.setdefault(_READY, set())
    wanted = kernels_of(tests) - ready
    if config.option.collectonly:
        return
    reporter = config.pluginmanager.getplugin("terminalreporter")
    for kernel in sorted(wanted):
        ready.add(kernel)
        try:
            prepare(kernel, python=True, work=Work(_lines(reporter.write_line)))
        except LabError as error:  # its tests fail or are skipped, by `PROBEWRIGHT_REAL`
            reporter.write_line(f"kernel {kernel}: {error}; {error.remedy}")


def _lines(write: Callable[[str], None]) -> Callable[[Progress], None]:
    """Return a receiver of progress that writes a line for each step, and each tenth of it."""
    last = ""

    def say(step: Progress) -> None:
        nonlocal last
        line = step.text if step.fraction is None else f"{step.text}: {step.fraction // 0.1 * 10:.0f} %"
        if line != last:
            write(line)
            last = line

    return say
