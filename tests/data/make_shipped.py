"""Makes tui/default.pwr, the recording that ships: probes and presets, and a known workload, on a real kernel.

python -m tests.data.make_shipped [FILE]
"""

from __future__ import annotations

import io
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from events.recording.reader import RecordingWriter
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.guards.row_bounds import HEADLESS
from kernel.lab.guest import Guest, boot
from kernel.lab.target import connect
from kernel.preset_files import Presets
from kernel.session.armed import Armed
from kernel.watch.watch import Watch
from probes.command import Armable
from probes.presets.judge import judge
from probes.syntax.parse import parse_probe
from tests.data import shipped_workload
from tests.recording_chunks import stored_chunks

OUT = Path(__file__).parents[2] / "tui/default.pwr"
KERNEL = "7.2"
PROBES = (
    "f vfs_read%return file->f_pos count $retval",
    "f do_sys_openat2%both dfd filename:ustring how->flags $retval",
    "f vfs_write%both pos[0] count $retval",
    "f bprm_execve bprm->filename:string",
)
PRESETS = ("slow-opens", "who-kills", "exec-arguments", "failed-syscalls", "packet-drops")
OPEN_FUNCTIONS = (
    *("do_file_open", "path_openat", "path_init", "link_path_walk", "step_into_slowpath", "pick_link", "lookup_slow"),
    *("inode_permission", "generic_permission", "may_open", "vfs_open", "do_dentry_open", "fifo_open", "alloc_fd"),
)
"""Functions that an open runs through, whose return values tell where its error arose first."""


def record(path: Path) -> None:
    """Record the workload on a guest."""
    with boot(KERNEL, workload=False) as machine, closing(KernelInfo(connect(machine, f"lab:{KERNEL}"))) as info:
        planner = Planner(info)
        watch = Watch(planner, HEADLESS)
        try:
            _record(planner, watch, machine, path)
        finally:
            watch.close()


def _record(planner: Planner, watch: Watch, machine: Guest, path: Path) -> None:
    watch.recording.prepare(path)
    with _workload(machine) as stages:
        # A latency pauses what records already, and behind such a gap a recording proves no pair of ends.
        watch.armed.hold_recording()
        _arm(watch, *map(parse_probe, PROBES))
        delays = _arm(watch, *_probes_of("run-queue-delay", planner))
        _arm(watch, *(probe for name in PRESETS for probe in _probes_of(name, planner)))
        watch.record_to(path)
        watch.armed.record_together()
        next(stages)
        watch.intake.settle()
        _disarm(watch, delays)  # an emulated guest always has some
        call = parse_probe("f __x64_sys_openat%both $retval")
        opens = _arm(watch, call, parse_probe(f"f {','.join(OPEN_FUNCTIONS)}%both $retval:x64"))
        next(stages)
        watch.intake.settle()
        _disarm(watch, opens)
        next(stages)
        watch.intake.settle()
        watch.session.pump.close()
        watch.stop_recording()


def _probes_of(name: str, planner: Planner) -> Iterator[Armable]:
    """Yield the probes of a preset with its default values, as it is judged on the recording."""
    preset = Presets().find(f"shipped:{name}").preset
    assert preset is not None
    yield from (one.probe for one in judge(preset, {}, planner.check, planner.info.facts.machine).probes)


def _arm(watch: Watch, *probes: Armable) -> list[Armed]:
    return [watch.armed.arm(probe, at_any_rate=True) for probe in probes]


def _disarm(watch: Watch, probes: Sequence[Armed]) -> None:
    for armed in probes:
        watch.armed.disarm(armed)


def _without_variables(data: bytes) -> bytes:
    """Return a recording without the symbols of variables, a seventh of it: no value of it points to one."""
    with io.BytesIO() as file:
        writer = RecordingWriter(file)
        for chunk in stored_chunks(data, lambda kind, _: kind != "variables"):
            file.write(chunk)
        writer.close()
        return file.getvalue()


@contextmanager
def _workload(machine: Guest) -> Iterator[Iterator[str]]:
    """Start the workload; each `next` has it do one stage, and gives the line that it prints then."""
    source = Path(shipped_workload.__file__).read_text()
    words = [*machine.ssh_command, f"python3 -c {shlex.quote(source)}"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ready = process.stdout.readline()
        assert ready == "ready\n", ready

        def stages() -> Iterator[str]:
            while True:
                process.stdin.write("\n")
                process.stdin.flush()
                told = process.stdout.readline()
                assert told, "the workload ended early"
                print(told, end="", flush=True)
                yield told

        yield stages()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.pwr"
        record(whole)
        (Path(sys.argv[1]) if sys.argv[1:] else OUT).write_bytes(_without_variables(whole.read_bytes()))
