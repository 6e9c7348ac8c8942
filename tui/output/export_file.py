"""File of an export: it gets its own name only when it is complete."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from kernel.safe_files.new_file import create, publish


class ExportRefused(Exception):
    """Refusal to write a file; the text is the reason."""

    def __init__(self, why: str, *, file_exists: bool = False) -> None:
        super().__init__(why)
        self.file_exists = file_exists
        """True if a file of this name exists, and may be overwritten on request."""


def require_free(path: Path, *, overwrite: bool) -> None:
    """Raise ExportRefused if no file of this name can be created."""
    try:
        is_folder, has_place = path.is_dir(), path.parent.is_dir()
    except OSError as error:  # for example, the name is too long
        raise ExportRefused(f"{str(path)[:80]}: {error.strerror}") from None
    if is_folder:
        raise ExportRefused(f"{path} is a folder")
    if os.path.lexists(path):
        if stat.S_IFMT(path.lstat().st_mode) not in (stat.S_IFREG, stat.S_IFLNK):
            raise ExportRefused(f"{path} is no file")
        if not overwrite:
            raise ExportRefused(f"{path} is there already", file_exists=True)
    if not has_place:
        raise ExportRefused(f"{path.parent} is no folder")


class ExportFile:
    """File written as `NAME.part` and moved to its name at the end of a with block.

    An exception in the block removes the part, so that no incomplete file is mistaken for a complete one.
    """

    def __init__(self, path: Path, *, overwrite: bool = False) -> None:
        """Create the part.

        Raises:
            ExportRefused: the file exists already, or another export writes it.
            OSError: it can't be created.
        """
        self.path = path
        self._overwrite = overwrite
        require_free(path, overwrite=overwrite)
        self._part = path.with_name(f"{path.name}.part")
        try:
            self.out: BinaryIO = create(self._part)
            """Stream to write to."""
        except FileExistsError:
            raise ExportRefused(
                f"{self._part} is there: another export writes it, or one was killed and it can be removed"
            ) from None

    def keep(self) -> None:
        """Move the complete file to its name. Raises OSError; ExportRefused if another file was created meanwhile."""
        self.out.flush()
        self.out.close()
        try:
            publish(self._part, self.path, replace=self._overwrite)
        except FileExistsError:
            raise ExportRefused(f"{self.path} has come meanwhile, and was not overwritten") from None

    def discard(self) -> None:
        """Remove the incomplete part."""
        with contextlib.suppress(OSError):  # data that could not be written can't be flushed either
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
