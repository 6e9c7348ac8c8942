"""The application: the parts that it has, the messages that they handle, and the commands that work everywhere."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, on
from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.notifications import SeverityLevel
from textual.reactive import var
from textual.screen import Screen
from textual.widgets import Input

from tui import messages
from tui.app.arming_control import ArmingControl
from tui.app.attempts import Attempts
from tui.app.boot_control import BootControl
from tui.app.key_words import KeyWords
from tui.app.keyboard import Keyboard, KeyDone
from tui.app.places import AppPlaces
from tui.app.reconnect_control import ReconnectControl
from tui.app.recorder_control import RecorderControl
from tui.app.target_control import TargetControl
from tui.app.trace_control import TraceControl
from tui.app.undo_list import TakeBackList
from tui.commands import WHY_NOT, bindings, why_not_bindings
from tui.dialogs import dialogs
from tui.messages import PartMessage
from tui.notifications import Notices
from tui.opening import Opening
from tui.present.event_times import ClockFace
from tui.present.ways_out import DISARM_ALL, WHAT_HELPS
from tui.refresh import RefreshLoop
from tui.theme import SIXTEEN
from widgets.notice import Notice
from widgets.safe_text import stand_ins
from widgets.search_line import paste_line

# The first paint must not wait for what is needed later: the kernel's side and the other places are imported when
# they are asked for.
if TYPE_CHECKING:
    from textual.command import Provider

    from events.loss_counts import LossCounts
    from kernel.connection.planner import Planner
    from kernel.hosts.fleet import Fleet
    from kernel.watch.watch import Watch
    from tui.dialogs.preset_screen import PickedPreset
    from tui.hosts.control import HostControl
    from tui.preview import PreviewReader


def _commands_by_name() -> type[Provider]:
    from tui.app.palette import CommandsByName

    return CommandsByName


def _presets_by_question() -> type[Provider]:
    from tui.app.palette import PresetsByQuestion

    return PresetsByQuestion


class Probewright(App[None]):
    """See the module. Keys and pasted text reach a widget through `keyboard` alone."""

    TITLE = "probewright"
    CSS = "Screen { layers: base; & VerticalScroll { scrollbar-size-vertical: 1; } }"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("app"), *why_not_bindings()]
    DEFAULT_MODE = "compose"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_commands_by_name, _presets_by_question}

    notice_lines: var[tuple[Notice, ...]] = var(())
    """Notices that the footers (`widgets.footer`) show, the oldest first."""

    def __init__(self, opening: Opening, preview: PreviewReader | None = None, fleet: Fleet | None = None) -> None:
        """Take the target that is being opened, a preview of it, and the hosts where there are several."""
        super().__init__()
        if self.console.color_system not in ("256", "truecolor"):
            self.register_theme(SIXTEEN)
            self.theme = SIXTEEN.name
        self.counts: LossCounts | None = None
        """Losses of the watch, at most a second old."""
        self.display_clock = ClockFace.KERNEL
        """Clock by which times are shown."""
        self.notices = notices = Notices(self, partial(setattr, self, "notice_lines"))
        self.keyboard = keyboard = Keyboard(self, notices, super().on_event)
        self.undo = TakeBackList(self, notices)
        self.target = TargetControl(self, notices, keyboard, opening, preview)
        self.refresh_loop = RefreshLoop(self, self._ticked, self.refresh_places)
        self.tracing = TraceControl(self, notices, keyboard, self._ticked, self.refresh_places)
        self.reconnect = ReconnectControl(self, notices, self.refresh_places, self._state_changed)
        self.recorder = RecorderControl(self, notices, self.refresh_places)
        self.boots = BootControl(self, notices, self.target, self.open_target)
        self.places = AppPlaces(self, self)
        self.key_words = KeyWords(self.target, self.places, several_hosts=fleet is not None)
        self.hosts: HostControl | None = None
        if fleet is not None:
            from tui.hosts.control import HostControl

            self.hosts = HostControl(self, self, fleet)
            self.add_mode("hosts", self.hosts.place)
        parts = self.undo, self.target, self.places, self.hosts
        self.arming = ArmingControl(self, notices, keyboard, *parts, self._state_changed)
        self._attempts = Attempts(self.reconnect, self.tracing, self.places, self.hosts)
        self._handlers = self._handlers_of_parts()
        # Commands of one part.
        self.action_compose = self.places.search
        self.action_reconnect, self.action_give_up = self._attempts.try_now, self._attempts.give_up
        self.action_help = partial(dialogs.show_help, self)

    def _handlers_of_parts(self) -> dict[type[PartMessage], Callable[[Any], None]]:
        """Return the part that handles a message, by its class."""
        handlers: dict[type[PartMessage], Callable[[Any], None]] = {
            messages.UndoOffered: lambda event: self.undo.add(event.description, event.undo),
            messages.EventsExpected: lambda _: self.places.expect_events(),
            messages.Previewed: lambda event: self._show_preview(event.reader),
            messages.ConnectFailed: self.target.failed,
            messages.TypesDamaged: self.target.damaged,
            messages.ProbeArmed: self.arming.armed,
            messages.SymbolsWanted: lambda _: self.target.read_symbols(),
            messages.ProbeTooFast: self.arming.too_fast,
            messages.ProbeRejected: self.arming.rejected,
            messages.Remedied: self.arming.remedied,
            messages.Disarmed: self.arming.disarmed,
            messages.RecordingChanged: self.recorder.changed,
            messages.BootRehearsed: self.boots.ended,
            messages.ConnectionRestored: self.reconnect.restored,
            messages.ConnectionLost: self.reconnect.lost,
            messages.GraphFailed: self.tracing.failed,
        }
        if (hosts := self.hosts) is not None:
            handlers[messages.HostsChanged] = lambda _: hosts.changed()
        return handlers

    @on(PartMessage)
    def _handle(self, event: PartMessage) -> None:
        self._handlers[type(event)](event)

    @property
    def opening(self) -> Opening:
        """The attempt to open the target; its thread may have ended."""
        return self.target.opening

    @property
    def planner(self) -> Planner | None:
        """The connection to the target; None: none is open yet."""
        return self.target.planner

    @property
    def current_watch(self) -> Watch | None:
        """The watch of the connection."""
        return self.target.current_watch

    # -- begin and end ---------------------------------------------------------------------------------------------

    async def on_mount(self) -> None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(ValueError, RuntimeError):  # only the main thread takes signals: a test's is not
                asyncio.get_running_loop().add_signal_handler(number, self.exit)
        if (read := self.target.begin()) is not None:
            self._show_preview(read)  # before the first picture
        self.screen_change_signal.subscribe(self, self.keyboard.place_changed, immediate=True)

    def on_ready(self) -> None:
        if self.hosts is not None:
            self.hosts.start()
            self.switch_mode("hosts")

    def on_unmount(self) -> None:
        self.reconnect.follow(None)  # the end waits for its thread, and for that of the opening
        self.opening.cancel.set()
        self.boots.cancel()
        gc.unfreeze()

    # -- keys and notifications ------------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and not event.is_forwarded:
            self.app_focus = True
            await self.keyboard.press(event)
        elif not isinstance(event, events.Paste) or event.is_forwarded:
            if isinstance(event, events.MouseDown) and not event.is_forwarded:
                self.notices.acted(answers=True)
            await super().on_event(event)
        elif self.keyboard.paste():
            # A line of Textual's own, as the palette has, would write control characters to the terminal, and drop
            # all lines but the first without a word.
            event.text = "\n".join(stand_ins(line.replace("\t", " ")) for line in event.text.splitlines())
            if isinstance(line := self.focused, Input) and type(line)._on_paste is Input._on_paste:
                paste_line(line, event.text)
            else:
                await super().on_event(event)

    @on(KeyDone)
    async def _key_done(self) -> None:
        await self.keyboard.key_done()

    def refresh_bindings(self) -> None:
        """Look anew at which keys work now. An application that ends has no screen, and timers may come after it."""
        if self.screen_stack:
            super().refresh_bindings()

    @property
    def clipboard(self) -> str:
        """Text that was copied; for a line of text the first of its lines, as of what is pasted."""
        text = super().clipboard
        if not isinstance(self.focused, Input):
            return text
        return stand_ins(next(iter(text.splitlines()), "").replace("\t", " "))

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Notify at the foot of the screen; with markup (Textual's own: a picture was saved) as Textual does."""
        if markup:
            super().notify(message, title=title, severity=severity, timeout=timeout, markup=markup)
        else:
            self.notices.notify(message, title=title, severity=severity, timeout=timeout)

    # -- the target ------------------------------------------------------------------------------------------------

    def _show_preview(self, reader: PreviewReader) -> None:
        if reader.preview is not None:
            self.places.preview(reader.preview)
        self.target.open_after_preview()

    def open_target(self, spec: str) -> None:
        """Open another target; the one that is open is left when the other is open."""
        self.places.compose.begin_search()
        self.target.open(spec)

    @on(messages.Connected)
    def _connected(self, event: messages.Connected) -> None:
        if not self.target.admits(event, stays=self.places.stay):
            return
        self.undo.clear()
        if self.planner is not None:
            self.reconnect.follow(None)
            self.target.leave(self.tracing.leave())
            self._follow(None)
        self.target.take(event)
        self.counts = None
        self.places.connected()
        self.refresh_bindings()  # more keys work, or others do
        if event.opening.fallback:
            self.notices.notify(event.opening.fallback, title="not this machine")
        self.call_after_refresh(self._watch, self.planner)

    def _watch(self, planner: Planner) -> None:
        watching = self.target.watch(planner)
        self.reconnect.follow(watching)
        self._follow(watching)
        if not planner.info.holds_events:
            if planner.info.target.is_kernel:
                self.target.find_leftovers(planner.info)
        elif self.target.replay(watching):
            self.refresh_loop.count()
            self.places.replayed()
            self.target.read_symbols()

    @on(messages.SymbolsRead)
    def _named(self, event: messages.SymbolsRead) -> None:
        self.target.symbols_read(event.info)
        self.places.names_changed()

    def _follow(self, watching: Watch | None) -> None:
        self.refresh_loop.follow(watching)
        self.places.watch_changed()

    # -- data ------------------------------------------------------------------------------------------------------

    @on(messages.DataArrived)
    def _data_arrived(self) -> None:
        self.refresh_loop.schedule_tick()
        self.tracing.schedule_tick()

    def _ticked(self) -> None:
        self.places.tick()
        if self.current_watch is not None and (error := self.current_watch.take_error()):
            self.reconnect.lose(self.current_watch, error)
        self.tracing.notify_end()

    @on(messages.LossesCounted)
    def _counted(self, event: messages.LossesCounted) -> None:
        if not self.screen_stack:  # the application ends
            return
        if not self.tracing.counted(event):
            if event.watch is not self.current_watch:
                return
            self.counts = event.counts
            for stopped in event.watch.guard.take():
                self.notices.notify(f"{stopped.text}; {WHAT_HELPS}", title="stopped", severity="error")
            event.watch.intake.know_names(event.names)
        self.places.names_changed()
        self.refresh_places()

    def _state_changed(self) -> None:
        """Show anew what is armed, and the keys and losses of a connection that was lost or made."""
        self.refresh_bindings()
        self.refresh_loop.count()
        self.refresh_places()

    def refresh_places(self) -> None:
        """Show anew what is armed and what was lost, and the key of a connection that is silent."""
        if self.screen_stack:
            self.reconnect.show_key()
            self.places.refresh()

    @on(messages.GraphStarted)
    def _graph_started(self, event: messages.GraphStarted) -> None:
        if self.tracing.begun(event):
            plan = event.watch.graph_plan
            self.places.show_graph("failures" if plan is not None and plan.returns else "graph")

    # -- commands --------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer F7 to F9 where a connection is lost, or several hosts are open; else the keys say why not."""
        if action == "why_not":
            return not self.check_action(str(parameters[0]), ())
        if action == "hosts":
            return self.hosts is not None
        if action == "reconnect":
            return self._attempts.can_reconnect
        return action != "give_up" or self._attempts.are_under_way

    def offers(self, action: str, screen: Screen[object]) -> bool:
        """Return False for an action, with its parameters, that cannot work on a screen with this target."""
        return not self.key_words.lack(action, screen)

    def words_of(self, action: str, label: str, help_text: str = "", key_id: str = "") -> tuple[str, str]:
        """Return label and help of an action on the target that is open, for footers, the palette and help."""
        return self.key_words.words(action, label, help_text, key_id)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        from tui.app.palette import commands_of

        return commands_of(self, screen)

    def action_command_palette(self) -> None:
        from tui.app.palette import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette())

    def action_live(self) -> None:
        self.switch_mode("live")

    def action_hosts(self) -> None:
        self.switch_mode("hosts")

    def action_edit(self) -> None:
        self.places.in_compose(self.places.compose.action_edit)

    def action_why_not(self, action: str) -> None:
        self.notices.notify(WHY_NOT[action], topic="why not")

    def action_targets(self) -> None:
        dialogs.choose_target(self, self.target.opened, self._target_chosen)

    def _target_chosen(self, spec: str) -> None:
        """Open a target; one that is open, with probes on it, is not left by mistake: the cursor begins on it."""
        from tui.dialogs.target_list import word_of

        stands = self.current_watch is not None and self.current_watch.live and not self.reconnect.can_try
        if stands and word_of(spec) == word_of(self.target.opened):
            self.notices.notify(f"{spec} stays open; to open it anew, disarm all first: {DISARM_ALL}")
        else:
            self.open_target(spec)

    def action_presets(self, name: str = "") -> None:
        def now_open() -> Planner | None:
            hosts = self.hosts.planner if self.hosts is not None and self.current_mode == "hosts" else None
            return hosts or self.planner

        dialogs.choose_preset(self, now_open, self._arm_preset, name)

    def _arm_preset(self, picked: PickedPreset) -> None:
        """Arm all probes of a preset, and go to the view that it asks for; from the hosts' place on all of them."""
        if self.hosts is not None and self.current_mode == "hosts":
            self.hosts.arm_preset(picked)
        elif picked.functions and self.planner is not None:
            self.places.show_failures(picked)
            if not self.planner.info.holds_events:
                self.tracing.begin_failures(self.planner, picked.functions)
        else:
            self.places.show_preset(picked, partial(self.arming.arm_all, picked.probes))
