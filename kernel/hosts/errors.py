"""Errors of host groups."""

from __future__ import annotations

from kernel.errors import KernelError


class GroupError(KernelError):
    """A group does not exist, or its file can't be read; `remedy` tells the user what to do."""
