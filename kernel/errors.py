"""Errors of targets.

KernelError
├── TargetUnusable        no probe can be armed there (no tracefs, lockdown, not root, host not reached)
│   ├── SingleTargetOnly  the target was named with others, and can be used alone only
│   ├── HostUnreachable   ssh failed to connect, or was disconnected before the agent or shell ran
│   ├── PasswordNeeded    ssh would have to prompt, and is not allowed to
│   ├── CommandNotStarted the file of a command is not there, or can't be executed
│   └── ConnectionGone    no reconnect is possible (guest ended, another kernel runs there)
├── TargetLost            the connection was lost, or the guest ended
│   └── StreamClosed      the stream has been closed by us
├── ProbeRefused          the kernel rejected a probe; carries its verdict
├── TooFast               in kernel.guards.limits: a probe was not armed, as its events would exceed the limits
├── ArmingCancelled       the user stopped arming; nothing of the probe is left
├── SettingChanged        an effect was not undone: somebody else has changed a setting since, or holds an event
└── FileRefused           one read or write failed; carries path and errno
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from probes.facts.facts import Trouble
    from probes.verdict import Verdict


class KernelError(Exception):
    """Base of all errors of this package; `remedy` tells the user what to do."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy

    @property
    def with_remedy(self) -> str:
        """The error and its remedy, in one line."""
        return f"{self}; {self.remedy}" if self.remedy else str(self)


class TargetUnusable(KernelError):
    """Target on which no probe can be armed."""

    def __init__(self, message: str, remedy: str = "", troubles: tuple[Trouble, ...] = ()) -> None:
        super().__init__(message, remedy)
        self.troubles = troubles


class SingleTargetOnly(TargetUnusable):
    """A target was named with other targets, but can be used alone only."""


class HostUnreachable(TargetUnusable):
    """Failed connection to a host; `was_connected`: it was lost before the agent or shell ran."""

    def __init__(self, message: str, remedy: str = "", *, was_connected: bool = False) -> None:
        super().__init__(message, remedy)
        self.was_connected = was_connected


class PasswordNeeded(TargetUnusable):
    """ssh would have prompted for a password or about a host key, and was not allowed to."""


class ConnectionGone(TargetUnusable):
    """The machine or kernel at the lost connection no longer exists: retrying is useless."""


class CommandNotStarted(TargetUnusable):
    """A command could not be executed; `errno`: the reason."""

    def __init__(self, target: str, command: str, errno: int) -> None:
        super().__init__(f"{target}: {command}: {os.strerror(errno)}")
        self.errno = errno


class TargetLost(KernelError):
    """The connection or the machine is lost."""


class StreamClosed(TargetLost):
    """A stream was closed before or during a read."""

    def __init__(self) -> None:
        super().__init__("the stream is closed")


class ProbeRefused(KernelError):
    """The kernel rejected a line of `dynamic_events`, a filter, or a BPF program."""

    def __init__(self, verdict: Verdict, functions: Mapping[str, str] | None = None) -> None:
        """Set the verdict; `functions`: those whose ends take no BPF program, each with the kernel's reason."""
        error = verdict.error
        super().__init__(error.message if error else "refused", error.hint if error else "")
        self.verdict = verdict
        self.functions = dict(functions or {})


class ArmingCancelled(KernelError):
    """Arming a probe was cancelled; its steps are undone."""

    def __init__(self) -> None:
        super().__init__("stopped before it was armed: nothing of it is left")


class SettingChanged(KernelError):
    """An effect was not undone: a setting has no longer the value we wrote, or somebody else holds an event, too."""

    def __init__(self, path: str, text: str = "") -> None:
        super().__init__(text or f"{path} was changed by someone else meanwhile, and stays as it is")
        self.path = path


class FileRefused(KernelError):
    """A system call on a file of the target failed."""

    def __init__(self, path: str, errno: int) -> None:
        super().__init__(f"{path}: {os.strerror(errno)}")
        self.path = path
        self.errno = errno
