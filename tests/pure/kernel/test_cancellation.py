"""An attempt to reach a machine ends when it is given up, at whatever step its remote host has stopped to answer."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from kernel.errors import TargetLost, TargetUnusable
from kernel.hosts.opening import open_host
from kernel.remote.address import Address
from kernel.remote.cancellation import CANCELLED, disconnect_on_cancel
from kernel.remote.connect import open_connection
from tests.pure.remote_hosts import eventually
from tui.opening import Opening

LONG = 50.0
"""Seconds: fewer than the remote host is waited for, and far more than it takes to give up."""
SSH = """#!/bin/sh
# Stands for ssh: the shell of a machine, where python3 is the program beside this one.
case $* in *ControlMaster=no*) exit 1;; esac
PATH=$(dirname "$0"):$PATH exec sh
"""
PYTHON = """#!{python} -S
import ctypes, re, sys, time
ctypes.CDLL(None).prctl(1, 9)  # as if it were one process with ssh
if "{step}" != "python":
    print(re.search("write[(]'([0-9a-f]+)'", sys.argv[-1])[1], flush=True)
open("{at}", "w").close()
time.sleep(1000)
"""


@pytest.fixture(params=["python", "agent"])
def silent(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine that says nothing from a step on: Python does not begin, or the agent says no hello.

    The file is there once it has come to that.
    """
    at = tmp_path / "at"
    for name, text in (("ssh", SSH), ("python3", PYTHON.format(python=sys.executable, step=request.param, at=at))):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return at


@pytest.mark.parametrize("way", ["reach", "application", "one of several hosts"])
def test_an_attempt_at_a_silent_machine_is_given_up(silent: Path, way: str) -> None:
    cancel, failed = threading.Event(), list[BaseException]()

    def attempt() -> None:
        try:
            if way == "reach":
                open_connection(Address("box"), cancel=cancel)
            else:
                open_host("ssh://box", lambda *_: None, cancel)
        except TargetUnusable as error:
            failed.append(error)

    if way == "application":
        thread: threading.Thread = Opening("ssh://box")
        cancel = thread.cancel  # type: ignore[attr-defined]
    else:
        thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    assert eventually(silent.exists)
    cancel.set()
    thread.join(LONG)
    assert not thread.is_alive()
    if isinstance(thread, Opening):
        with pytest.raises(TargetUnusable, match=CANCELLED):
            thread.wait()
    else:
        assert [str(error) for error in failed] == [CANCELLED]


def test_whoever_waits_for_an_answer_is_told_that_it_was_given_up() -> None:
    cancel, cut = threading.Event(), threading.Event()
    with pytest.raises(TargetUnusable, match=CANCELLED), disconnect_on_cancel(cancel, cut.set):
        cancel.set()
        assert cut.wait(LONG)
        raise TargetLost("the connection was lost")


def test_what_is_over_is_not_cut_any_more() -> None:
    cancel, cut = threading.Event(), list[str]()
    before = set(threading.enumerate())
    with disconnect_on_cancel(cancel, lambda: cut.append("cut")):
        (looks,) = set(threading.enumerate()) - before
    cancel.set()
    looks.join(LONG)
    assert cut == []
    with (
        pytest.raises(TargetLost, match="by itself"),
        disconnect_on_cancel(threading.Event(), lambda: cut.append("cut")),
    ):
        raise TargetLost("cut by itself")
