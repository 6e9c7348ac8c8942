"""Probes on return instructions, held against the kernel's own return probes on the same calls."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

from events.record import Record
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.session.session import Session
from kernel.watch.watch import Watch
from probes.command import parse_armable
from probes.plans.plan import Plan
from probes.refusal import CannotLower
from tests.real.command import address, run, ssh_to
from tests.real.held import bring_in
from tests.real.test_function_code import TRY

KERNELS = ["7.2", "arm64:6.12", "riscv64:7.2"]
TRACING = "/sys/kernel/tracing"
CALLED = (
    "vfs_read",
    "vfs_write",
    "ksys_read",
    "ksys_write",
    "rw_verify_area",
    "do_filp_open",
    "path_openat",
    "may_open",
    "vfs_open",
    "do_dentry_open",
    "seq_read_iter",
    "proc_reg_read_iter",
    "security_file_permission",
    "do_mmap",
    "getname_flags",
    "filp_close",
    "fput",
    "dput",
    "mntput",
    "path_put",
    "dnotify_flush",
    "security_file_open",
    "file_update_time",
)
"""Functions that WORKLOAD calls, as far as a kernel has them; some return nothing, some end in another function."""
WORKLOAD = """exec python3 -SE -c "
import os
for _ in range(20):
    for name in (\\"/proc/version\\", \\"/none\\", \\"/proc/version/none\\"):
        try:
            file = os.open(name, os.O_RDONLY)
            os.read(file, 7)
            os.close(file)
        except OSError:
            pass
try:
    os.read(1, 7)
except OSError:
    pass
" """


class Ends(NamedTuple):
    """Ends of the calls of one function by one process, as three probes saw them."""

    insns: list[Record]
    """At its return instructions."""
    tails: list[Record]
    """At its jumps to other functions."""
    returns: list[Record]
    """When it had returned, `%return`."""
    unseen: tuple[str, ...]
    """Ways out that take no kprobe, as the notes of the probes have them."""

    @property
    def difference(self) -> str:
        """Why the probes do not agree; empty: each call has one end, and a return the value that the kernel says.

        Where a way out is said to take no kprobe, some calls may have none.
        """
        ends = sorted(chain(self.insns, self.tails), key=lambda record: record.ts)
        if self.unseen and len(ends) < len(self.returns):
            return ""
        if len(ends) != len(self.returns):
            return f"{len(self.insns)} returns and {len(self.tails)} tail calls, but {len(self.returns)} calls"
        for end, told in zip(ends, self.returns, strict=True):
            if end.event.endswith("__ret") and end.values.get("ret") != told.values.get("ret"):
                return f"{end.values} where the kernel has {told.values}"
        return ""


def ends_of(guest: Guest, watch: Watch, names: Sequence[str], workload: str = WORKLOAD) -> dict[str, Ends]:
    """Arm three probes on each function, run the workload, and return what they saw of its process."""
    plans = {name: three for name in names if (three := _arm(watch, name)) is not None}
    session, store = watch.session, watch.store
    assert isinstance(session, Session) and store is not None
    place, first = session.instance.path, store.next_seq
    pid = int(guest.run(f"sh -c 'echo $$; echo $$ >{place}/set_event_pid; exec >/dev/null 2>&1; {workload}'"))
    bring_in(watch)
    assert (watch.error, store.undecodable, dict(store.overrun)) == (None, 0, {})
    by_event: dict[str, list[Record]] = {}
    for seq in range(max(first, store.first_seq), store.next_seq):
        record = store.record(seq)
        if record.pid != pid:  # recorded before the process began
            continue
        by_event.setdefault(record.event, []).append(record)
    for armed in list(watch.armed.probes):
        assert watch.armed.disarm(armed) == []
    found = {}
    for name, three in plans.items():
        insns, tails, returns = (by_event.get(plan.events[0].path, []) if plan is not None else [] for plan in three)
        notes = (note for plan in three if plan is not None for note in plan.losses)
        found[name] = Ends(insns, tails, returns, tuple(note for note in notes if note.startswith("not seen")))
    return found


def _arm(watch: Watch, name: str) -> tuple[Plan | None, Plan | None, Plan] | None:
    """Arm the probes of a function; None: the kernel has none of this name, or it has no code that takes a kprobe."""
    result = " $retval" if watch.planner.check(parse_armable(f"f {name}%return $retval")).verdict.ok else ""
    texts = (f"p {name}%retinsn{result}", f"p {name}%tailcall", f"f {name}%return{result}")
    plans = list[Plan | None]()
    for text in texts:
        try:
            plans.append(watch.armed.arm(parse_armable(text)).plan)
        except CannotLower:
            plans.append(None)
    insns, tails, returns = plans
    return (insns, tails, returns) if returns is not None and (insns or tails) else None


@pytest.fixture(scope="module")
def watch(guest: Guest) -> Iterator[Watch]:
    found = Watch(Planner(KernelInfo(connect(guest, f"lab:{guest.kernel.release}", python=True))))
    try:
        yield found
    finally:
        assert found.close() == []
        found.info.close()
    assert guest.run(f"cat {TRACING}/dynamic_events; ls {TRACING}/instances") == b""


@pytest.mark.parametrize("guest", KERNELS, indirect=True, scope="module")
class TestReturnInstructions:
    def test_they_see_what_return_probes_see(self, guest: Guest, watch: Watch) -> None:
        ends = ends_of(guest, watch, CALLED)
        assert {name: one.difference for name, one in ends.items() if one.difference} == {}
        called = {name: one for name, one in ends.items() if one.returns and not one.unseen}
        assert len(called) >= 12, {name: tuple(map(len, one)) for name, one in ends.items()}
        assert sum(len(one.insns) for one in called.values()) > 200
        if watch.info.facts.machine == "x86_64":  # compiled with sibling calls; arm64 keeps frames
            assert any(one.tails for one in called.values())
        values = {record.values.get("ret") for one in called.values() for record in one.insns}
        assert len(values) > 5 and 7 in values, "results of reads of seven bytes"
        offsets = {name: Counter(record.values["offset"] for record in one.insns) for name, one in called.items()}
        assert "fput" not in called or len(called["fput"].insns) > 20
        if "dnotify_flush" in called and watch.info.facts.machine == "x86_64":
            assert len(offsets["dnotify_flush"]) > 1, "it returns at several places"

    def test_the_verdict_on_an_offset_is_the_kernels(self, guest: Guest, watch: Watch) -> None:
        texts = [f"p:pw_code/e{offset} vfs_read+{offset:#x}" for offset in range(1, 96)]
        done = subprocess.run(
            [*guest.ssh_command, TRY], input="\n".join(texts) + "\n", capture_output=True, text=True, check=True
        )
        taken = {line.partition(" ")[2]: line.startswith("yes") for line in done.stdout.splitlines()}
        verdicts = {text: watch.planner.check_typed(text).verdict for text in texts}
        assert {text: verdict.ok for text, verdict in verdicts.items()} == taken
        codes = {verdict.error.code for verdict in verdicts.values() if verdict.error is not None}
        assert ("BAD_INSN_BNDRY" in codes) is (watch.info.facts.machine != "aarch64")
        assert sum(taken.values()) > 10

    def test_commands_tell_the_instruction(self, guest: Guest, watch: Watch, tmp_path: Path) -> None:
        env, on = ssh_to(guest, tmp_path), ("-t", address(guest))
        spec = "p vfs_read%retinsn $retval"
        [checked] = run("check", spec, *on, "--json", env=env).objects
        assert checked["ok"] and all("offset=" in line for line in checked["lowered"])
        places = [line.split()[1].partition("+")[2] for line in checked["lowered"]]
        [arguments] = run("check", "p vfs_read%retinsn count", *on, "--json", env=env).objects
        assert not arguments["ok"] and "p vfs_read, has" in str(arguments["error"])
        made = tmp_path / "ends.pwr"
        done = run("record", spec, *on, "--count", "5", "-o", str(made), env=env)
        assert done.status == 0, done
        again = run("run", spec, "-t", str(made), "--json", env=env)
        assert again.status == 0 and len(again.objects) >= 5, again
        for one in again.objects:
            assert one["text"]["offset"] in [f"+{place}" for place in places]
        counted = run("run", spec, "-t", str(made), "--by", "offset", "--json", env=env)
        assert counted.status == 0 and f"+{places[0]}" in counted.out, counted
        other = run("check", "p vfs_write%retinsn", "-t", str(made), "--json", env=env)
        assert "the code of functions is not kept in recordings" in other.out.casefold()
