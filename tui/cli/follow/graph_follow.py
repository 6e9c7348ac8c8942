"""Start the tracer of a command, with its recording, and read its calls until the command ends."""

from __future__ import annotations

import argparse
import contextlib
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from events.clocks.boots import task_key
from events.text import UNNAMED
from kernel.errors import TargetLost
from kernel.watch.watch import Watch
from tui.cli.console.silence import reporting_silence
from tui.cli.console.waiting import waiting
from tui.cli.follow.clock import remeasure_clock
from tui.cli.follow.command_run import CommandRun
from tui.cli.follow.reconnect import reconnect, retry_after_reconnect
from tui.cli.follow.signals import SignalStop, flush_output, signals_deferred

_PATIENCE: Final = 0.2
"""Seconds between two checks for new events."""
_NAMES_EVERY: Final = 1.0
_MOST_NAMELESS: Final = 1 << 12


def start_tracer(
    watch: Watch, arguments: argparse.Namespace, path: Path | None, begin: Callable[[], object] | None = None
) -> str:
    """Start the tracer, and its recording if one is wanted; return an error message if the file can't be written.

    `begin`: starts it; None: the watch does.
    """
    if path is not None:  # before anything is traced: events are in the file whatever becomes of the connection
        prepare = partial(watch.recording.prepare, path)
        if failed := try_recording(path, lambda: retry_after_reconnect(watch, arguments, prepare)):
            return failed
    with waiting("arming the graph"):
        retry_after_reconnect(watch, arguments, lambda: _begin(begin or watch.begin))
    return try_recording(path, lambda: watch.record_to(path)) if path is not None else ""


def _begin(begin: Callable[[], object]) -> None:
    with signals_deferred():  # a half-started session would not be registered, and would stay
        begin()


def try_recording(path: Path, act: Callable[[], object]) -> str:
    """Start or stop a recording; return an error message if its file can't be written, else an empty string."""
    try:
        act()
    except OSError as error:
        return f"{path}: {error.strerror}"
    return ""


class GraphFollow:
    """Reader of a tracer's calls, until the time is over, enough were printed, or the recording is at its end."""

    def __init__(
        self,
        watch: Watch,
        arguments: argparse.Namespace,
        print_new: Callable[[], bool],
        command: CommandRun | None = None,
    ) -> None:
        """Take a watch that has begun.

        Args:
            watch: the watch.
            arguments: `seconds` and `reconnect` are looked at.
            print_new: prints calls that are new in the store; returns True if enough were printed.
            command: command that runs meanwhile, and ends it; None: there is none.
        """
        self._watch = watch
        self._arguments = arguments
        self._print_new = print_new
        self._command = command
        self._names_read_at = 0.0
        self._is_enough = False

    def run(self) -> None:
        """Print calls until the end; events read before a signal are printed too."""
        if self._watch.store is None:
            return
        seconds = self._arguments.seconds
        end = time.monotonic() + seconds if seconds else float("inf")
        self._watch.set_deadline(end)
        with contextlib.suppress(SignalStop), reporting_silence(self._watch):
            if self._command is not None:
                self._command.release()
            self._until_over(end)
            while self._watch.ended and not self._is_enough and reconnect(self._watch, self._arguments, (), end):
                self._until_over(end)
        if self._command is not None:
            self._command.stop()
        for _ in range(2):  # a second signal may arrive meanwhile, once
            with contextlib.suppress(SignalStop):
                self._finish()
                break

    def _until_over(self, end: float) -> None:
        has_data = threading.Event()
        self._watch.queue.on_data = has_data.set
        while (now := time.monotonic()) < end:
            has_data.wait(min(_PATIENCE, end - now))
            has_data.clear()
            self._is_enough = self._tick()
            flush_output()
            if self._command is not None:
                self._command.print_all()
            if self._is_enough or self._watch.ended or (self._command is not None and self._command.is_over):
                break

    def _finish(self) -> None:
        self._watch.set_deadline(time.monotonic())
        with signals_deferred():
            self._watch.end_reading()
        self._names_read_at = 0.0
        while not self._tick() and self._watch.intake.has_backlog:
            pass
        with signals_deferred():
            if self._watch.store is not None:
                self._watch.store.flush()
            self._print_new()

    def _tick(self) -> bool:
        """Print new calls of a part of the events; return True if enough were printed."""
        if time.monotonic() - self._names_read_at >= _NAMES_EVERY:
            self._names_read_at = time.monotonic()
            with contextlib.suppress(TargetLost):  # events received before are printed all the same
                self._watch.intake.know_names(self._watch.names())
            remeasure_clock(self._watch, self._arguments)
        with signals_deferred():
            self._watch.tick(0.0)  # new calls are printed before later events could displace them
            return self._print_new()


class NameReader:
    """Reader of the names of tasks whose calls are to be printed: once for each task, on a live watch."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._nameless: set[int] = set()
        """Tasks without a name when it was asked for."""

    def read(self) -> None:
        """Read the names of tasks now: a task may have another one since it was last asked for."""
        with contextlib.suppress(TargetLost):
            self._watch.intake.know_names(self._watch.names(cgroups=False))

    def learn(self, tasks: set[int]) -> None:
        """Read the names of tasks if one of some tasks (thread ids of the newest boot) lacks its name."""
        store = self._watch.store
        if store is None:
            return
        boot = store.boots.latest

        def lacks_name(task: int) -> bool:
            return task > 0 and store.task_names.name(task_key(task, boot)) == UNNAMED

        unnamed = set(filter(lacks_name, tasks - self._nameless))
        if unnamed:
            self.read()
            if len(self._nameless) > _MOST_NAMELESS:
                self._nameless.clear()
            self._nameless.update(filter(lacks_name, unnamed))
