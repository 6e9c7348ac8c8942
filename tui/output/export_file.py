"""The file that something is given out into: there under its own name only when it is whole."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from kernel.safe_files.new_file import create, publish


class ExportRefused(Exception):
    """It is not written; the text says why."""

    def __init__(self, why: str, *, taken: bool = False) -> None:
        super().__init__(why)
        self.taken = taken
        """There is a file of this name: one can say that it shall be overwritten."""


def require_free(path: Path, *, overwrite: bool) -> None:
    """Raises FileRefused where no file of this name can be begun."""
    try:
        is_folder, has_place = path.is_dir(), path.parent.is_dir()
    except OSError as error:  # too long a name, say
        raise ExportRefused(f"{str(path)[:80]}: {error.strerror}") from None
    if is_folder:
        raise ExportRefused(f"{path} is a folder")
    if os.path.lexists(path):
        if stat.S_IFMT(path.lstat().st_mode) not in (stat.S_IFREG, stat.S_IFLNK):
            raise ExportRefused(f"{path} is no file")
        if not overwrite:
            raise ExportRefused(f"{path} is there already", taken=True)
    if not has_place:
        raise ExportRefused(f"{path.parent} is no folder")


class ExportFile:
    """Written as `NAME.part` beside its place, and moved there at the end; used in a with block.

    What ends the block by an exception takes the part away, so that no half of a file is taken for a whole one.
    """

    def __init__(self, path: Path, *, overwrite: bool = False) -> None:
        """Begin a file.

        Raises:
            FileRefused: one is there already, or another export writes it.
            OSError: it can't be made.
        """
        self.path = path
        self._overwrite = overwrite
        require_free(path, overwrite=overwrite)
        self._part = path.with_name(f"{path.name}.part")
        try:
            self.out: BinaryIO = create(self._part)
            """To be written into."""
        except FileExistsError:
            raise ExportRefused(
                f"{self._part} is there: another export writes it, or one was killed and it can be removed"
            ) from None

    def keep(self) -> None:
        """It is whole. Raises OSError, FileRefused where another one has come meanwhile."""
        self.out.flush()
        self.out.close()
        try:
            publish(self._part, self.path, replace=self._overwrite)
        except FileExistsError:
            raise ExportRefused(f"{self.path} has come meanwhile, and was not overwritten") from None

    def discard(self) -> None:
        """It will not be whole: take the part away."""
        with contextlib.suppress(OSError):  # what could not be written can't be flushed either
            self.out.close()
        self._part.unlink(missing_ok=True)

    def __enter__(self) -> ExportFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if kind is not None:
            self.discard()
            return
        try:
            self.keep()
        except BaseException:
            self.discard()
            raise
