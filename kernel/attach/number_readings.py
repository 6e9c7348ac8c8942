"""Read memory and files of a kernel for the verdict on a monitor, before it is armed."""

from __future__ import annotations

import errno
from typing import Final

from foreign.text import encode_text
from kernel.agent.number_readers import number_in
from kernel.attach.kcore import PATH, Kcore
from kernel.errors import FileRefused
from kernel.target import Target
from probes.facts.lookups import NotReadable

_FILES: Final = "numbers of files are sampled without it: of=/proc/vmstat:nr_free_pages"
_REASONS: Final = {
    errno.EPERM: f"it takes root (CAP_SYS_RAWIO), and no lockdown for confidentiality; {_FILES}",
    errno.EACCES: f"it takes root; {_FILES}",
    errno.ENOENT: f"this kernel has none (CONFIG_PROC_KCORE); {_FILES}",
}


class NumberReadings:
    """Lookups of memory and files on one target."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def memory(self, address: int, size: int) -> bytes:
        """Return bytes of memory. Raises NotReadable."""
        try:
            found = Kcore(self._target).read(address, size)
        except FileRefused as error:
            raise NotReadable(f"{PATH} can't be read: {_REASONS.get(error.errno, str(error))}") from None
        if len(found) < size:
            raise NotReadable(f"nothing is mapped at {address:#x}")
        return found

    def file(self, path: str, limit: int) -> bytes:
        """Return the begin of a file. Raises NotReadable."""
        try:
            return self._target.read(path, limit)
        except FileRefused as error:
            raise NotReadable(str(error)) from None

    @staticmethod
    def number_in(text: bytes, key: str, column: int, scale: int) -> int | None:
        """Return a number as monitors find it; None: there is none."""
        return number_in(text, encode_text(key), column, scale)
