"""A run's failures are tried once more, alone; those that pass then are listed with their first failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
TESTS = """
import os
from pathlib import Path
import pytest

def test_steady():
    Path("steady").open("a").write("x")

@pytest.mark.parametrize("value", ["a", "b c"])
def test_once(value):
    seen = Path("seen " + value)
    print("printed by", value)
    if not seen.exists():
        seen.touch()
        assert value == "the first time"

@pytest.fixture
def shaky():
    yield
    if not Path("torn").exists():
        Path("torn").touch()
        raise RuntimeError("teardown broke")

def test_teardown(shaky):
    pass

def test_never():
    assert "NEVER" not in os.environ, "it never passes"

def test_death():
    if "DEATH" in os.environ:
        os._exit(3)
"""
RUN = ("--failures", "failures")
SECOND = ("--second-try", "failures")
WORKERS = ("-p", "xdist", "-n", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["tests.second_try"]\n')
    (tmp_path / "test_it.py").write_text(TESTS)
    return tmp_path


def run(folder: Path, *words: str, **env: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--rootdir", str(folder), "-p", "no:cacheprovider", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(TOP), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "100", **env},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def passed_then(output: str) -> str:
    return output.partition(" passed at the second try ")[2]


def test_failures_by_chance_make_a_green_run_and_are_listed_last(folder: Path) -> None:
    assert run(folder, *RUN)[0] == 1
    status, output = run(folder, *SECOND)
    assert status == 0, output
    assert (folder / "steady").read_text() == "x"  # what passed is not run again
    listed = passed_then(output)
    for words in ("test_it.py::test_once[a]", "test_it.py::test_once[b c]", "test_it.py::test_teardown"):
        assert words in listed
    for words in ("assert 'a' == 'the first time'", "printed by b c", "RuntimeError: teardown broke"):
        assert words in listed
    assert "3 passed, 3 deselected" in listed


def test_a_failure_is_shown_before_the_run_ends(folder: Path) -> None:
    (folder / "test_kill.py").write_text("import os\ndef test_kill():\n    os._exit(3)\n")
    status, output = run(folder, *RUN, "test_it.py", "test_kill.py")
    assert status == 3
    assert "test_it.py::test_teardown: teardown" in output and "RuntimeError: teardown broke" in output


def test_a_failure_that_stays_fails_the_second_try(folder: Path) -> None:
    assert run(folder, *RUN, NEVER="1")[0] == 1
    status, output = run(folder, *SECOND, NEVER="1")
    assert status == 1
    assert "test_never" not in passed_then(output).partition("short test summary")[0]
    assert "test_once[a]" in passed_then(output)


def test_failures_of_several_runs_are_tried_together(folder: Path) -> None:
    assert run(folder, *RUN, "-k", "once and a")[0] == 1
    assert run(folder, *RUN, "-k", "steady")[0] == 0
    assert run(folder, *RUN, "-k", "teardown")[0] == 1
    status, output = run(folder, *SECOND)
    assert status == 0
    assert "test_once[a]" in passed_then(output) and "test_teardown" in passed_then(output)


def test_a_worker_that_dies_is_a_failure_like_others(folder: Path) -> None:
    assert run(folder, *RUN, *WORKERS, "-k", "death", DEATH="1")[0] == 1
    status, output = run(folder, *SECOND)
    assert status == 0, output
    assert "crashed while running" in passed_then(output)


def test_no_second_try_for_a_run_that_broke(folder: Path) -> None:
    assert run(folder, *RUN, "-k", "once")[0] == 1
    (folder / "test_broken.py").write_text("import no_such_module\n")
    assert run(folder, *RUN, *WORKERS)[0] == 1
    status, output = run(folder, *SECOND)
    assert status == 4
    assert "no second try" in output


def test_no_second_try_without_a_failure_or_where_a_test_is_gone(folder: Path) -> None:
    assert run(folder, *RUN, "-k", "steady")[0] == 0
    assert run(folder, *SECOND)[0] == 4
    assert run(folder, *RUN, "-k", "once")[0] == 1
    (folder / "test_it.py").write_text("def test_other():\n    pass\n")
    status, output = run(folder, *SECOND)
    assert status == 4
    assert "not collected now: test_it.py::test_once[a]" in output
