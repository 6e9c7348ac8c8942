"""A file on a disk that is full."""

from __future__ import annotations

from pathlib import Path

from tui.output.export_file import ExportFile


class FullExportFile(ExportFile):
    """File that takes no byte."""

    def __init__(self, path: Path, *, overwrite: bool = False) -> None:
        super().__init__(path, overwrite=overwrite)
        self.out.close()
        self.out = open("/dev/full", "wb", buffering=0)  # noqa: SIM115 - as ExportFile has it
