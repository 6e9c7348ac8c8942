"""The lab itself, on real kernels."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel.lab import cache, kernels
from kernel.lab.errors import LabCancelled, LabError
from kernel.lab.guest import Guest, boot
from kernel.lab.work import Progress, Work
from tests.real.conftest import prepared
from tests.real.processes import children, ended, until
from tests.real.saved import SavedGuests

ROOT = Path(__file__).parents[2]


def _listening() -> dict[str, str]:
    """Sockets of this machine that listen: inode -> address and port, in hexadecimal digits."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {row[9]: row[1] for row in rows if row[3] == "0A"}


def _runs() -> set[str]:
    return {path.name for path in (cache.root() / "run").glob(f"{os.getpid()}_*")}


@pytest.fixture(scope="module")
def steps() -> list[str]:
    """Texts of the progress of the last boot of `guest`."""
    return []


@pytest.fixture(scope="module")
def guest(request: pytest.FixtureRequest, steps: list[str]) -> Iterator[Guest]:
    """A guest that has booted itself, as for a user."""
    kernel, bare, _ = str(request.param).partition("-sh")
    prepared(kernel, python=not bare)
    steps.clear()
    with boot(kernel, python=not bare, workload=False, progress=lambda step: steps.append(step.text)) as booted:
        yield booted


@pytest.mark.parametrize("guest", ["6.1", "6.12", "7.2", "arm64:6.12", "riscv64:7.2", "7.2-sh"], indirect=True)
def test_series_boots(guest: Guest, request: pytest.FixtureRequest) -> None:
    word = request.node.callspec.params["guest"]
    series = kernels.parse(word.removesuffix("-sh"))
    assert isinstance(series, kernels.Series)
    release, machine, host = guest.run("uname -r; uname -m; hostname").decode().split()
    assert release == guest.kernel.release
    if not guest.kernel.note:  # else the series is gone, and the note says what came instead
        assert release.startswith(f"{series.version[0]}.{series.version[1]}")
    assert kernels.ARCHES[machine] == series.arch
    assert host == "lab"
    assert guest.alive
    assert "probewright: ready" in guest.console_text()
    # What a target needs: tracefs at its place, BTF, root's shell with the usual programs, two processors.
    found = guest.run(
        "head -c 4 /sys/kernel/tracing/README | wc -c; wc -l </sys/kernel/tracing/available_filter_functions\n"
        "head -c 2 /sys/kernel/btf/vmlinux | hexdump -e '1/2 \"%04x\"'; echo\n"
        "id -u; grep -c ^processor /proc/cpuinfo\n"
        "for p in sh cat printf mkdir rmdir mount dd find; do command -v $p >/dev/null || echo no $p; done"
    )
    readme, functions, magic, user, processors, *lacking = found.decode().split()
    assert (readme, magic, user, processors, lacking) == ("4", "eb9f", "0", "2", [])
    assert int(functions) > 20_000
    with_python = guest.run("python3 -c 'import ctypes, json, selectors, zlib; print(1)' || echo 0")
    assert with_python.split()[-1] == (b"0" if word.endswith("-sh") else b"1")


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_boot_fetches_nothing_and_has_its_own_key(guest: Guest, steps: list[str], guest_72: Guest) -> None:
    assert {text.split()[0] for text in steps} == {"booting"}
    assert guest.port != guest_72.port
    other = [str(guest_72.port) if word == str(guest.port) else word for word in guest.ssh_command]
    refused = subprocess.run([*other, "true"], capture_output=True)
    assert (refused.returncode, b"Host key verification failed" in refused.stderr) == (255, True)


def test_workload_makes_events_and_can_be_stopped(guest_72: Guest) -> None:
    count = (
        "cd /sys/kernel/tracing; echo 1 >events/sched/sched_process_exec/enable; echo >trace; sleep 1.5; "
        "echo 0 >events/sched/sched_process_exec/enable; grep -c 'filename=.*/cat ' trace || true"
    )
    guest_72.workload(True)
    assert guest_72.run("workload state") == b"on\n"
    assert until(lambda: int(guest_72.run(count)) >= 2)
    guest_72.workload(False)
    assert guest_72.run("workload state") == b"off\n"
    assert until(lambda: int(guest_72.run(count)) == 0)


def test_failing_command_raises_its_words(guest_72: Guest) -> None:
    with pytest.raises(LabError, match="No such file"):
        guest_72.run("cat /does/not/exist")
    with pytest.raises(LabError, match="took longer"):
        guest_72.run("sleep 20", timeout=1)


def test_guest_is_reached_from_here_only_and_reaches_nothing(guest_72: Guest) -> None:
    listening = list(_listening().values())
    assert f"0100007F:{guest_72.port:04X}" in listening
    assert f"00000000:{guest_72.port:04X}" not in listening
    # A listener of ours, at the address where QEMU puts its host.
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert guest_72.run(f"nc -w 2 10.0.2.2 {port} </dev/null && echo reached || echo not") == b"not\n"


def test_cancel_while_booting_leaves_nothing() -> None:
    prepared("7.2")
    before = _runs(), children(os.getpid())
    cancel = threading.Event()

    def progress(step: Progress) -> None:
        if step.text.startswith("booting"):
            threading.Timer(0.7, cancel.set).start()

    with pytest.raises(LabCancelled):
        boot("7.2", progress=progress, cancel=cancel)
    assert (_runs(), children(os.getpid())) == before


@pytest.mark.parametrize("victim", ["application", "keeper"])
def test_guest_ends_when_killed(victim: str) -> None:
    prepared("7.2")
    argv = [sys.executable, "-m", "kernel.lab", "7.2"]
    with subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as application:
        assert application.stdout is not None
        words = application.stdout.readline().decode().split()
        port = int(words[words.index("-p") + 1])
        folder = Path(words[words.index("-i") + 1]).parent
        [keeper] = children(application.pid)
        [machine] = children(keeper)
        # The port may be another guest's as soon as it is free; the socket is this one's.
        sockets = {inode for inode, place in _listening().items() if place == f"0100007F:{port:04X}"}
        assert sockets
        assert b"qemu-system" in Path(f"/proc/{machine}/cmdline").read_bytes()
        os.kill(application.pid if victim == "application" else keeper, signal.SIGKILL)
        assert until(lambda: ended(machine))
        assert until(lambda: not sockets & _listening().keys()), "a zombie's last thread lets go a moment later"
        if victim == "application":
            assert until(lambda: ended(keeper))
            assert not folder.exists()
        application.kill()


def test_guest_that_panics_is_tried_twice_and_explained() -> None:
    prepared("7.2")
    before = _runs()
    said: list[str] = []
    with pytest.raises(LabError, match="Kernel panic") as caught:
        boot("7.2", progress=lambda step: said.append(step.text), append="rdinit=/no/such root=/dev/none rootwait=1")
    assert caught.value.remedy
    assert len([text for text in said if text.endswith("once more")]) == 1
    assert _runs() == before


@pytest.fixture(scope="module")
def machine_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root folder with boot/vmlinuz of 6.12 and, unpacked by the real cpio, the modules of our image."""
    prepared("6.12")
    series = kernels.parse("6.12")
    assert isinstance(series, kernels.Series)
    found = kernels.from_series(Work(lambda _: None), series)
    root = tmp_path_factory.mktemp("root")
    (root / "boot").mkdir()
    (root / "boot/vmlinuz").symlink_to(found.image)
    folder = root / "lib/modules" / found.release / "kernel"
    folder.mkdir(parents=True)
    assert isinstance(found.modules, Path)
    packed = subprocess.run(["zcat", found.modules], capture_output=True, check=True).stdout
    subprocess.run(["cpio", "-idm", "--quiet"], input=packed, cwd=folder, check=True)
    for module in folder.glob("usr/lib/modules/lab/*.ko"):
        module.rename(folder / module.name.partition("-")[2])
    return root


def test_image_by_path_finds_its_modules(machine_root: Path) -> None:
    with boot(str(machine_root / "boot/vmlinuz"), python=False) as guest:
        assert b"virtio_net" in guest.run("lsmod")
        assert guest.kernel.release == guest.run("uname -r").decode().strip()


def test_image_without_network_is_explained(machine_root: Path, tmp_path: Path) -> None:
    alone = tmp_path / "some" / "vmlinuz"
    alone.parent.mkdir()
    alone.symlink_to((machine_root / "boot/vmlinuz").resolve())
    with pytest.raises(LabError, match="network card") as caught:
        boot(str(alone), python=False)
    assert "VIRTIO_NET" in caught.value.remedy


@pytest.mark.parametrize("kernel", ["full"])
def test_kernel_with_every_tracer(kernel: str, saved: SavedGuests) -> None:
    prepared(kernel)
    with saved.lent(kernel) as guest:
        tracers = guest.run("cat /sys/kernel/tracing/available_tracers").decode().split()
        assert {"osnoise", "timerlat", "hwlat", "wakeup", "function_graph"} <= set(tracers)
        options = guest.run("zcat /proc/config.gz").decode().splitlines()
        wanted = ("USER_EVENTS", "BOOTTIME_TRACING", "FUNCTION_GRAPH_RETVAL", "FUNCTION_GRAPH_RETADDR")
        assert {f"CONFIG_{name}=y" for name in wanted} <= set(options)
        assert guest.kernel.note == ""
