"""What can be wrong with a group of hosts."""

from __future__ import annotations

from kernel.errors import KernelError


class GroupError(KernelError):
    """A group is not there, or its file can't be read; `remedy` says the way out."""
