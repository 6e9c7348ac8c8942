"""Refuse a file that can't be written before anything is armed."""

from __future__ import annotations

from pathlib import Path

from tui.cli.status import UsageFault
from tui.output.export_file import ExportRefused, require_free


def free_file(name: str) -> Path:
    """Return the path of a file that can be created. Raises UsageFault."""
    try:
        require_free(Path(name), overwrite=False)
    except ExportRefused as error:
        raise UsageFault(str(error)) from None
    return Path(name)
