"""Comparison of the recording that is open with another one: asks for it, reads both, shows the view."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from textual.screen import Screen
from textual.worker import get_current_worker

from kernel.errors import KernelError
from tui.dialogs import dialogs
from tui.live.view_switch import ViewSwitch
from tui.present.ways_out import CHOOSE_TARGET
from tui.workbench import Workbench
from widgets.call_after import call_after

if TYPE_CHECKING:
    from events.differences.differences import RecordingComparison
    from tui.filter.filter import Filter
    from tui.views.compare.view import ComparisonView
    from widgets.dialogs.progress import ProgressDialog

_SOON: Final = 0.4
"""Seconds of reading after which its progress is shown."""
_TOPIC: Final = "compare"


class CompareControl:
    """The other recording, and the reading of both that is under way."""

    def __init__(
        self,
        screen: Screen[None],
        bench: Workbench,
        views: ViewSwitch,
        chosen: Filter,
        refresh: Callable[[], None],
    ) -> None:
        """Take the filter, which holds for both recordings, and the function that shows the line above the views."""
        self._screen = screen
        self._bench = bench
        self._views = views
        self._filter = chosen
        self._refresh = refresh
        self._other = ""
        """Path of the other recording; empty: none was chosen."""
        self._stop: threading.Event | None = None
        """Set to stop the reading that is under way; None: none is."""
        self._state: tuple[str, float | None] = ("", None)
        self._dialog: ProgressDialog | None = None

    @property
    def _opened(self) -> str:
        """Path of the recording that is open."""
        from kernel.connection.open_target import shipped_recording

        spec = self._bench.opening.spec
        return str(shipped_recording() or spec) if spec == "auto" else spec

    def forget(self) -> None:
        """Give up what is under way, and the other recording: another target is opened."""
        self.stop()
        self._other = ""

    def ask(self) -> None:
        """Ask for the recording to compare with."""
        watching = self._bench.current_watch
        if watching is None or not watching.info.holds_events:
            self._bench.notices.notify(
                f"a recording is compared with another, and none is open: {CHOOSE_TARGET}", topic=_TOPIC
            )
            return
        dialogs.choose_recording(self._screen.app, self._opened, self._chosen)

    def _chosen(self, file: str) -> None:
        self._other = file
        self.read()

    def read(self) -> None:
        """Read both recordings in a worker, with the filter that holds now; a reading under way is given up."""
        self.stop()
        stop = self._stop = threading.Event()
        self._state = "opening both recordings", None
        read = partial(self._read, (self._opened, self._other), self._filter.text, stop)
        self._screen.app.run_worker(read, thread=True, group="compare")
        call_after(self._screen, _SOON, partial(self._show_progress, stop))

    def stop(self) -> None:
        """Give up the reading that is under way."""
        if self._stop is not None:
            self._stop.set()
        self._stop = None
        self._close_progress()

    def _show_progress(self, stop: threading.Event) -> None:
        if self._stop is not stop or self._dialog is not None:
            return
        from widgets.dialogs.progress import ProgressDialog

        self._dialog = ProgressDialog("comparing two recordings", lambda: self._state, stop.set)
        self._screen.app.push_screen(self._dialog)

    def _close_progress(self) -> None:
        dialog, self._dialog = self._dialog, None
        if dialog is not None and self._screen.app.screen is dialog:
            dialog.dismiss()
        elif dialog is not None:
            dialog.close_when_on_top = True

    def _read(self, files: tuple[str, str], condition: str, stop: threading.Event) -> None:
        """Read both recordings; runs in a worker."""
        from events.conditions.condition_parser import ConditionError
        from events.differences.differences import compare
        from foreign.refusal import InputRefusal
        from tui.filter.filter import condition_error_text
        from tui.views.compare.reading import ReadingStopped, read_file, require_files

        def tell(text: str, fraction: float | None) -> None:
            self._state = text, fraction

        worker = get_current_worker()
        found: RecordingComparison | None = None
        why, remedy = "", ""
        try:
            require_files(*files)
            a, b = (read_file(file, condition, tell, lambda: stop.is_set() or worker.is_cancelled) for file in files)
            found = compare(a, b)
        except ReadingStopped:
            why = ""
        except KernelError as error:
            why, remedy = str(error), error.remedy
        except InputRefusal as error:
            why = str(error)
        except ConditionError as error:
            why = f"the filter does not hold for both: {condition_error_text(error)}"
        if not worker.is_cancelled:  # the application has not ended
            self._screen.app.call_from_thread(self._ended, stop, found, condition, why, remedy)

    def _ended(
        self, stop: threading.Event, found: RecordingComparison | None, condition: str, why: str, remedy: str
    ) -> None:
        if self._stop is not stop:
            return  # another reading has begun, or the target was left
        self._stop = None
        self._close_progress()
        if found is not None:
            cast("ComparisonView", self._views.by_name["compare"]).show(found, Path(self._other).name, condition)
            self._refresh()
        elif why:
            dialogs.show_trouble(self._screen.app, "the recordings were not compared", why, remedy)
        else:
            self._bench.notices.notify("the comparison was stopped", topic=_TOPIC)
