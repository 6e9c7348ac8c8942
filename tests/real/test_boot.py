"""Probes of a boot: a kernel is booted with them, and what is read back is the kernel's own text of that boot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from events.recording.reader import Recording
from kernel.boot.read_back import BootReading, read_boot
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab import cache, initramfs
from kernel.lab.guest import Guest, boot
from kernel.lab.target import connect
from probes.bootconfig.initrd_tail import tail
from probes.bootconfig.text import parse
from probes.command import parse_armable
from probes.export.boot_request import BootRequest, BootWay
from probes.export.dialect import CannotExport
from tests.real import command
from tests.real.conftest import prepared
from tests.real.saved import SavedGuests
from tui.boot.boot_requests import boot_request, ways_of

TRACING = "/sys/kernel/tracing"
SPECS = (
    "f do_one_initcall fn",
    "f do_sys_openat2 filename:ustring dfd how->flags",
    "f kernel_clone%both args->flags $retval",
)
PLANTED = "f vfs_fsync count=$arg1:u64"
"""Probe whose function is renamed in the text of the boot, so that the kernel refuses it there."""
OLD = ("f do_one_initcall fn", "f do_sys_openat2 filename:ustring dfd", "f kernel_clone%return $retval")
WAYS = {"6.1": BootWay.CMDLINE, "7.2": BootWay.CMDLINE, "full": BootWay.BOOTCONFIG}
TIMED = "printk.time=1"
STAMP = re.compile(r" (\d+\.\d+): ")


def requested(saved: SavedGuests, kernel: str, *specs: str) -> BootRequest:
    """Return the request for a kernel's boot, made on a guest of it."""
    with saved.lent(kernel) as machine:
        planner = Planner(KernelInfo(connect(machine, "guest")))
        try:
            assert ways_of(planner.info)[0] is WAYS[kernel]
            return boot_request(planner, [parse_armable(spec) for spec in specs])
        finally:
            planner.info.close()


def booted(kernel: str, request: BootRequest, text: str) -> Guest:
    """Boot a guest with a text in place of the request's."""
    if request.way is BootWay.BOOTCONFIG:
        return boot(kernel, workload=False, append=f"bootconfig {TIMED}", extra=[tail(text, 0)])
    return boot(kernel, workload=False, append=f"{text.strip()} {TIMED}")


def read(machine: Guest, request: BootRequest, path: Path) -> BootReading:
    """Read the events of a guest's boot into a recording."""
    info = KernelInfo(connect(machine, "guest"))
    try:
        return read_boot(info, request, path, machine.run("dmesg").decode().splitlines())
    finally:
        info.close()


def lines_of(text: str) -> list[str]:
    """Return the events of a text of the kernel, or of an export like it, with single blanks."""
    return [" ".join(line.split()) for line in text.splitlines() if STAMP.search(line)]


def kernel_text(machine: Guest, request: BootRequest) -> list[str]:
    """Stop the buffer, and return its events in the kernel's words."""
    folder = f"{TRACING}/instances/{request.instance}" if request.instance else TRACING
    machine.run(f"echo 0 >{folder}/tracing_on")
    return lines_of(machine.run(f"cat {folder}/trace").decode())


def stamps_of(lines: list[str]) -> list[float]:
    return [float(match[1]) for match in map(STAMP.search, lines) if match]


def run_init(machine: Guest) -> float:
    """Return the seconds at which the kernel began its first program, by its log."""
    found = re.search(r"\[ *(\d+\.\d+)\] Run /init as init process", machine.run("dmesg").decode())
    assert found is not None
    return float(found[1])


@pytest.mark.parametrize("kernel", ["6.1", "7.2", "full"])
def test_events_of_a_boot_are_those_of_the_kernels_text(kernel: str, saved: SavedGuests, tmp_path: Path) -> None:
    prepared(kernel)
    specs = OLD if kernel == "6.1" else SPECS
    request = requested(saved, kernel, *specs, PLANTED)
    text = request.text.replace("vfs_fsync count", "no_such_function count")
    text = text.replace(",vfs_fsync,", ",no_such_function,")
    assert text != request.text
    path = tmp_path / "boot.pwr"
    with booted(kernel, request, text) as machine:
        truth = kernel_text(machine, request)
        reading = read(machine, request, path)
        first_program = run_init(machine)
        assert kernel_text(machine, request) == []
    assert reading.events == len(truth) > 100
    assert reading.losses.lost == 0
    # What the kernel refused is told with its words; all else is there.
    assert len(reading.missing) == 1, reading.missing
    [missing] = reading.missing
    assert missing.event.endswith("/vfs_fsync__entry") and missing.fault == "not defined"
    assert any("no_such_function" in word or "Failed to add" in word for word in missing.words), missing
    exported = command.run(str(path), "--export", "text")
    assert exported.status == 0, exported
    assert lines_of(exported.out) == truth
    assert not Recording.open(path).truncated
    # From before the first program on, in order.
    stamps = stamps_of(truth)
    assert stamps == sorted(stamps)
    assert stamps[0] < first_program < stamps[-1]
    assert reading.first is not None and abs(reading.first - stamps[0]) < 2e-6
    initcalls = [line for line in truth if "do_one_initcall__entry" in line]
    opened = [line for line in truth if "do_sys_openat2__entry" in line and 'filename="/' in line]
    assert len(initcalls) > 50 and len(opened) > 10
    assert stamps_of(initcalls)[0] < first_program


@pytest.mark.parametrize("kernel", ["full"])
def test_a_machine_is_booted_with_the_copy_and_read_afterwards(
    kernel: str, saved: SavedGuests, tmp_path: Path
) -> None:
    """The commands of a real machine: copy of an initrd, its boot, `--read --remove`, and nothing is left."""
    prepared(kernel)
    original, copy, path = tmp_path / "initrd", tmp_path / "copy", tmp_path / "boot.pwr"
    original.write_bytes(initramfs.packed([initramfs.file("pw-mark", b"here")]))
    content = original.read_bytes()
    with saved.lent(kernel) as machine:
        words = ("boot", *SPECS, "-t", command.address(machine), "--initrd", str(original), "-o", str(copy))
        done = command.run(*words, "--json", env=command.ssh_to(machine, tmp_path))
    assert done.status == 0, done
    [made] = done.objects
    assert (made["file"], made["bytes"], made["kept_keys"]) == (str(copy), copy.stat().st_size, 0)
    assert original.read_bytes() == content
    assert copy.read_bytes().startswith(content)
    assert any("kexec" in line for line in made["install"]) and made["undo"]
    again = command.run(*words, env=command.ssh_to(machine, tmp_path))
    assert again.status == 2 and "is there already" in again.err
    with boot(kernel, workload=False, append="bootconfig", extra=[copy]) as machine:
        assert machine.run("cat /pw-mark") == b"here"
        # The kernel's own reading of the text is ours.
        shown = dict(parse(machine.run("cat /proc/bootconfig").decode()))
        text = copy.read_bytes()[len(content) :].split(b"\0")[0].decode()
        assert shown == {key: values or ("",) for key, values in parse(text)}
        here = f"{TRACING}/instances/probewright"
        machine.run(f"echo 0 >{here}/tracing_on")
        truth = lines_of(machine.run(f"cat {here}/trace").decode())
        target = ("-t", command.address(machine))
        env = command.ssh_to(machine, tmp_path)
        done = command.run("boot", "--read", "--remove", *target, "-o", str(path), "--json", env=env)
        assert done.status == 0, done
        [said] = done.objects
        assert (said["events"], said["missing"], said["lost"]) == (len(truth), [], 0)
        left = machine.run(f"ls {TRACING}/instances; cat {TRACING}/dynamic_events {TRACING}/kprobe_events").decode()
        assert "probewright" not in left and "kprobes" not in left
        assert machine.run(f"cat {TRACING}/tracing_on").strip() == b"1"
        repeated = command.run("boot", "--read", *target, "-o", str(tmp_path / "second"), env=env)
        assert repeated.status == 3 and "no trace instance" in repeated.err
        assert not (tmp_path / "second").exists()
    exported = command.run(str(path), "--export", "text")
    assert lines_of(exported.out) == truth


@pytest.mark.parametrize("kernel", ["7.2"])
def test_the_command_rehearses_in_the_lab(kernel: str, tmp_path: Path) -> None:
    prepared(kernel)
    path = tmp_path / "boot.pwr"
    words = ("-t", f"lab:{kernel},idle", "-o", str(path), "--json")
    process = command.start("boot", *SPECS, "--for", "0.2", *words)
    done = command.finish(process)
    assert done.status == 0, done
    assert not list((cache.root() / "run").glob(f"{process.pid}_*")), "a guest's folder is left"
    [said] = done.objects
    assert said["missing"] == [] and said["lost"] == 0 and said["events"] > 100
    assert said["bytes"] == path.stat().st_size
    assert list(tmp_path.iterdir()) == [path]
    summary = command.run(str(path), "--export", "jsonl")
    names = {one.get("event") for one in summary.objects}
    assert len(names) >= 4
    # Refused before anything is booted a second time, with the reason.
    path.unlink()
    refused = command.run("boot", *SPECS, "p /bin/busybox:0x1000 %di", *words)
    assert refused.status == 1, refused
    assert not path.exists()


@pytest.mark.parametrize("kernel", ["7.2"])
def test_a_boot_by_command_line_is_read_without_specifications(
    kernel: str, saved: SavedGuests, tmp_path: Path
) -> None:
    prepared(kernel)
    request = requested(saved, kernel, *SPECS)
    path = tmp_path / "boot.pwr"
    with boot(kernel, workload=False, append=request.command_line) as machine:
        truth = kernel_text(machine, request)
        env, target = command.ssh_to(machine, tmp_path), ("-t", command.address(machine))
        done = command.run("boot", "--read", "--remove", *target, "-o", str(path), "--json", env=env)
        assert done.status == 0, done
        [said] = done.objects
        assert (said["events"], said["missing"], said["lost"]) == (len(truth), [], 0)
        assert "probewright" not in machine.run(f"cat {TRACING}/dynamic_events").decode()
    exported = command.run(str(path), "--export", "text")
    assert lines_of(exported.out) == truth


@pytest.mark.parametrize("kernel", ["7.2"])
def test_a_function_of_a_module_is_refused_before_a_boot(kernel: str, saved: SavedGuests) -> None:
    with saved.lent(kernel) as machine:
        planner = Planner(KernelInfo(connect(machine, "guest")))
        try:
            functions = planner.info.facts.functions
            module, name = next(
                (found[2], found[1])
                for found in (re.fullmatch(r"(\w+) \[(\w+)\]", line) for line in functions)
                if found and planner.check(f"f {found[1]}").plan is not None
            )
            with pytest.raises(CannotExport) as refused:
                boot_request(planner, [parse_armable(f"f {name}")])
        finally:
            planner.info.close()
    assert any(f"{module} is a module" in reason for reason in refused.value.reasons), refused.value.reasons
