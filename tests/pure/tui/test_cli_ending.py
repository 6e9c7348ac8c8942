"""A signal that comes where Python can't raise ends a command all the same."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[3]
PROGRAM = """
import os, sys, time, types, weakref
import tui.cli.main
from tui.cli.follow.signals import stoppable

class Thing:
    pass

class Ending:
    def __del__(self):
        os.kill(os.getpid(), {number})
        sum(range(10))

def in_callback():
    thing = Thing()
    gone = weakref.ref(thing, lambda _: os.kill(os.getpid(), {number}))
    del thing

def in_destructor():
    Ending()

def go_on():
    {place}()
    time.sleep(600)

def plain(arguments):
    go_on()

def stopped(arguments):
    with stoppable():
        go_on()
    print("taken away", flush=True)
    return 0

module = sys.modules["tui.cli.commands.waiting"] = types.ModuleType("tui.cli.commands.waiting")
module.run = {command}
sys.exit(tui.cli.main.run(types.SimpleNamespace(command="waiting")))
"""


@pytest.mark.parametrize("place", ["in_callback", "in_destructor"])
@pytest.mark.parametrize(("command", "status", "said"), [("plain", 130, ""), ("stopped", 0, "taken away\n")])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_is_not_lost(place, command, status, said, number):
    program = PROGRAM.format(place=place, command=command, number=int(number))
    done = subprocess.run([sys.executable, "-c", program], cwd=TOP, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == (said, "", status)
