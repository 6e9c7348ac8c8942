"""What is installed for running is a part of what is installed for working on it, and no more than that."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def locked(name):
    """Package and version -> its hashes."""
    text = (ROOT / name).read_text()
    found = {}
    for entry in re.split(r"\n(?=\S)", text.strip()):
        head = re.match(r"([\w.-]+==[\w.]+)", entry)
        assert head, entry
        found[head[1]] = set(re.findall(r"--hash=(sha256:[0-9a-f]{64})", entry))
    return found


def names(requirements):
    return {re.split(r"[^\w.-]", requirement)[0].lower() for requirement in requirements}


def would_do(target, tmp_path):
    """What make would run in a fresh clone."""
    done = subprocess.run(
        ["make", "-n", target, f"VENV={tmp_path}/venv"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_both_locks_agree_and_say_no_host():
    running, working = locked("requirements-run.lock"), locked("requirements.lock")
    assert all(running.values())
    assert running.items() <= working.items()
    for name in ("requirements-run.lock", "requirements.lock"):
        assert "://" not in (ROOT / name).read_text()


def test_the_lock_for_running_has_what_the_project_asks_for_and_no_tools():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    running = {package.partition("==")[0] for package in locked("requirements-run.lock")}
    assert names(project["dependencies"]) <= running
    assert not names(project["optional-dependencies"]["dev"]) & running


def test_running_installs_no_tools(tmp_path):
    run, test = would_do("run", tmp_path), would_do("test", tmp_path)
    assert "-r requirements-run.lock" in run
    assert "-r requirements.lock" not in run
    assert test.index("-r requirements-run.lock") < test.index("-r requirements.lock") < test.index("-m pytest")


def test_every_package_is_installed():
    """A folder that is forgotten here is missed only by who installs it for good."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    tops = {name.partition(".")[0] for name in told}
    found = {
        ".".join(path.parent.relative_to(ROOT).parts) for top in tops for path in (ROOT / top).rglob("__init__.py")
    }
    assert found == set(told)
