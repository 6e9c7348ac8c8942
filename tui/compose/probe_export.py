"""Write the probe on the screen for another tool, in a dialog."""

from __future__ import annotations

from foreign.files import home_path
from kernel.connection.planner import Planner
from probes.command import Armable
from probes.names import identifier
from tui.output.probe_exports import offers, save
from widgets.dialogs.probe_export_dialog import DialectText


def dialect_texts(planner: Planner, probe: Armable) -> list[DialectText]:
    """Return the probe in each dialect; asks the target, as probes on events and programs have to be looked up."""
    stem = identifier(probe.subject.rpartition("/")[2])
    return [
        DialectText(one.dialect.title, f"{stem}-{one.dialect.name}{one.dialect.suffix}", one.text, one.notes)
        for one in offers(planner, [probe])
    ]


def save_text(text: str, path: str) -> str:
    """Write a text to a new file; return why it was not written, empty: it was."""
    try:
        save(text, home_path(path))
    except OSError as error:
        return (error.strerror if isinstance(error, OSError) else str(error)) or str(error)
    return ""
