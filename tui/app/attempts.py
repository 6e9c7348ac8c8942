"""Attempts that may take long: to reconnect, to open hosts, to start or end a call graph, to start a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.app.places import AppPlaces
from tui.app.reconnect_control import ReconnectControl
from tui.app.trace_control import TraceControl

if TYPE_CHECKING:
    from tui.hosts.control import HostControl


class Attempts:
    """Attempts of all parts, which two keys make at once and give up."""

    def __init__(
        self, reconnect: ReconnectControl, tracing: TraceControl, places: AppPlaces, hosts: HostControl | None
    ) -> None:
        self._reconnect = reconnect
        self._tracing = tracing
        self._places = places
        self._hosts = hosts

    @property
    def can_reconnect(self) -> bool:
        """True where a connection is lost or silent."""
        return self._reconnect.can_try or self._reconnect.silent or (self._hosts is not None and self._hosts.can_try)

    @property
    def are_under_way(self) -> bool:
        """True while an attempt can be given up."""
        of_graph = self._tracing.begins or self._tracing.end_is_told
        of_hosts = self._hosts is not None and self._hosts.trying
        return self._reconnect.trying or of_graph or of_hosts or self._starts_command

    @property
    def _starts_command(self) -> bool:
        return (live := self._places.live) is not None and live.command.starts

    def try_now(self) -> None:
        """Reconnect now."""
        self._reconnect.try_now()
        if self._hosts is not None:
            self._hosts.fleet.try_now()

    def give_up(self) -> None:
        """Give up the start of a command, else that or the end of a call graph, else all attempts to reconnect."""
        if (live := self._places.live) is not None and live.command.starts:
            live.command.end()
        elif self._tracing.begins:
            self._tracing.abandon()
        elif self._tracing.end_is_told:
            self._tracing.abandon_end()
        else:
            self._reconnect.give_up()
            if self._hosts is not None:
                self._hosts.fleet.give_up()
