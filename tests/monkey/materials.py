"""States in which the application begins: whole, damaged and hostile recordings, no target, a live kernel, hosts."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import NamedTuple
from unittest.mock import patch

import btf
import events
import kernel
import probes
import tui
import widgets
from btf.damage import Damage
from events.batch import Batch
from events.recording.reader import Recording, RecordingWriter
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import shipped_recording
from kernel.errors import KernelError
from kernel.hosts.fleet import Fleet
from kernel.recording.target import FACT_BLOBS
from probes.command import parse_armable
from probes.refusal import CannotLower
from tests.fuzz.lying_agent import LyingAgent
from tests.fuzz.lying_shell import LyingShell
from tests.interface.test_reconnect import Opened
from tests.pure.fake_hosts import FakeHost, Lan
from tests.pure.kernel.test_ssh_reconnect import Side
from tests.pure.kernel.test_watch import Anything, probe
from tests.trimmed_recordings import graph_recording
from tui.app.app import Probewright
from tui.hosts.control import opening_of_fleet
from tui.opening import Opening

NAMES = ("\x1b]0;title\x07", "\x9b31m", "\u202eevil", "a\nb", "\ud800", "x" * 5_000, "[bold]x[/", "漢字", "", " ")
"""Of tasks and symbols; none may reach a terminal as it is."""


class Subject(NamedTuple):
    """An application to act on, and a disturbance from outside that may come at any moment."""

    app: Probewright
    disturb: Callable[[Random], None] = lambda random: None


Material = Callable[[Path, Random], AbstractContextManager[Subject]]
"""Makes a subject; files go into the folder."""


def _of_file(spec: str) -> Iterator[Subject]:
    """As `tui.cli.commands.app` begins, without its preview: that forks, which a process with threads must not."""
    opening = Opening(spec)
    opening.start()
    app = Probewright(opening)
    try:
        yield Subject(app)
    finally:
        opening.cancel.set()
        if app.current_watch is not None:
            app.current_watch.close()
        if app.planner is not None:
            app.planner.info.close()


@contextmanager
def shipped(folder: Path, random: Random) -> Iterator[Subject]:
    yield from _of_file(str(shipped_recording()))


@contextmanager
def call_graph(folder: Path, random: Random) -> Iterator[Subject]:
    path = folder / "graph.pwr"
    path.write_bytes(_graph_source(random.choice(("full", "7.2", "failures"))))
    yield from _of_file(str(path))


@contextmanager
def damaged(folder: Path, random: Random) -> Iterator[Subject]:
    """A recording whose bytes were changed or cut; most can't be opened."""
    data = bytearray((shipped_recording() or Path()).read_bytes())
    for _ in range(random.choice((0, 1, 5))):
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    path = folder / "damaged.pwr"
    path.write_bytes(data[: random.choice((len(data), random.randrange(len(data))))])
    yield from _of_file(str(path))


@contextmanager
def hostile(folder: Path, random: Random) -> Iterator[Subject]:
    """A recording with sound checksums and content that nobody would write."""
    yield from _of_file(str(_rewritten(folder / "hostile.pwr", random)))


@contextmanager
def nothing(folder: Path, random: Random) -> Iterator[Subject]:
    """No target: one that can't be opened."""
    yield from _of_file(random.choice((str(folder / "none.pwr"), "ssh://nobody@none.invalid", "lab:none", "")))


@contextmanager
def live_kernel(folder: Path, random: Random) -> Iterator[Subject]:
    """A kernel that events come from, on a connection that may be lost."""
    side = Side()
    opening = Opened(side)
    opening.start()
    app = Probewright(opening)
    clock = iter(range(1_000, 1 << 40, 1_000))

    def disturb(random: Random) -> None:
        if app.current_watch is not None:
            sort = random.random()
            if not side.lost and not app.current_watch.armed.probes:
                app.current_watch.armed.arm(probe("vfs_read"))
            elif (
                sort < 0.9
                and not side.lost
                and (ids := [one for armed in app.current_watch.armed.probes for one in armed.formats])
            ):
                side.event(next(clock), random.choice(ids))
            elif not side.lost:
                side.cut()

    try:
        with patch("kernel.connection.planner.Planner", Anything):
            yield Subject(app, disturb)
    finally:
        if app.current_watch is not None:
            app.current_watch.close()


class _Reaching(Opening):
    """Opens a remote host that lies."""

    def __init__(self, agent: LyingAgent | LyingShell) -> None:
        super().__init__("ssh://liar")
        self._agent = agent

    def run(self) -> None:
        try:
            info = KernelInfo(self._agent.target(), Damage(is_raised=False))
            info.warm()
            self._info = info
        except KernelError as error:
            self._error = error


@contextmanager
def lying_remote_host(folder: Path, random: Random) -> Iterator[Subject]:
    """A line whose remote host answers with what is damaged, repeated, late and hostile: an agent, or a shell."""
    agent = random.choice((LyingAgent, lambda chance: LyingShell(chance, chance.choice((0, 60, 150, 400)))))(random)
    opening = _Reaching(agent)
    opening.start()
    app = Probewright(opening)

    def disturb(random: Random) -> None:
        if app.current_watch is not None and not app.current_watch.armed.probes:
            with suppress(KernelError, CannotLower):
                app.current_watch.armed.arm(
                    parse_armable(random.choice(("f record_read n", "p vfs_read", "f record_find%return")))
                )

    try:
        yield Subject(app, disturb)
    finally:
        agent.end()
        if app.current_watch is not None:
            app.current_watch.close()
        if app.planner is not None:
            app.planner.info.close()


@contextmanager
def several_hosts(folder: Path, random: Random) -> Iterator[Subject]:
    lan = Lan(FakeHost("web1", behind=10**11), FakeHost("web2.example.com", behind=-(10**9)))
    fleet = Fleet(("web1", "web2.example.com", "ssh://gone"), window=0, opener=lan.open)
    opening = opening_of_fleet(fleet)
    opening.start()
    app = Probewright(opening, None, fleet)
    with ExitStack() as stack:
        stack.callback(fleet.close)
        yield Subject(app)
        if app.current_watch is not None:
            app.current_watch.close()


MATERIALS: dict[str, Material] = {
    "shipped": shipped,
    "graph": call_graph,
    "damaged": damaged,
    "hostile": hostile,
    "nothing": nothing,
    "live": live_kernel,
    "lying": lying_remote_host,
    "hosts": several_hosts,
}


def prepare() -> None:
    """Read and import once what the processes of all sessions share."""
    for package in (btf, events, kernel, probes, tui, widgets):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if "agent" not in module.name and not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    _graph_source("full")
    _graph_source("7.2")
    _graph_source("failures")
    _sources()


@functools.cache
def _graph_source(kernel: str) -> bytes:
    """A recording of calls."""
    with tempfile.TemporaryDirectory() as folder:
        return graph_recording(Path(folder) / "graph.pwr", kernel).read_bytes()


@functools.cache
def _sources() -> tuple[Recording, ...]:
    """Recordings whose content is changed."""
    return tuple(map(Recording.open, (_graph_source("full"), (shipped_recording() or Path()).read_bytes())))


def _rewritten(path: Path, random: Random) -> Path:
    """Write a recording anew with some of its content changed."""
    found = random.choice(_sources())
    with path.open("wb") as file:
        writer = RecordingWriter(file)
        plans = random.choice(([], found.plans, found.plans * 2, [1, None, {"probe": "f vfs_read"}, "x"]))
        writer.meta({"facts": found.facts, "byteorder": "little", "plans": plans})
        for name in FACT_BLOBS:
            writer.blob("facts", name, found.blob("facts", name) or b"")
        writer.blob("btf", "", found.blob("btf") or b"")
        names = [random.choice(NAMES).encode("utf-8", "surrogatepass") for _ in range(100)]
        writer.blob("cmdlines", "", b"\n".join(b"%d %s" % pair for pair in zip(found.cmdlines, names, strict=False)))
        symbols = found.blob("symbols") or b""
        writer.blob("symbols", "", random.choice((symbols, symbols[: len(symbols) // 2], _mutated(symbols, random))))
        writer.blob("header_page", "", found.blob("header_page") or b"")
        for entry in found.timeline():
            if isinstance(entry, Batch):
                chunks = tuple(chunk._replace(data=_mutated(chunk.data, random)) for chunk in entry.chunks)
                writer.pages(entry._replace(chunks=chunks))
            else:
                for fmt in entry.values():
                    writer.blob("format", fmt.path, fmt.source.encode())
        writer.close()
    return path


def _mutated(data: bytes, random: Random) -> bytes:
    """Return the bytes with a few of them changed, in one of three cases."""
    if not data or random.random() < 0.66:
        return data
    changed = bytearray(data)
    for _ in range(random.randint(1, 8)):
        changed[random.randrange(len(changed))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
    return bytes(changed)
