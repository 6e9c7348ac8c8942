"""Boot a guest of the lab with the probe that is built, and open the events of its boot."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App

from foreign.files import home_path
from kernel.errors import KernelError
from tui.app.target_control import TargetControl
from tui.dialogs import dialogs
from tui.messages import BootRehearsed
from tui.notifications import Notices

if TYPE_CHECKING:
    from kernel.connection.planner import Planner
    from probes.command import Armable
    from widgets.dialogs.progress import ProgressDialog

_TOPIC = "boot"


class BootControl:
    """The one rehearsal at a time, in a worker; `BootRehearsed` reports its end."""

    def __init__(
        self, app: App[None], notices: Notices, target: TargetControl, open_target: Callable[[str], object]
    ) -> None:
        """Take the function that opens a recording in place of the target."""
        self._app = app
        self._notices = notices
        self._target = target
        self._open_target = open_target
        self._cancel: threading.Event | None = None
        """Event that stops the rehearsal under way; None: none is."""
        self._state: tuple[str, float | None] = ("", None)
        self._progress: ProgressDialog | None = None

    def ask(self, planner: Planner, probe: Armable) -> None:
        """Ask for the file of the recording, and begin; notify where the open target is no lab."""
        spec = self._target.opened
        if spec != "lab" and not spec.startswith(("lab:", "lab,")):
            text = "a guest of the lab is booted with the probe: open one as the target first, lab:7.2 or lab:full"
            self._notices.notify(text, topic=_TOPIC)
        elif self._cancel is not None:
            self._notices.notify("a guest is being booted already", topic=_TOPIC)
        else:
            self._ask_file(lambda path, seconds: self._begin(planner, probe, spec, path, seconds))

    def _ask_file(self, chosen: Callable[[Path, float], object]) -> None:
        from tui.output.export_file import ExportRefused, require_free
        from widgets.dialogs.form import FormDialog, FormField

        def wrong(values: Mapping[str, str]) -> str:
            try:
                require_free(home_path(values["file"]), overwrite=False)
                return "" if 0 <= float(values["seconds"]) <= 3600 else "seconds: 0 to 3600"
            except ExportRefused as error:
                return str(error)
            except ValueError:
                return "seconds are a number"

        def done(values: dict[str, str] | None) -> None:
            if values is not None:
                chosen(home_path(values["file"]), float(values["seconds"]))

        lines = [
            FormField("file", time.strftime("boot-%Y%m%d-%H%M%S.pwr"), "The events go in, and it is opened then."),
            FormField("seconds", "0", "Time to wait after the boot before they are read."),
        ]
        self._app.push_screen(FormDialog("Record the boot of a guest to which file?", lines, wrong), done)

    def _begin(self, planner: Planner, probe: Armable, spec: str, path: Path, seconds: float) -> None:
        from widgets.dialogs.progress import ProgressDialog

        cancel = self._cancel = threading.Event()
        self._state = ("looking how this kernel is told of probes", None)
        self._progress = ProgressDialog(f"booting {spec} with the probe", lambda: self._state, cancel.set)
        self._app.push_screen(self._progress)
        self._app.run_worker(
            lambda: self._app.post_message(self._rehearse(planner, probe, spec, path, seconds, cancel)),
            thread=True,
            group="boot",
        )

    def _rehearse(
        self, planner: Planner, probe: Armable, spec: str, path: Path, seconds: float, cancel: threading.Event
    ) -> BootRehearsed:
        """Boot the guest; runs in a worker."""
        from kernel.boot.rehearsal import rehearse
        from kernel.lab.errors import LabCancelled
        from probes.export.dialect import CannotExport
        from probes.refusal import CannotLower
        from tui.boot.boot_requests import boot_request, reading_text

        def tell(text: str, fraction: float | None) -> None:
            self._state = (text, fraction)

        try:
            request = boot_request(planner, [probe])
            reading = rehearse(spec, request, path, seconds=seconds, progress=tell, cancel=cancel)
        except LabCancelled:
            return BootRehearsed(None, "")
        except CannotExport as error:
            return BootRehearsed(None, "\n".join(error.reasons))
        except CannotLower as error:
            return BootRehearsed(None, error.refusal.message, error.refusal.hint)
        except KernelError as error:
            return BootRehearsed(None, str(error), error.remedy)
        except OSError as error:
            return BootRehearsed(None, f"{error.filename or path}: {error.strerror}")
        return BootRehearsed(path, reading_text(reading))

    def ended(self, event: BootRehearsed) -> None:
        """Open the recording, or show why there is none."""
        self._cancel, progress, self._progress = None, self._progress, None
        if progress is not None and self._app.screen is progress:
            progress.dismiss()
        elif progress is not None:
            progress.close_when_on_top = True
        if event.path is not None:
            dialogs.close_all(self._app)
            self._notices.notify(event.text, title="boot", topic=_TOPIC)
            self._open_target(str(event.path))
        elif event.text:
            dialogs.show_trouble(self._app, "the boot was not recorded", event.text, event.remedy)
        else:
            self._notices.notify("the boot was stopped; nothing was recorded", topic=_TOPIC)

    def cancel(self) -> None:
        """Stop a rehearsal under way: the application ends."""
        if self._cancel is not None:
            self._cancel.set()
