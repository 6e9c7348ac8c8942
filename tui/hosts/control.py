"""Drive several hosts for the application: refresh them, and lend one to the compose place."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from textual.app import App

from foreign.count_text import counted
from kernel.errors import KernelError
from tui.hosts.host_text import NOTHING_MISSING
from tui.messages import HostsChanged
from tui.opening import Opening
from tui.present.ways_out import (
    ARM_BUILT_EVERYWHERE,
    ARM_PRESET_EVERYWHERE,
    GIVE_UP,
    HOSTS_TRY_AGAIN,
    RECONNECT,
    SEE_HOSTS,
)
from tui.refresh import TickTimer

if TYPE_CHECKING:
    from kernel.connection.kernel_info import KernelInfo
    from kernel.connection.planner import Planner
    from kernel.hosts.fleet import Fleet
    from kernel.hosts.host import Host
    from kernel.target import Target
    from tui.dialogs.preset_screen import PickedPreset
    from tui.hosts.screen import HostsScreen
    from tui.workbench import Workbench
    from widgets.way_out import Way

_BUDGET = 0.004
"""Seconds of CPU time for the events of one host in a tick."""
_OPEN = ("open", "arming", "armed", "refused")
"""States of a host that can be asked."""
_LOOK_EVERY = 1.0
"""Seconds between two questions for losses, names and clocks."""


class HostControl:
    """Drives a fleet for the screen's thread."""

    def __init__(self, app: App[None], bench: Workbench, fleet: Fleet) -> None:
        """Take the application: as the owner of timers, and as what the hosts' place asks things of."""
        self.fleet = fleet
        self._app = app
        self._bench = bench
        self._place: HostsScreen | None = None
        self._ticks = TickTimer(app, self._tick)
        self._told_of: dict[Host, tuple[str, int]] = {}
        """State and number of reconnections of each host, as last notified of."""
        self._tried = False
        """The value of `can_try` by which the keys are shown."""
        self._told = threading.Event()
        """Set while a message is on its way."""

    def place(self) -> HostsScreen:
        """Return the hosts' place; make it the first time."""
        from tui.hosts.screen import HostsScreen

        if self._place is None:
            self._place = HostsScreen(self._bench, self.fleet)
        return self._place

    @property
    def planner(self) -> Planner | None:
        """The connection of the first host that is open: it judges a preset before that is armed on all."""
        watches = (host.watch for host in self.fleet.hosts if host.state in _OPEN)
        return next((watch.planner for watch in watches if watch is not None), None)

    def arm_preset(self, picked: PickedPreset) -> None:
        """Arm a preset on all hosts, each by the alternative that its kernel takes."""
        from kernel.hosts.arm_request import ArmRequest
        from probes.presets.schema import PresetChoice

        self.place().order(ArmRequest((PresetChoice(picked.preset, picked.given),)))

    def not_elsewhere(self, here: str, *, built: bool) -> str:
        """Return the text about hosts without a probe; `built`: the hosts' place can arm the same one."""
        if len(self.fleet.hosts) < 2:
            return ""
        return f"armed on {here} only; {ARM_BUILT_EVERYWHERE if built else ARM_PRESET_EVERYWHERE}"

    @property
    def note(self) -> str:
        """Text about the hosts for the other places; empty: no probe is armed on any."""
        armed = sum(host.state == "armed" for host in self.fleet.hosts)
        return f"{counted(armed, 'host has probes', 'hosts have probes')}; {SEE_HOSTS}" if armed else ""

    def start(self) -> None:
        """Begin to open the hosts, and to poll them."""
        self.fleet.on_change = self._wake
        self._app.set_interval(_LOOK_EVERY, self._look)
        self.fleet.open()

    @property
    def trying(self) -> bool:
        """True while a host is being reconnected."""
        return any(host.trying is not None for host in self.fleet.hosts)

    @property
    def can_try(self) -> bool:
        """True where a host is being reconnected, or is silent and another connection can be made."""
        from kernel.watch.reconnect import can_drop_silent

        return self.trying or any(host.watch is not None and can_drop_silent(host.watch) for host in self.fleet.hosts)

    def _tell_of_lines(self) -> None:
        """Notify of hosts that were lost, disconnected or reconnected since the last call."""
        hosts = self.fleet.hosts
        for host in hosts:
            outages = host.watch.outages if host.watch is not None else ()
            state, known = self._told_of.get(host, ("", 0))
            self._told_of[host] = (str(host.state), len(outages))
            for outage in outages[known:]:
                self._app.notify(f"{host.name}: {outage.text}", title="back again", markup=False)
            if host.state == state:
                continue
            if host.state == "lost":
                text = f"{host.name} is lost: {host.reason}; {self._from_here(HOSTS_TRY_AGAIN)}, the others go on"
                self._app.notify(text, severity="error", markup=False)
            elif host.state == "cut":
                text = f"{host.name}: {host.reason}; {RECONNECT}, {GIVE_UP}, the others go on"
                self._app.notify(text, severity="error", markup=False)
            elif state == "cut" and not outages[known:] and not host.reason:
                self._app.notify(f"{host.name}: {NOTHING_MISSING}", title="back again", markup=False)
            elif state == "cut" and host.reason:
                self._app.notify(f"{host.name}: {host.reason}", severity="error", markup=False)
        if self.can_try != self._tried:
            self._tried = self.can_try
            self._app.refresh_bindings()
        self._told_of = {host: self._told_of[host] for host in hosts}

    def _from_here(self, way: Way) -> Way:
        """Return a way of the hosts' place, from where one is."""
        return way if self._app.current_mode == "hosts" else way._replace(keys=("f9", *way.keys))

    def _look(self) -> None:
        self.fleet.look()
        self.changed()  # rates go down also where nothing comes

    def _wake(self) -> None:
        """Post `HostsChanged`, once until a tick is due; any thread may call."""
        if not self._told.is_set():
            self._told.set()
            self._app.post_message(HostsChanged())

    def changed(self) -> None:
        """Call the next tick after a pause."""
        self._told.clear()
        self._ticks.due()

    def _tick(self) -> None:
        fleet = self.fleet
        renamed = any(host.names is not None for host in fleet.hosts)
        fleet.tick(_BUDGET)
        if self._place is not None and self._place.is_current:
            if renamed:
                self._place.names_changed()
            self._place.tick()
        self._tell_of_lines()
        behind = any(host.watch is not None and host.watch.intake.unsettled for host in fleet.hosts)
        if behind or len(fleet.events.merger):
            self.changed()


class BorrowedTarget:
    """A host's target, lent to the workbench: all of it except `close`, which is the host's."""

    link = None
    """The host makes a lost connection again."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the target has
        return getattr(self._target, name)

    def close(self) -> None:
        """Leave the target open: the host closes it."""


def opening_of_fleet(fleet: Fleet) -> Opening:
    """Return a wait until one of several hosts is open, the first of them if it can be had; `wait` returns its
    connection, under its name.
    """
    opening = Opening(fleet.hosts[0].spec, connect=partial(_borrow, fleet))
    opening.is_on_screen = True
    return opening


def _borrow(fleet: Fleet, opening: Opening) -> KernelInfo | None:
    from btf.damage import Damage
    from kernel.connection.kernel_info import KernelInfo

    host = _first_open(fleet, opening)
    if host is None or host.watch is None:
        if not opening.cancel.is_set():
            raise KernelError("none of the hosts could be opened")
        return None
    opening.spec = host.spec
    info = KernelInfo(cast("Target", BorrowedTarget(host.watch.info.target)), Damage(is_raised=False))
    info.warm()
    return info


def _first_open(fleet: Fleet, opening: Opening) -> Host | None:
    while not opening.cancel.is_set():
        hosts = fleet.hosts
        opening.state = (f"opening {counted(len(hosts), 'host')}", None)
        for host in hosts:
            if host.state in _OPEN:
                return host
            if not host.state.failed and host.state != "cut":
                break
        else:
            return None
        fleet.wait(0.1)
        opening.cancel.wait(0.05)
    return None
