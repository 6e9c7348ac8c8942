"""The kernel with every tracer on, built from Debian's kernel source."""

from __future__ import annotations

from kernel.lab.errors import LabError
from kernel.lab.kernels import KernelImage
from kernel.lab.work import Work


def full(work: Work) -> KernelImage:
    raise LabError("later")
