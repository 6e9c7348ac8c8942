"""Output of the commands: JSON objects, one a line, or text without control characters of foreign strings."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any

from events.json_text import json_line as json_line
from kernel.connection.kernel_info import KernelInfo
from kernel.errors import KernelError, TargetUnusable
from kernel.printable import plain as plain
from tui.cli.console.early import take_target
from tui.cli.console.waiting import print_lines, show_progress, waiting
from tui.cli.status import USAGE

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer


def connect(spec: str, *, arming: bool = False, patience: float = 0.0) -> KernelInfo:
    """Open a target for a command; progress goes to standard error.

    Args:
        spec: value of `--target`.
        patience: seconds for which to try again if the connection is lost before the target is open.
        arming: True if probes will be armed, which must not happen on a kernel other than the requested one. Raises
            TargetUnusable with the first obstacle.
    """
    if patience <= 0:
        return _open(spec, arming)
    from kernel.watch.reconnect import begun_anew

    def tell(error: KernelError) -> None:
        text = f"probewright: {error}; trying again for {patience:.0f} s"
        print(plain(text), file=sys.stderr, flush=True)

    return begun_anew(lambda: _open(spec, arming), patience, tell)


def _open(spec: str, arming: bool) -> KernelInfo:
    if spec == "lab" or spec.startswith(("lab:", "lab,")):
        print_lines()
    with waiting(f"opening {spec}"):
        target, reason, remedy = take_target(spec)
        info = KernelInfo(target)
        show_progress("reading what the kernel can do")
        try:
            _ = info.facts
        except BaseException:
            info.close()
            raise
    if reason and arming:
        info.close()
        raise TargetUnusable(f"this machine can't be probed: {reason}", remedy)
    if reason:
        print(
            plain(f"probewright: {target.name} ({info.facts.title}), not this machine: {reason}"),
            file=sys.stderr,
        )
    if info.is_truncated:
        print(plain(f"probewright: {target.name}: the recording is cut short; its end is missing"), file=sys.stderr)
    fatal = [trouble for trouble in info.facts.troubles if trouble.fatal]
    if arming and target.is_kernel and fatal:
        info.close()
        raise TargetUnusable(f"{target.name}: {fatal[0].what}", fatal[0].remedy, info.facts.troubles)
    return info


def require_connection(info: KernelInfo) -> None:
    """Raise TargetLost if the connection was lost meanwhile, even if the output did not need the missing answer."""
    error = getattr(info.target, "connection_error", None)
    if error is not None:
        raise error


def emit(value: dict[str, Any]) -> None:
    """Print one JSON object on a line of its own, and flush."""
    print(json_line(value), flush=True)


def usage_error(why: str) -> int:
    """Print on standard error why the arguments can't be used; return the exit status."""
    print(f"probewright: {plain(why)}", file=sys.stderr)
    return USAGE


def line(text: str) -> str:
    """Return text as `plain` does, in one line: a kernel string must not look like another event."""
    return plain(text.replace("\n", "\\n"))


class PlainTerminal(io.RawIOBase):
    """Terminal as a file of bytes: control characters of foreign strings are escaped."""

    def write(self, data: Buffer) -> int:
        text = bytes(data).decode("utf-8", "backslashreplace").replace("\r\n", "\n")
        sys.stdout.write(plain(text))
        return len(memoryview(data))

    def flush(self) -> None:
        sys.stdout.flush()
