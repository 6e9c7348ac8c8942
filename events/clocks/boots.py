"""Number the boots of a machine by row: addresses of code have other names in each boot."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ID_BITS = 32
ID_MASK = (1 << ID_BITS) - 1


def task_key(pid: int, boot: int) -> int:
    """Return a number for a thread id in a boot, as another boot gives ids again; in boot 0 the id itself."""
    return pid if pid < 0 else boot << ID_BITS | pid


class Boots:
    """Boot in which each row of a store was recorded; rows may be dropped, or not added yet."""

    def __init__(self, first: int = 0) -> None:
        """Take the number of the boot that the first rows are of."""
        self._first = first
        self.starts: list[int] = []
        """First row of each later boot."""

    @property
    def latest(self) -> int:
        """Number of the boot that rows to come are of."""
        return self._first + len(self.starts)

    def begin(self, row: int) -> None:
        """Start the next boot with a row."""
        self.starts.append(row)

    def of(self, row: int) -> int:
        """Return the boot of a row."""
        return self._first + bisect_right(self.starts, row)

    def of_rows(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the boot of each of some rows."""
        import numpy as np

        return self._first + np.searchsorted(self.starts, rows, side="right")
