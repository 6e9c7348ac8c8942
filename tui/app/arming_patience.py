"""Show how far the arming of a probe is where it takes long, and let it be stopped."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple

from textual.app import App
from textual.screen import ModalScreen

from tui.notifications import Notices

if TYPE_CHECKING:
    from textual.timer import Timer

    from kernel.guards.arm_progress import ArmProgress
    from probes.command import Armable
    from widgets.dialogs.progress import ProgressDialog

_LOOK: Final = 0.5
"""Seconds after which the step is shown, and between two looks at it."""
_DIALOG: Final = 2.0
"""Seconds after which a dialog offers to stop it."""


class _Waiting(NamedTuple):
    probe: Armable
    progress: ArmProgress
    since: float
    """Time of `time.monotonic` at which arming began."""


class ArmingPatience:
    """Probes that are being armed for some time: the step of each, and a dialog for the oldest that is slow."""

    def __init__(self, app: App[None], notices: Notices) -> None:
        self._app = app
        self._notices = notices
        self._waiting: list[_Waiting] = []
        self._timer: Timer | None = None
        self._dialog: tuple[_Waiting, ProgressDialog] | None = None

    def begin(self, probe: Armable) -> ArmProgress:
        """Return the progress that arming a probe reports to."""
        from kernel.guards.arm_progress import ArmProgress

        progress = ArmProgress()
        self._waiting.append(_Waiting(probe, progress, time.monotonic()))
        if self._timer is None:
            self._timer = self._app.set_interval(_LOOK, self._look)
        return progress

    def end(self, probe: Armable) -> None:
        """Show nothing more of a probe that is armed now, or not."""
        self._waiting = [one for one in self._waiting if one.probe != probe]
        if not self._waiting and self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._dialog is not None and self._dialog[0].probe == probe:
            dialog, self._dialog = self._dialog[1], None
            if dialog.is_active:
                dialog.dismiss()
            elif dialog in self._app.screen_stack:  # help or a question lies over it
                dialog.close_when_on_top = True

    def _look(self) -> None:
        for one in self._waiting:
            if one.progress.step:
                self._notices.notify_until_forgotten(f"arming {one.probe}: {one.progress.step} …", f"arm {one.probe}")
        slow = next((one for one in self._waiting if time.monotonic() - one.since >= _DIALOG), None)
        if slow is not None and self._dialog is None and not isinstance(self._app.screen, ModalScreen):
            self._show_dialog(slow)

    def _show_dialog(self, one: _Waiting) -> None:
        from probes.command import short_subject
        from widgets.dialogs.progress import ProgressDialog

        dialog = ProgressDialog(
            f"arming {short_subject(one.probe)}", lambda: (one.progress.step, None), one.progress.cancel
        )
        self._dialog = one, dialog
        self._app.push_screen(dialog)
