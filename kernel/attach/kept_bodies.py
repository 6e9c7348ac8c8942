"""Keep the code of the functions that probes are judged by, as far as it was read on this boot.

Apart from `kernel.attach.function_body`, which reads it: its imports are needed with the first probe on code.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from foreign.refusal import InputRefusal
from kernel.connection.kernel_info import KernelInfo

if TYPE_CHECKING:
    from kernel.attach.function_body import BodyReader
    from probes.code.body import FunctionBody

_MOST: Final = 64
"""Most functions whose code is kept; one of 10 kB takes some 2 MB when decoded."""


class FunctionBodies:
    """Code of functions by name; a text is judged at each key, the kernel's memory is read once."""

    def __init__(self, info: KernelInfo) -> None:
        self._info = info
        self._reader: BodyReader | None = None
        self._kept: OrderedDict[tuple[int, str], tuple[FunctionBody, ...] | InputRefusal] = OrderedDict()
        """Code by boot and name, or the reason why there is none; the latest last."""

    def read(self, name: str) -> tuple[FunctionBody, ...]:
        """Return the code of each function of a name; the first time may take a second on a remote host.

        Raises InputRefusal: it can't be read, or capstone is missing; TargetLost.
        """
        key = self._info.symbols.boot, name
        if key not in self._kept:
            try:
                self._kept[key] = self._read(name)
            except InputRefusal as error:
                self._kept[key] = error
            while len(self._kept) > _MOST:
                self._kept.popitem(last=False)
        found = self._kept[key]
        if isinstance(found, InputRefusal):
            raise found
        return found

    def kept(self, name: str) -> tuple[FunctionBody, ...]:
        """Return the code of each function of a name, where it was read on this boot; never waits.

        Raises InputRefusal: it was not, or can't be read.
        """
        found = self._kept.get((self._info.symbols.boot, name))
        if found is None or isinstance(found, InputRefusal):
            raise found or InputRefusal(name, "its code was not read yet")
        return found

    def forget(self) -> None:
        """Forget the code: what is armed next must stand on instructions that are there now."""
        self._kept.clear()

    def _read(self, name: str) -> tuple[FunctionBody, ...]:
        from kernel.attach.explain import AttachExplainer
        from kernel.attach.function_body import BodyReader

        if self._reader is None:
            self._reader = BodyReader(self._info, AttachExplainer(self._info).attachability)
        return self._reader.bodies(name)
