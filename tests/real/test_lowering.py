"""Lowered lines written to real kernels: everything a picked probe becomes is taken, and reads what is meant.

`$$args` at both ends of functions is tried by test_all_args.py.
"""

from __future__ import annotations

import random
import re
import shlex

import pytest

from btf.btf import Btf
from kernel.facts.gather import parse_blacklist, readme_features
from kernel.lab.guest import Guest
from probes.attaching.catalog import Catalog
from probes.check import check_plan
from probes.facts.facts import Feature, TargetFacts
from probes.functions.capture_tree import CaptureTree
from probes.lowering.lower import lower
from probes.plans.plan import Plan
from probes.probe import Probe, ProbeEnds, ProbeKind, ProbePlace
from probes.refusal import CannotLower

KERNELS = ["6.1", "6.12", "7.2", "arm64:6.12"]
TRACING = "/sys/kernel/tracing"
FUNCTIONS = 120
"""Functions tried."""
CHUNK = 20
"""Lines sent at a time: the guest's ssh takes 9,000 characters."""
# Every line for itself: what is refused is named, with what the kernel says of it.
WRITE = r"""
cd /sys/kernel/tracing
while IFS= read -r line; do
  echo "$line" 2>/dev/null >>dynamic_events || { echo "REFUSED $line"; tail -n 3 error_log; }
done </tmp/lines
wc -l <dynamic_events
"""


@pytest.fixture(scope="module")
def known(guest: Guest) -> tuple[Btf, TargetFacts]:
    """Types and facts of the guest."""
    btf = Btf.load(guest.run("cat /sys/kernel/btf/vmlinux"))
    readme = guest.run(f"cat {TRACING}/README").decode()
    machine, release = guest.run("uname -m; uname -r").decode().split()
    guest.run("mkdir -p /sys/kernel/debug; mount -t debugfs nodev /sys/kernel/debug 2>/dev/null || true")
    blacklist = guest.run("cat /sys/kernel/debug/kprobes/blacklist 2>/dev/null || true")
    features = set(readme_features(readme)) | {Feature.DYNAMIC_EVENTS, Feature.KPROBE_EVENTS}
    functions = guest.run(f"cat {TRACING}/available_filter_functions").decode().splitlines()
    facts = TargetFacts(
        machine,
        release,
        features=frozenset(features),
        functions=tuple(functions),
        blacklist=parse_blacklist(blacklist.decode()),
        readme=readme,
    )
    return btf, facts


def _chosen(known: tuple[Btf, TargetFacts]) -> list[str]:
    """Functions with BTF that can be probed, and those with odd parameters always."""
    btf, facts = known
    catalog = Catalog(btf, facts)
    names = [name for name in catalog.names if btf.function(name) is not None]
    chosen = random.Random(3).sample(names, FUNCTIONS * 2)
    odd = ["vfs_read", "do_mmap", "from_kuid", "vfs_rename", "ZSTD_checkCParams", "tcp_sendmsg", "wake_up_new_task"]
    wanted = [*odd, *chosen]
    attach = ProbeKind.FPROBE if facts.has(Feature.FPROBE_EVENTS) else ProbeKind.KPROBE
    return [name for name in wanted if attach in catalog.function(name).kinds][:FUNCTIONS]


def _taken(guest: Guest, plans: list[Plan]) -> str:
    """Write all lines of all plans; gives what the kernel refused."""
    lines = [event.line for plan in plans for event in plan.events]
    guest.run(": >/tmp/lines")
    for start in range(0, len(lines), CHUNK):
        text = shlex.quote("\n".join(lines[start : start + CHUNK]))
        guest.run(f"echo {text} >>/tmp/lines")
    answer = guest.run(WRITE).decode()
    guest.run(f"cd {TRACING}; echo >dynamic_events")  # 0.2 s for each fprobe on older kernels
    listed = int(answer.split()[-1])
    assert listed + answer.count("REFUSED") == len(lines), answer
    return "" if listed == len(lines) else answer


@pytest.mark.parametrize("guest", KERNELS, indirect=True, scope="module")
class TestTaken:
    def test_picked_fields(self, guest: Guest, known: tuple[Btf, TargetFacts]) -> None:
        btf, facts = known
        rng = random.Random(2)
        plans = []
        for name in _chosen(known):
            tree = CaptureTree(btf, name, facts.machine)
            picked = []
            for node in tree.roots():
                for _ in range(rng.randrange(5)):
                    below = tree.children(node)
                    if not below:
                        break
                    node = rng.choice(below)
                if node.fetcharg is not None and not node.at_exit:
                    picked.append(node.fetcharg)
            probe = Probe(ProbePlace(name), rng.choice([ProbeEnds.ENTRY, ProbeEnds.EXIT]), fetchargs=tuple(picked))
            try:
                plans.append(lower(probe, btf, facts, "pw_pick"))
            except CannotLower as error:
                assert error.refusal.code in ("not_in_registers", "ARG_TOO_LONG"), error.refusal
        assert len(plans) > FUNCTIONS * 0.9
        assert _taken(guest, plans) == ""

    def test_values_are_those_meant(self, guest: Guest, known: tuple[Btf, TargetFacts]) -> None:
        """`dd` reads 100 bytes at 0 and at 100 of that file, whatever way the kernel is told.

        read(2) gives vfs_read a position of its own and puts it in the file afterwards, so `pos[0]` moves.
        """
        btf, facts = known
        spec = "f vfs_read%both file->f_pos pos[0] count file->f_inode->i_mode $$args $retval if count == 100"
        plan = check_plan(spec, btf, facts, "pw_read").plan
        assert plan is not None
        script = ["cd /sys/kernel/tracing", "echo >trace"]
        for event in plan.events:
            script.append(f"echo {shlex.quote(event.line)} >>dynamic_events")
            if event.filter:
                script.append(f"echo {shlex.quote(event.filter)} >events/{event.path}/filter")
            script.append(f"echo 1 >events/{event.path}/enable")
        script += [
            "head -c 4096 /dev/zero >/tmp/lowered; chmod 640 /tmp/lowered",
            "dd if=/tmp/lowered of=/dev/null bs=100 count=2 2>/dev/null",
            *(f"echo 0 >events/{event.path}/enable" for event in plan.events),
            "grep vfs_read__ trace || true; echo >dynamic_events",
        ]
        lines = guest.run("\n".join(script)).decode().splitlines()
        entries = [line for line in lines if "vfs_read__entry:" in line and 'file="lowered"' in line]
        exits = [line for line in lines if "vfs_read__exit:" in line]
        assert [re.findall(r"f_pos=(-?\d+) pos_0=(-?\d+) count=100 i_mode=(\d+)", line) for line in entries] == [
            [("0", "0", str(0o100640))],
            [("100", "100", str(0o100640))],
        ]
        assert sum("ret=100" in line or "ret=0x64" in line for line in exits) >= 2, exits
        if facts.has(Feature.ENTRY_ARGS_AT_EXIT):
            after = [re.findall(r"pos_0=(\d+)", line) for line in exits if 'file="lowered"' in line]
            assert after == [["100"], ["200"]]

    def test_argument_behind_a_struct_by_value(self, guest: Guest, known: tuple[Btf, TargetFacts]) -> None:
        """sockptr_t is two longs: the kernel's own count would show its second half as the length."""
        btf, facts = known
        function = next(f for f in ("do_sock_setsockopt", "sock_setsockopt") if f in facts.functions)
        plan = check_plan(
            f"f {function} level optname optval.is_kernel optlen if optname == 8", btf, facts, "pw_set"
        ).plan
        assert plan is not None
        [event] = plan.events
        script = [
            "cd /sys/kernel/tracing; echo >trace",
            f"echo {shlex.quote(event.line)} >>dynamic_events",
            f"echo {shlex.quote(event.filter)} >events/{event.path}/filter; echo 1 >events/{event.path}/enable",
            "python3 -c 'import socket; socket.socket().setsockopt(1, 8, 4096)'",
            f"echo 0 >events/{event.path}/enable; grep {event.event} trace || true; echo >dynamic_events",
        ]
        lines = guest.run("\n".join(script)).decode()
        assert "level=1 optname=8 is_kernel=0 optlen=4\n" in lines
