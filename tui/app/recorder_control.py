"""Begin and end recordings of the watch's events: in a worker, one step at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App
from textual.notifications import SeverityLevel

from foreign.files import home_path
from tui.dialogs import dialogs
from tui.messages import RecordingChanged
from tui.notifications import Notices

if TYPE_CHECKING:
    from kernel.watch.watch import Watch


class RecorderControl:
    """The recording that is written, begun or finished; `RecordingChanged` reports each change."""

    def __init__(self, app: App[None], notices: Notices, refresh: Callable[[], None]) -> None:
        """Take the function that shows the places anew."""
        self._app = app
        self._notices = notices
        self._refresh = refresh
        self._doing = ""
        """Text of the change that is under way; empty: none is."""
        self.beginning: Path | None = None
        """Recording that is being begun; its types and symbols go in first."""
        self._to_end: Watch | None = None
        """Watch of the recording that is being begun, where it shall end as soon as it can; None: it goes on."""

    def ask(self, watching: Watch) -> None:
        """Ask for the file of a recording, and begin it; or ask whether to end the one that is written."""
        recorder, beginning = watching.recording.recorder, self.beginning
        if recorder is None and beginning is None:
            if not self.notify_change():
                name = time.strftime("probewright-%Y%m%d-%H%M%S.pwr")
                _ask_file(self._app, name, lambda path: self.toggle(path, watching))
            return
        name = recorder.path.name if recorder else beginning.name if beginning else ""
        details = ["The recording so far is kept." if recorder else "It is being begun; it ends as soon as it is."]
        dialogs.ask(self._app, f"End the recording {name}?", details, "End it", partial(self.end, watching))

    def toggle(self, path: Path, watching: Watch) -> None:
        """Write events to a recording from now on, or finish the one that is written."""
        if not self._doing:
            recorder = watching.recording.recorder
            begins = f"beginning {path}: types and symbols go in first, events wait for them …"
            self._doing = begins if recorder is None else f"finishing {recorder.path.name} …"
            self.beginning = path if recorder is None else None
            begun = self.beginning
            self._app.run_worker(lambda: self._change(begun, watching), thread=True, group="arm")
        self.notify_change()

    def end(self, watching: Watch) -> None:
        """Finish the recording that is written, or that is being begun as soon as it is."""
        if self.beginning is not None:
            self._to_end = watching
            self._doing = f"{self.beginning.name} ends as soon as its types and symbols are in …"
            self.notify_change()
        elif self.notify_change() or watching.recording.recorder is not None:
            self.toggle(Path(), watching)
        else:
            self._notices.notify("nothing is recorded any more", topic="recording")

    def notify_change(self) -> bool:
        """Notify of the change that is under way; return whether one is."""
        if self._doing:
            self._notices.notify_until_forgotten(self._doing, "recording")
        return bool(self._doing)

    def _change(self, path: Path | None, watching: Watch) -> None:
        from tui import kernel_jobs

        done = kernel_jobs.record(watching, path) if path else kernel_jobs.stop_recording(watching)
        self._app.post_message(done)

    def changed(self, event: RecordingChanged) -> None:
        """Notify of a recording that was begun or ended; end it where that was asked for meanwhile."""
        self._doing, self.beginning = "", None
        to_end, self._to_end = self._to_end, None
        severity: SeverityLevel = "error" if event.failed else "information"
        self._notices.notify(event.text, severity=severity, topic="recording")
        self._refresh()
        if to_end is not None and to_end.recording.recorder is not None:
            self.toggle(Path(), to_end)


def _ask_file(app: App[None], name: str, chosen: Callable[[Path], object]) -> None:
    """Ask for the file of a recording; `name`, a file in the working directory, is the default."""
    from tui.output.export_file import ExportRefused, require_free
    from widgets.dialogs.form import FormDialog, FormField

    def path_of(values: Mapping[str, str]) -> Path:
        return home_path(values["file"])

    def wrong(values: Mapping[str, str]) -> str:
        try:
            require_free(path_of(values), overwrite=False)
        except ExportRefused as error:
            return str(error)
        return ""

    def done(values: dict[str, str] | None) -> None:
        if values is not None:
            chosen(path_of(values))

    told = (
        "All events of the armed probes that come from now on are written to this new file; those on the screen are "
        f"not. w again ends the recording; `probewright FILE` opens it. Without a folder it is in {Path.cwd()}."
    )
    app.push_screen(FormDialog("Record to which file?", [FormField("file", name, told)], wrong), done)
