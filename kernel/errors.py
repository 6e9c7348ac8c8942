"""What can go wrong with a target.

KernelError
├── TargetUnusable      nothing can be armed there (no tracefs, lockdown, not root, host not reached)
│   ├── NotAmongSeveral it can be a target alone, and was named with others
│   ├── NotReached      ssh did not get there, or was cut off before the far side served us
│   ├── NotAsked        ssh has a question, and nobody could be asked
│   └── GoneForGood     what a lost target was will not come back (guest ended, another kernel runs there)
├── TargetLost          it was there and is gone (line cut, guest ended)
│   └── StreamClosed    what was read has been closed, by us
├── ProbeRefused        the kernel refused a probe; carries its verdict
├── TooFast             a probe was not armed: more events would come than are allowed
├── LeftAlone           a way back was not taken: someone else has changed the same since
└── FileRefused         one read or write failed; carries path and errno
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probes.facts.facts import Trouble
    from probes.verdict import Verdict


class KernelError(Exception):
    """Base of all errors of this package; `remedy` says the way out."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class TargetUnusable(KernelError):
    """Nothing can be armed on this target."""

    def __init__(self, message: str, remedy: str = "", troubles: tuple[Trouble, ...] = ()) -> None:
        super().__init__(message, remedy)
        self.troubles = troubles


class SingleTargetOnly(TargetUnusable):
    """It was named with other targets, and can be one alone only."""


class HostUnreachable(TargetUnusable):
    """No line to a host came about; `cut`: it was there, and was cut before the far side served us."""

    def __init__(self, message: str, remedy: str = "", *, cut: bool = False) -> None:
        super().__init__(message, remedy)
        self.cut = cut


class PasswordNeeded(TargetUnusable):
    """ssh would have asked a person for a password or about a host key, and was told not to."""


class ConnectionGone(TargetUnusable):
    """What was there before the line was cut is there no more: to try again is of no use."""


class TargetLost(KernelError):
    """The line or the machine went away."""


class StreamClosed(TargetLost):
    """A stream was read, or was being read, when it was closed."""

    def __init__(self) -> None:
        super().__init__("the stream is closed")


class ProbeRefused(KernelError):
    """The kernel refused a line of `dynamic_events` or a filter."""

    def __init__(self, verdict: Verdict) -> None:
        error = verdict.error
        super().__init__(error.message if error else "refused", error.hint if error else "")
        self.verdict = verdict


class SettingChanged(KernelError):
    """A setting was not put back: it does not say any more what we made it say."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} was changed by someone else meanwhile, and stays as it is")
        self.path = path


class FileRefused(KernelError):
    """A call on one file of the target failed."""

    def __init__(self, path: str, errno: int) -> None:
        super().__init__(f"{path}: {os.strerror(errno)}")
        self.path = path
        self.errno = errno
