"""Table of several hosts and their states, and details of the current one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from events.durations import seconds_text
from events.loss_counts import LossTotals
from widgets.lists.line_list import LineList
from widgets.number_format import short
from widgets.rows import Piece
from widgets.safe_text import cut, fit, safe

_STATES: Final = {"armed": ("●", "good"), "open": ("○", ""), "closed": ("○", "dim")}
_BAD: Final = ("refused", "unreachable", "lost")
_COLUMNS: Final = (
    *(("kernel", 8), ("state", 14), ("ev/s", 5), ("lost", 5)),
    *(("missed", 6), ("dropped", 7), ("unread", 6), ("clock", 8)),
)
"""Titles and widths of all columns but the host's name, which takes the rest."""
_LEAST_NAME: Final = 8


@dataclass(frozen=True, slots=True)
class HostLine:
    """Facts about one host; texts may be foreign."""

    name: str
    target: str = ""
    state: str = "waiting"
    """Value of `kernel.hosts.host.HostState`."""
    kernel: str = ""
    """Kernel, as `Linux 7.2.13 x86-64`."""
    per_second: float | None = None
    """Events per second; None: none can arrive now."""
    losses: LossTotals = field(default_factory=LossTotals)
    late: int = 0
    """Events that arrived after younger ones of other hosts had their rows."""
    evicted: int = 0
    """Events dropped before they had a row."""
    offset: str = ""
    """Start of the host's clock by ours, with its uncertainty; empty: unknown."""
    uncertainty: str = ""
    """Uncertainty, as `±0.41 ms`."""
    reason: str = ""
    """Reason for the state."""
    remedy: str = ""
    silent_seconds: float | None = None
    """Seconds since the last answer, while disconnected and reconnecting."""
    overdue_seconds: float | None = None
    """Seconds since the last answer, while one is overdue and the host is connected; None: none is."""
    lowered: tuple[str, ...] = ()
    """Lines written to that kernel."""
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """True if the host does not do what was requested."""
        return self.state in _BAD


class _HostRows:
    """Rows of the table."""

    first = 0

    def __init__(self, hosts: Sequence[HostLine]) -> None:
        self.hosts = tuple(hosts)

    @property
    def next(self) -> int:
        return len(self.hosts)

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        host = self.hosts[row]
        wide = name_width(columns)
        sign, look = ("✗", "bad") if host.failed else _STATES.get(host.state, ("…", "dim"))
        state, since = (
            (host.state, host.silent_seconds) if host.overdue_seconds is None else ("silent", host.overdue_seconds)
        )
        if since is not None:
            look = "bad"
        sign = sign if host.overdue_seconds is None else "✗"
        yield Piece(fit(cut(safe(host.name), wide), wide), "name")
        release = re.match(r"[\d.]*\d", host.kernel.removeprefix("Linux "))
        yield Piece(" " + fit(cut(release[0] if release else "", 8), 8), "dim")
        yield Piece(" " + fit(f"{sign} {state}{_for(since)}", 14), look)
        rate = "" if host.per_second is None else short(host.per_second)
        yield Piece(f" {rate:>5}")
        for (_, size), loss in zip(_COLUMNS[3:], host.losses.counts, strict=False):
            number = short(loss.number) if loss.number or loss.counted else "?"
            yield Piece(f" {number:>{size}}", "bad" if loss.number else "dim")
        yield Piece(f" {safe(host.uncertainty).replace(' ', '') or '-':>8}", "dim")


def _for(seconds: float | None) -> str:
    """Return the time without an answer: ` 12 s`."""
    return "" if seconds is None else f" {seconds:.0f} s" if seconds < 1000 else f" {seconds / 60:.0f} min"


def name_width(columns: int) -> int:
    """Return the columns left for a host's name."""
    return max(_LEAST_NAME, columns - sum(size + 1 for _, size in _COLUMNS))


class HostTable(LineList):
    """List with one row for each host."""

    DEFAULT_CSS = """
    HostTable { height: auto; max-height: 30%; min-height: 3; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        self._hosts = _HostRows(())
        super().__init__(self._hosts, header=True, id=id)

    @property
    def hosts(self) -> tuple[HostLine, ...]:
        """Hosts that are shown."""
        return self._hosts.hosts

    @property
    def current(self) -> HostLine | None:
        """Host under the cursor."""
        hosts = self._hosts.hosts
        return hosts[self.cursor] if 0 <= self.cursor < len(hosts) else None

    def show(self, hosts: Sequence[HostLine]) -> None:
        """Show the current states; the cursor stays."""
        if tuple(hosts) == self._hosts.hosts:
            return
        more = len(hosts) != len(self._hosts.hosts)
        self._hosts.hosts = tuple(hosts)
        self.rows_changed()
        if more:
            self.styles.height = len(hosts) + 1
            self.refresh(layout=True)

    def header(self, columns: int) -> Iterable[Piece]:
        """Return the titles above their columns."""
        yield Piece(" ")
        wide = name_width(columns - 1)
        yield Piece(fit("host", wide))
        for number, (title, size) in enumerate(_COLUMNS):
            right = number >= 2
            yield Piece(f" {title:>{size}}" if right else f" {title:<{size}}")


class HostDetail(Widget):
    """Details of a host, in three lines."""

    DEFAULT_CSS = """
    HostDetail { height: 3; width: 1fr; padding: 0 1; background: $surface; color: $text; }
    """

    host: reactive[HostLine | None] = reactive(None)
    """Host that is shown."""

    def render(self) -> Content:
        """Return target, state and remedy of the host."""
        return Content("\n").join(
            Content.assemble((cut(text, max(0, self.size.width)), style)) for text, style in detail_lines(self.host)
        )


def detail_lines(host: HostLine | None) -> list[tuple[str, str]]:
    """Return text and style of each line."""
    if host is None:
        return [("", "")] * 3
    clock = f"  clock {host.offset}" if host.offset else ""
    gap = f"  ! gap {seconds_text(host.losses.gap)}" if host.losses.gap else ""
    late = f"  {host.late:,} late" if host.late else ""
    unshown = f"  ! {host.evicted:,} not shown in time" if host.evicted else ""
    first = f"{safe(host.target)}  {safe(host.kernel)}{gap}{late}{unshown}{safe(clock)}"
    lines = [f"{len(host.lowered)} lines: {host.lowered[0]}" if len(host.lowered) > 1 else "".join(host.lowered)]
    lines += host.notes
    if host.reason:
        return [(first, ""), (f"{host.state}: {safe(host.reason)}", "bold $text-error"), (safe(host.remedy), "")]
    return [(first, ""), *((safe(line), "dim") for line in [*lines, "", ""][:2])]
