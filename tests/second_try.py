"""Pytest options that tell a failure by chance from a fault: what failed is run once more, alone.

`--failures FILE` appends one JSON line for a run: its exit status and the text of each failure by test. Then
`--second-try FILE` runs only the tests named there, and lists those that passed now, each with the failure it had
before. `.ci/run` uses both; a run that ended otherwise than by failures can't be made good by a second try.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

_TESTS_PASSED_OR_FAILED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("second try")
    group.addoption("--failures", metavar="FILE", type=Path, help="append the run's failures to FILE, as a JSON line")
    group.addoption("--second-try", metavar="FILE", type=Path, help="run only the failures in FILE, once more")


@pytest.hookimpl(trylast=True)  # the reporter is there then
def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return  # the process that started the workers gets their reports
    if path := config.getoption("--failures"):
        config.pluginmanager.register(FailureLog(path, config.pluginmanager.getplugin("terminalreporter")))
    if path := config.getoption("--second-try"):
        config.pluginmanager.register(SecondTry(path))


class FailureLog:
    """Failures of one run: shown at once, as a run that is killed shows none, and written when it ends."""

    def __init__(self, path: Path, reporter: pytest.TerminalReporter) -> None:
        self._path = path
        self._reporter = reporter
        self._failures: dict[str, str] = {}
        self._uncollected = False

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._uncollected |= report.failed  # with workers the exit status is that of failed tests

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            parts = [self._failures.get(report.nodeid, ""), report.longreprtext, *map("\n".join, report.sections)]
            self._failures[report.nodeid] = "\n".join(parts).strip("\n")
            self._reporter.ensure_newline()
            self._reporter.section(f"{report.nodeid}: {report.when}, {report.duration:.0f} s", "_")
            self._reporter.line(self._failures[report.nodeid])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        status = pytest.ExitCode.INTERRUPTED if self._uncollected else exitstatus
        with self._path.open("a") as file:
            print(json.dumps({"status": int(status), "failures": self._failures}), file=file)


class SecondTry:
    """A run of what failed in earlier runs."""

    def __init__(self, path: Path) -> None:
        """Read the lines of `--failures`. Raises pytest.UsageError where a second try can't make them good."""
        runs = [json.loads(line) for line in path.read_text().splitlines()]
        self._failures = {test: text for run in runs for test, text in run["failures"].items()}
        self._passed: set[str] = set()
        if not self._failures or any(run["status"] not in _TESTS_PASSED_OR_FAILED for run in runs):
            raise pytest.UsageError(f"{path}: a run ended otherwise than by tests that failed; no second try")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        others = [item for item in items if item.nodeid not in self._failures]
        items[:] = [item for item in items if item.nodeid in self._failures]
        config.hook.pytest_deselected(items=others)
        if missing := self._failures.keys() - {item.nodeid for item in items}:
            raise pytest.UsageError(f"tests that failed before are not collected now: {', '.join(sorted(missing))}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._passed.add(report.nodeid)
        elif report.failed:
            self._passed.discard(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for number, test in enumerate(sorted(self._passed)):
            if not number:
                terminalreporter.section("passed at the second try")
            terminalreporter.section(test, "_")
            terminalreporter.line(self._failures[test])
