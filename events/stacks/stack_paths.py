"""Represent a stack as a path from the outermost frame inwards, and shape it: reversed, or folded by module."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from events.stacks.stack import Frame

_MODULE: Final = re.compile(r" \[([^\[\]]+)\]$")
"""Module behind the name of a function, as in `ext4_readdir [ext4]`."""
_KERNEL: Final = "kernel"
_UNKNOWN: Final = "[unknown]"


class FrameKind(enum.Enum):
    """Kind of code that a frame is of."""

    KERNEL = "the kernel itself"
    MODULE = "a module of the kernel"
    PROGRAM = "a program or a library"
    TASK = "a task, as the outermost frame"
    UNKNOWN = "an address without a symbol"


class PathFrame(NamedTuple):
    """Frame of a path."""

    name: str
    """Function, `ext4_readdir [ext4]` in a module; its address if that has no symbol; foreign text."""
    kind: FrameKind = FrameKind.KERNEL

    @property
    def module(self) -> PathFrame:
        """Frame that stands for all functions of the same module."""
        if self.kind is FrameKind.KERNEL:
            return PathFrame(_KERNEL)
        if self.kind is FrameKind.UNKNOWN:
            return PathFrame(_UNKNOWN, self.kind)
        found = _MODULE.search(self.name)
        return PathFrame(f"[{found[1]}]" if found else self.name, self.kind)


Path = tuple[PathFrame, ...]
"""Frames, the outermost first."""


class Shape(NamedTuple):
    """Form in which paths are put into a tree."""

    bottom_up: bool = False
    """True: the innermost function is the root, and callers are below it."""
    by_module: bool = False
    """True: neighbouring frames of one module are one frame."""

    def of(self, path: Path) -> Path:
        """Return a path in this form."""
        if self.by_module:
            path = tuple(frame for frame, _ in groupby(frame.module for frame in path))
        return path[::-1] if self.bottom_up else path


def kernel_path(frames: Sequence[Frame]) -> Path:
    """Return a kernel stack, whose innermost frame is first, as a path."""
    return tuple(_kernel_frame(frame) for frame in reversed(frames))


def task_path(name: str) -> Path:
    """Return a task as the outermost frame of a path."""
    return (PathFrame(name, FrameKind.TASK),)


def names_of(path: Iterable[PathFrame]) -> tuple[str, ...]:
    """Return the names of frames."""
    return tuple(frame.name for frame in path)


def _kernel_frame(frame: Frame) -> PathFrame:
    if not frame.symbol or frame.symbol.startswith("0x"):
        return PathFrame(frame.text, FrameKind.UNKNOWN)
    return PathFrame(frame.function, FrameKind.MODULE if _MODULE.search(frame.symbol) else FrameKind.KERNEL)
