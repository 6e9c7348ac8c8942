"""Errors of a lab.

KernelError
└── LabError            something is missing, or could not be fetched, built or booted; `remedy` tells what to do
    └── LabCancelled    the user cancelled
"""

from __future__ import annotations

from kernel.errors import KernelError


class LabError(KernelError):
    """Failure to make a lab."""


class LabCancelled(LabError):
    """The `cancel` event was set."""

    def __init__(self) -> None:
        super().__init__("cancelled")
