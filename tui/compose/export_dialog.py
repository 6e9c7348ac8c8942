"""Dialog that writes the probe on the screen for another tool."""

from __future__ import annotations

from pathlib import Path

from textual import on, work
from textual.message import Message

from kernel.connection.planner import Planner
from probes.command import Armable
from probes.names import identifier
from tui.output.probe_exports import ProbeExport, offers, save
from tui.workbench import Rehearsals
from widgets.dialogs.probe_export_dialog import DialectText, ProbeExportDialog


class DialectsTried(Message):
    """All dialects were tried."""

    def __init__(self, dialects: tuple[ProbeExport, ...]) -> None:
        super().__init__()
        self.dialects = dialects


class ProbeExportScreen(ProbeExportDialog):
    """Asks the target in a worker, for probes on events and programs have to be looked up."""

    def __init__(self, planner: Planner, probe: Armable, boots: Rehearsals) -> None:
        super().__init__(str(probe))
        self._boots = boots
        self._planner = planner
        self._probe = probe

    def on_mount(self) -> None:
        """Begin to look."""
        self._look()

    @work(thread=True, group="export")
    def _look(self) -> None:
        self.post_message(DialectsTried(offers(self._planner, [self._probe])))

    @on(DialectsTried)
    def _offered(self, event: DialectsTried) -> None:
        event.stop()
        stem = identifier(self._probe.subject.rpartition("/")[2])
        names = (f"{stem}-{one.dialect.name}{one.dialect.suffix}" for one in event.dialects)
        self.show(
            [
                DialectText(o.dialect.title, name, o.text, o.notes)
                for o, name in zip(event.dialects, names, strict=True)
            ]
        )

    @on(ProbeExportDialog.SaveRequested)
    def _save(self, event: ProbeExportDialog.SaveRequested) -> None:
        event.stop()
        try:
            save(event.text, Path(event.path).expanduser())
        except (OSError, RuntimeError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            self.notify(
                f"{event.path}: {why}; choose another name", title="not saved", severity="error", markup=False
            )
        else:
            self.notify(f"written: {event.path}", markup=False)

    @on(ProbeExportDialog.BootRequested)
    def _boot(self, event: ProbeExportDialog.BootRequested) -> None:
        event.stop()
        self._boots.ask(self._planner, self._probe)
