"""Errors that end nothing, so that nobody sees them: of threads, tasks and finalizers, and what Textual only logs."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from rich.traceback import Traceback
from textual import Logger, LogGroup


class LoggedError(Exception):
    """An error that Textual wrote into its log, and went on: of a palette's provider, of a signal's subscriber."""


@contextmanager
def unheard_errors(patch: pytest.MonkeyPatch) -> Iterator[list[BaseException]]:
    """Collect them from now on; tasks only in loops that `hear_tasks` was called in."""
    errors: list[BaseException] = []
    write = Logger.__call__

    def of_thread(thread: threading.ExceptHookArgs) -> None:
        if thread.exc_value is not None:
            errors.append(thread.exc_value)

    def of_finalizer(ignored: Any) -> None:
        errors.append(ignored.exc_value)

    def of_log(logger: Logger, *objects: object, **named: Any) -> None:
        if logger._group is LogGroup.ERROR:
            errors.extend(LoggedError(_said(one)) for one in objects)
        write(logger, *objects, **named)

    patch.setattr(threading, "excepthook", of_thread)
    patch.setattr(sys, "unraisablehook", of_finalizer)
    patch.setattr(Logger, "__call__", of_log)
    yield errors


def hear_tasks(errors: list[BaseException]) -> None:
    """Have errors of this loop's tasks that nobody waits for come to `errors`."""

    def of_task(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        errors.append(context.get("exception") or LoggedError(context["message"]))

    asyncio.get_running_loop().set_exception_handler(of_task)


def _said(logged: object) -> str:
    if not isinstance(logged, Traceback):
        return str(logged)
    stack = logged.trace.stacks[0]
    return f"{stack.exc_type}: {stack.exc_value}" + "".join(f"\n  {at.filename}:{at.lineno}" for at in stack.frames)
