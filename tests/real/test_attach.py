"""What is said of functions that can't be probed, and of their callers, held against the kernels themselves."""

from __future__ import annotations

import random
import re
import shlex
import shutil
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pytest

from kernel.attach.explain import AttachExplainer
from kernel.attach.kcore import Kcore
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.watch.watch import Watch
from probes.attaching.callers import Callers
from probes.attaching.values import Attachability, ReasonKind, Relation
from probes.command import parse_armable
from probes.facts.facts import Feature
from probes.probe import ProbeKind
from tests.real.held import bring_in

KERNELS = ["6.1", "7.2", "arm64:6.12"]
EACH = 3
"""Functions of each kind of answer that are tried."""
# One line in, one line out: what the kernel said to each.
TRY = r"""
cd /sys/kernel/tracing
while read -r line; do
  if echo "$line" 2>/dev/null >>dynamic_events; then echo "yes $line"; echo >dynamic_events; else echo "no $line"; fi
done
"""
OBJDUMP = {"x86_64": ("objdump", "i386:x86-64"), "aarch64": ("aarch64-linux-gnu-objdump", "aarch64")}
SITES = 100
"""Calls that are shown to the disassembler, of each function."""


@dataclass
class Seen:
    """A guest, and all that is said of it."""

    guest: Guest
    planner: Planner
    attaching: AttachExplainer

    def about(self, name: str) -> Attachability:
        return self.attaching.attachability(name)

    def callers(self, name: str) -> Callers:
        found = self.attaching.callers(name)
        assert found is not None
        return found

    @cached_property
    def known(self) -> dict[str, Attachability]:
        """What is said of all functions that have a type or can be traced, and of as many other symbols."""
        symbols = self.planner.info.symbols.current
        assert symbols is not None
        names = set(self.planner.info.catalog.names)
        others = sorted({entry.name for entry in symbols.beginning("")} - names)
        names |= set(random.Random(1).sample(others, len(names) // 2))
        return {name: self.about(name) for name in sorted(names) if re.fullmatch(r"[\w.]+", name)}

    def taken(self, lines: list[str]) -> dict[str, bool]:
        """Lines for dynamic_events -> whether the kernel takes each."""
        done = subprocess.run(
            [*self.guest.ssh_command, TRY], input="\n".join(lines) + "\n", capture_output=True, text=True
        )
        answers = (line.partition(" ") for line in done.stdout.splitlines())
        return {line: word == "yes" for word, _, line in answers}


@pytest.fixture(scope="module")
def seen(guest: Guest) -> Iterator[Seen]:
    planner = Planner(KernelInfo(connect(guest, f"lab:{guest.kernel.release}", python=True)))
    yield Seen(guest, planner, AttachExplainer(planner.info))
    planner.info.close()


@pytest.mark.parametrize("guest", KERNELS, indirect=True, scope="module")
class TestOnKernels:
    def test_the_kernel_takes_and_refuses_as_we_say(self, seen: Seen) -> None:
        kinds: dict[tuple[object, ...], list[str]] = defaultdict(list)
        for name, about in seen.known.items():
            kinds[(about.kinds, *(reason.kind for reason in about.reasons))].append(name)
        rng = random.Random(7)
        tried = [name for names in kinds.values() for name in rng.sample(names, min(EACH, len(names)))]
        barred = seen.planner.info.facts.blacklist
        tried += [name for name in seen.known if "." in name and name.partition(".")[0] in barred][: 2 * EACH]
        letters = "pf" if seen.planner.info.facts.has(Feature.FPROBE_EVENTS) else "p"
        said = {f"{letter}:pw_try/e {name}": letter in seen.about(name).kinds for name in tried for letter in letters}
        answered = seen.taken(list(said))
        assert len(answered) == len(said)
        wrong = {
            line: (said[line], seen.about(line.split()[1]).text) for line in said if answered[line] is not said[line]
        }
        assert not wrong, "\n".join(f"{line}: {what}" for line, what in wrong.items())
        reasons = {why for key in kinds for why in key[1:]}
        expected = {
            ReasonKind.NOTRACE,
            ReasonKind.NOINSTR,
            ReasonKind.BLACKLIST,
            ReasonKind.INIT,
            ReasonKind.ENTRY,
            ReasonKind.TWINS,
            ReasonKind.COPY,
            ReasonKind.DATA,
        }
        assert reasons >= expected

    def test_each_twin_can_be_taken_by_its_address(self, seen: Seen) -> None:
        twins = [name for name, about in seen.known.items() if about.has(ReasonKind.TWINS) and about.alternatives]
        places = {
            str(way.place): (name, way.place.address)
            for name in random.Random(3).sample(twins, EACH)
            for way in seen.about(name).alternatives
            if way.relation is Relation.TWIN
        }
        assert len(places) >= 2 * EACH
        lines = [f"{letter}:pw_try/e {place}" for place in places for letter in "pr"]
        assert [line for line, taken in seen.taken(lines).items() if not taken] == []
        symbols = seen.planner.info.symbols.current
        assert symbols is not None
        assert all(name in [entry.name for entry in symbols.at(address)] for name, address in places.values())

    def test_every_claimed_call_is_one(self, seen: Seen) -> None:
        """For the disassembler of binutils too, and it finds no other function at the far end."""
        facts, symbols = seen.planner.info.facts, seen.planner.info.symbols.current
        assert symbols is not None
        tool, architecture = OBJDUMP[facts.machine]
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool} here")
        kcore = Kcore(seen.planner.info.target)
        wanted = [name for name, about in seen.known.items() if about.has(ReasonKind.NOTRACE) and "." not in name]
        claimed = 0
        for name in ["strcmp", "__schedule", *random.Random(5).sample(wanted, 5)]:
            sites = [
                (caller.spot.start + at, caller.jumps)
                for caller in seen.callers(name).callers
                if not caller.path
                for at in caller.calls
            ]
            starts = {entry.address for entry in symbols.named(name)}
            for address, jumps in sites[:SITES]:
                shown = disassembled(tool, architecture, address, kcore.read(address, 8))
                word, _, target = shown.partition(" ")
                assert (word[0] in "jb") if jumps else word in ("call", "bl"), shown
                assert any(0 <= int(target, 16) - start <= 4 or 0 < start - int(target, 16) <= 16 for start in starts)
                claimed += 1
        assert claimed > 100

    def test_who_really_calls_is_among_those_claimed(self, seen: Seen) -> None:
        """To where a function that can be probed will return: right behind a call that we claim, in that function."""
        arm = seen.planner.info.facts.machine == "aarch64"
        claimed = {
            (caller.spot.name, at + (4 if arm else 5))
            for caller in seen.callers("vfs_read").callers
            for at in caller.calls
        }
        line = f"p:pw_try/e vfs_read back={'%lr' if arm else '$stack0'}:symbol"
        script = f"""
        cd /sys/kernel/tracing; echo >trace; echo '{line}' >>dynamic_events; echo 1 >events/pw_try/e/enable
        dd if=/proc/version of=/dev/null bs=10 count=3 2>/dev/null
        python3 -c 'import os; os.pread(os.open("/proc/version", 0), 10, 1)'
        echo 0 >events/pw_try/e/enable; cat trace; echo >dynamic_events
        """
        text = seen.guest.run(script).decode()
        returns = {(name, int(at, 16)) for name, at in re.findall(r"back=(\w+)\+0x([0-9a-f]+)/", text)}
        assert len({name for name, _ in returns}) >= 2, text
        assert returns <= claimed

    def test_another_name_of_a_traceable_function_is_armed(self, seen: Seen) -> None:
        """Of a connection that has read no symbols yet."""
        if seen.planner.info.facts.machine != "x86_64":
            pytest.skip("a system call without arguments has one name there")
        planner = Planner(KernelInfo(connect(seen.guest, "lab:again", python=True)))
        watch = Watch(planner)
        try:
            name = "__x64_sys_getpid"
            assert name not in planner.info.facts.functions
            watch.armed.arm(parse_armable(f"f {name}"))
            seen.guest.run("python3 -c 'import os; os.getpid()'")
            bring_in(watch)
            assert watch.store is not None and watch.store.next_seq > watch.store.first_seq
        finally:
            assert watch.close() == []
            planner.info.close()

    def test_a_module_that_is_not_loaded(self, seen: Seen, request: pytest.FixtureRequest) -> None:
        release = seen.guest.kernel.release
        place = shlex.quote(f"/lib/modules/{release}")
        seen.guest.run(f"mkdir -p {place}; echo '../extra/dummy.ko:' >{place}/modules.dep")
        request.addfinalizer(lambda: seen.guest.run(f"rmmod dummy; rm -r {place}"))
        fresh = AttachExplainer(seen.planner.info)
        about = fresh.attachability("dummy_setup")
        assert [(r.kind, r.remedy) for r in about.reasons] == [(ReasonKind.MODULE, "modprobe dummy")]
        assert "is in the module" in about.text, "it was seen in the file"
        assert fresh.attachability("dummy_nonsense").has(ReasonKind.UNKNOWN)
        seen.guest.run("insmod /lib/modules/extra/dummy.ko")
        planner = Planner(KernelInfo(connect(seen.guest, "lab:again", python=True)))
        try:
            loaded = AttachExplainer(planner.info).attachability("dummy_setup")
            assert (ProbeKind.KPROBE in loaded.kinds, loaded.module) == (True, "dummy")
        finally:
            planner.info.close()


def disassembled(tool: str, architecture: str, address: int, code: bytes) -> str:
    """The first instruction, as `call ffffffff81000000`."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(code)
        file.flush()
        words = [tool, "-D", "-b", "binary", "-m", architecture, f"--adjust-vma={address:#x}", file.name]
        text = subprocess.run(words, capture_output=True, check=True).stdout.decode()
    found = re.search(r"^ *[0-9a-f]+:\t[0-9a-f ]+\t(\S+)\s+(?:0x)?([0-9a-f]+)", text, re.MULTILINE)
    assert found is not None, text
    return f"{found[1]} {found[2]}"
