"""Presets: search, see what this target makes of one, choose its values, arm it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from textual import on, work
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.worker import get_current_worker

from kernel.connection.planner import Planner
from probes.command import Armable
from probes.presets.errors import PresetError
from probes.presets.judge import PresetJudgement
from probes.presets.schema import Preset
from tui.dialogs import preset_model
from tui.present.ways_out import LEAVE_FOR_TARGET
from widgets.call_after import call_after
from widgets.dialogs.form import FormDialog
from widgets.dialogs.preset_chooser import ListedPreset, PresetCheck, PresetChooser
from widgets.footer import KeyFooter

_PAUSE = 0.05
"""Seconds without a key before the target is asked about the preset under the cursor."""
_LOOK_EVERY = 0.25
"""Seconds between two looks at which target is open."""
_NONE_OPEN = "no target is open yet; what it says comes here when one is"


class PickedPreset(NamedTuple):
    """A preset that a person chose, with its probes."""

    preset: Preset
    probes: tuple[Armable, ...]
    given: Mapping[str, str]
    """Values of its parameters."""
    functions: tuple[str, ...] = ()
    """Functions whose calls are traced, where the preset is of failures."""
    recorded_events: tuple[str, ...] = ()
    """Paths of its events in a recording; empty: a kernel is open."""


class PresetScreen(ModalScreen[PickedPreset | None]):
    """The list of presets; dismissed with the choice, or None."""

    DEFAULT_CSS = """
    PresetScreen {
        align: center middle;
        background: $background 60%;
        & PresetChooser { width: 96%; max-width: 120; height: 90%; border: round $primary; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back", id="presets.back", tooltip="Leave without arming"),
        Binding("f1,question_mark", "app.help", "Help", show=True, id="presets.help", tooltip="Explain this"),
        Binding("ctrl+q", "app.quit", "Quit", show=False, id="presets.quit", tooltip="Leave probewright"),
    ]

    WAITS_FOR_TARGET: ClassVar[bool] = True
    """Marks a dialog that stays when a target is opened: it asks the new target."""

    def __init__(self, planner: Callable[[], Planner | None], name: str = "") -> None:
        """Take what gives the target that is open; None: none is yet. `name`: the preset that is searched first."""
        super().__init__()
        self._now_open = planner
        self._planner = planner()
        self._chooser = PresetChooser(name)
        self._looked: dict[ListedPreset, PresetCheck] = {}
        self._one_at_a_time = threading.Lock()
        """Held while the target is asked: the preset under the cursor is not asked about twice."""

    def compose(self) -> ComposeResult:
        yield self._chooser
        yield KeyFooter("app.help")

    def on_mount(self) -> None:
        self._chooser.focus_search()
        self._show_presets()
        for told in preset_model.passed_over():
            self.notify(told, title="presets", severity="warning", markup=False)
        self.set_interval(_LOOK_EVERY, self._follow_target)

    def _show_presets(self) -> None:
        presets = preset_model.listed()
        self._chooser.show(presets)
        self._look_at_all(presets)

    # -- what the target says --------------------------------------------------------------------------------------

    def _follow_target(self) -> None:
        """Ask anew where another target is open than the one that was asked."""
        planner = self._now_open()
        if planner is None or planner is self._planner:
            return
        self._planner = planner
        self._looked.clear()
        self._chooser.forget_checks()
        if (one := self._chooser.current) is not None:
            self._ask(one)
        self._look_at_all(preset_model.listed())

    @on(PresetChooser.Highlighted)
    def _highlighted(self, event: PresetChooser.Highlighted) -> None:
        event.stop()
        if type(event) is not PresetChooser.Highlighted:
            return
        one = event.one
        if one in self._looked:
            self._chooser.say(one, self._looked[one])
        else:
            call_after(self, _PAUSE, lambda: self._ask(one) if self._chooser.current == one else None)

    def _ask(self, one: ListedPreset) -> None:
        if self._planner is None:
            self._chooser.say(one, PresetCheck(False, _NONE_OPEN))
        elif one.preset is not None and one not in self._looked:
            self._look(self._planner, one, one.preset)

    @work(thread=True, group="look", exclusive=True)
    def _look(self, planner: Planner, one: ListedPreset, preset: Preset) -> None:
        self._look_at(planner, one, preset)

    def _look_at_all(self, presets: Sequence[ListedPreset]) -> None:
        """Ask about every preset, for the rows of those that the target can't answer."""
        if self._planner is not None:
            self._look_at_each(self._planner, presets)

    @work(thread=True, group="look at all", exclusive=True)
    def _look_at_each(self, planner: Planner, presets: Sequence[ListedPreset]) -> None:
        asked = get_current_worker()
        for one in presets:
            if asked.is_cancelled or planner is not self._planner:
                return
            if one.preset is not None:
                self._look_at(planner, one, one.preset)
        if not asked.is_cancelled:
            self.app.call_from_thread(self._rank, planner)

    def _rank(self, planner: Planner) -> None:
        if planner is self._planner and self.is_attached:
            self._chooser.rank()

    def _look_at(self, planner: Planner, one: ListedPreset, preset: Preset) -> None:
        """Ask the target about a preset, if nobody has; in a thread."""
        with self._one_at_a_time:
            if one in self._looked:
                return
            looked, _ = preset_model.look(planner, preset, {})
            self.app.call_from_thread(self._show, planner, one, looked)

    def _show(self, planner: Planner, one: ListedPreset, looked: PresetCheck) -> None:
        if planner is not self._planner:  # another one is asked
            return
        self._looked[one] = looked
        if self.is_attached:
            self._chooser.say(one, looked)

    # -- arming ----------------------------------------------------------------------------------------------------

    @on(PresetChooser.Chosen)
    def _chosen(self, event: PresetChooser.Chosen) -> None:
        event.stop()
        preset = event.one.preset
        if preset is None or self._planner is None:
            why = event.one.error if preset is None else f"no target is open yet: wait, or {LEAVE_FOR_TARGET}"
            self._refused(why)
        elif not preset.parameters:
            self._arm(preset, {})
        elif event.one in self._looked:
            self._ask_values(self._planner, event.one, preset)
        else:
            self._look_and_ask_values(self._planner, event.one, preset)

    @work(thread=True, group="judge", exclusive=True)
    def _look_and_ask_values(self, planner: Planner, one: ListedPreset, preset: Preset) -> None:
        self._look_at(planner, one, preset)
        self.app.call_from_thread(self._ask_values, planner, one, preset)

    def _ask_values(self, planner: Planner, one: ListedPreset, preset: Preset) -> None:
        """Ask for the values of a preset's parameters, unless the target can't do it with any."""
        if planner is not self._planner or not self.is_current or (looked := self._looked.get(one)) is None:
            return
        if looked.is_final:
            self._refused(looked.verdict)
            return

        def done(values: dict[str, str] | None) -> None:
            if values is not None:
                self._arm(preset, values)

        lines = preset_model.form_of(preset)
        self.app.push_screen(FormDialog(preset.title, lines, lambda v: preset_model.wrong_with(preset, v)), done)

    def _arm(self, preset: Preset, values: Mapping[str, str]) -> None:
        if self._planner is not None:
            self._judge(self._planner, preset, values)

    @work(thread=True, group="judge", exclusive=True)
    def _judge(self, planner: Planner, preset: Preset, values: Mapping[str, str]) -> None:
        looked, judgement = preset_model.look(planner, preset, values)
        if judgement is None or not looked.accepted:
            self.app.call_from_thread(self._refused, looked.verdict)
        else:
            if isinstance(judgement, PresetJudgement):
                probes = tuple(one.probe for one in judgement.probes)
                events = preset_model.recorded_events_of(planner.info, judgement)
                picked = PickedPreset(preset, probes, values, recorded_events=events)
            else:
                picked = PickedPreset(preset, (), values, judgement.functions)
            self.app.call_from_thread(self.dismiss, picked)

    def _refused(self, why: str) -> None:
        self.app.notify(why, title="not armed", severity="error", markup=False)

    # -- editing ---------------------------------------------------------------------------------------------------

    @on(PresetChooser.EditRequested)
    def _edit(self, event: PresetChooser.EditRequested) -> None:
        event.stop()
        try:
            path = preset_model.own_file(event.one)
            with self.app.suspend():
                preset_model.run_editor(path)
        except PresetError as error:
            self.app.notify(str(error), title="not edited", severity="error", markup=False)
        except SuspendNotSupported:
            self.app.notify(f"this terminal can't be given to an editor: edit {path}", severity="error", markup=False)
        self._looked.clear()
        self._chooser.forget_checks()
        with contextlib.suppress(OSError):
            self._show_presets()
