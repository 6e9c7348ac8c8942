"""What can go wrong with a lab.

KernelError
└── LabError            something is missing, could not be fetched, built or booted; `remedy` says the way out
    └── LabCancelled    the user changed their mind
"""

from __future__ import annotations

from kernel.errors import KernelError


class LabError(KernelError):
    """A lab could not be made."""


class LabCancelled(LabError):
    """The `cancel` event was set."""

    def __init__(self) -> None:
        super().__init__("cancelled")
