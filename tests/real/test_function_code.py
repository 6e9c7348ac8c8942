"""A function's code as we show it, held against the kernel that runs it: boundaries, and what takes a kprobe."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernel.attach.explain import AttachExplainer
from kernel.attach.function_body import BodyReader
from kernel.attach.kcore import Kcore
from kernel.connection.kernel_info import KernelInfo
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from probes.code.body import CodePart, FunctionBody, Instruction, InstructionKind
from probes.code.ways_out import ways_out
from probes.functions.function_index import index_of
from tests.real.processes import until

KERNELS = ["7.2", "arm64:6.12", "riscv64:7.2", "6.1"]
WHOLE = 4
"""Functions of which every instruction is tried: to take a kprobe away takes the kernel a while."""
MANY = 150
"""Functions of which one instruction is tried that takes one, and all that take none."""
CALLED = (
    "vfs_read",
    "vfs_write",
    "ksys_read",
    "ksys_write",
    "rw_verify_area",
    "do_sys_openat2",
    "do_filp_open",
    "path_openat",
    "may_open",
    "vfs_open",
    "do_dentry_open",
    "seq_read_iter",
    "proc_reg_read_iter",
    "security_file_permission",
    "fsnotify_parent",
    "__fsnotify_parent",
    "do_mmap",
    "vm_mmap_pgoff",
    "getname_flags",
    "filp_close",
    "fput",
    "dput",
    "mntput",
    "path_put",
    "security_file_open",
    "file_update_time",
    "simple_write_begin",
    "generic_perform_write",
)
"""Functions that a program which copies a file calls."""
OBJDUMP = {
    "x86_64": ("objdump", "i386:x86-64"),
    "aarch64": ("aarch64-linux-gnu-objdump", "aarch64"),
    "riscv64": ("riscv64-linux-gnu-objdump", "riscv:rv64"),
}
RESULT = {"x86_64": "%ax", "aarch64": "%x0", "riscv64": "%a0"}
# One line in, one out: what the kernel said.
TRY = r"""
cd /sys/kernel/tracing
while read -r line; do
  if echo "$line" 2>/dev/null >>dynamic_events; then echo "yes $line"; else echo "no $line"; fi
done
echo >dynamic_events
"""


@dataclass
class Seen:
    guest: Guest
    info: KernelInfo
    reader: BodyReader

    def body(self, name: str) -> FunctionBody:
        [body] = self.reader.bodies(name)
        return body

    def taken(self, places: list[str]) -> dict[str, bool]:
        """Places of kprobes -> whether the kernel takes each."""
        lines = {f"p:pw_code/e{number} {place}": place for number, place in enumerate(places)}
        done = subprocess.run(
            [*self.guest.ssh_command, TRY], input="\n".join(lines) + "\n", capture_output=True, text=True
        )
        answers = [line.partition(" ") for line in done.stdout.splitlines()]
        assert len(answers) == len(lines), done.stderr
        return {lines[line]: word == "yes" for word, _, line in answers}

    def some_names(self, seed: int, number: int) -> list[str]:
        """Traceable functions of the kernel itself whose names are theirs alone."""
        symbols, index, barred = self.info.symbols.current, index_of(self.info.facts), self.info.facts.blacklist
        assert symbols is not None
        names = [
            name
            for name, module in index.modules.items()
            if not module and name not in barred and re.fullmatch(r"\w+", name) and len(symbols.named(name)) == 1
        ]
        return random.Random(seed).sample(sorted(names), number)


def _different(one: FunctionBody, other: FunctionBody) -> list[tuple[object, object]]:
    """Instructions that differ, of two bodies that differ in nothing else."""
    pairs = list(zip(one.instructions(), other.instructions(), strict=False))
    found: list[tuple[object, object]] = [(ours[1], theirs[1]) for ours, theirs in pairs if ours[1] != theirs[1]]
    return found or ([] if one == other else [(one.notes, other.notes)])


@pytest.fixture(scope="module")
def seen(guest: Guest) -> Iterator[Seen]:
    info = KernelInfo(connect(guest, f"lab:{guest.kernel.release}", python=True))
    yield Seen(guest, info, BodyReader(info, AttachExplainer(info).attachability))
    info.close()


def places(bodies: list[FunctionBody]) -> list[tuple[str, CodePart, Instruction]]:
    return [(part.place_at(one.offset), part, one) for body in bodies for part, one in body.instructions()]


@pytest.mark.parametrize("guest", KERNELS, indirect=True, scope="module")
class TestOnKernels:
    def test_every_place_that_is_said_to_take_a_kprobe_takes_one(self, seen: Seen) -> None:
        small = [
            body for body in map(seen.body, seen.some_names(1, 40)) if 12 < sum(1 for _ in body.instructions()) < 60
        ]
        whole = [seen.body("ksys_read"), *small[:WHOLE]]
        many = [seen.body(name) for name in seen.some_names(2, MANY)]
        assert [(body.name, body.refusal, body.notes) for body in [*whole, *many] if body.refusal or body.notes] == []
        rng = random.Random(3)
        said = {place: not one.refusal for place, _, one in places(whole)}
        for body in many:
            free = [place for place, _, one in places([body]) if not one.refusal]
            said.update(dict.fromkeys(rng.sample(free, min(1, len(free))), True))
            said.update({place: False for place, _, one in places([body]) if one.refusal})
        answered = seen.taken(list(said))
        texts = {place: f"{one.text} {one.refusal}" for place, _, one in places([*whole, *many])}
        wrong = [
            f"{place}: {texts[place]}, kernel: {taken}"
            for place, taken in answered.items()
            if taken is not said[place]
        ]
        if seen.info.facts.machine == "aarch64":  # kernels differ there, and it is said
            doubted = {place for place, _, one in places([*whole, *many]) if "some kernels" in one.refusal}
            wrong = [line for line in wrong if line.partition(":")[0] not in doubted]
        assert not wrong, "\n".join(wrong)
        reasons = {one.refusal for _, _, one in places([*whole, *many]) if one.refusal}
        assert len(reasons) >= 3
        assert sum(said.values()) > 150
        assert len(said) - sum(said.values()) > 50

    def test_what_is_no_boundary_takes_none(self, seen: Seen) -> None:
        bodies = [seen.body(name) for name in seen.some_names(4, 40)]
        inside = [part.place_at(one.offset + at) for _, part, one in places(bodies) for at in range(1, len(one.code))]
        tried = random.Random(5).sample(inside, 200)
        assert [place for place, taken in seen.taken(tried).items() if taken] == []

    def test_the_disassembler_of_binutils_sees_the_same(self, seen: Seen, tmp_path: Path) -> None:
        tool, architecture = OBJDUMP[seen.info.facts.machine]
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool} here")
        kcore, symbols, compared = Kcore(seen.info.target), seen.info.symbols.current, 0
        assert symbols is not None
        for name in ("vfs_read", "do_sys_openat2", "schedule", *seen.some_names(6, 20)):
            for part in seen.body(name).parts:
                (tmp_path / "code").write_bytes(kcore.read(part.address, part.size))
                words = ["-D", "-z", "-w", "-b", "binary", "-m", architecture, f"--adjust-vma={part.address:#x}"]
                done = subprocess.run(
                    [tool, *words, str(tmp_path / "code")], capture_output=True, text=True, check=True
                )
                theirs = re.findall(
                    r"^ *([0-9a-f]+):\t(?:[0-9a-f]+ )+ *\t(\S+)[ \t]*(\S*)", done.stdout, re.MULTILINE
                )
                ours = [part.address + one.offset for one in part.instructions]
                assert [int(at, 16) for at, _, _ in theirs] == ours, name
                for (_, word, operand), one in zip(theirs, part.instructions, strict=True):
                    if word in ("call", "bl", "jmp", "b"):
                        assert one.kind is not InstructionKind.OTHER
                        if re.fullmatch(r"(0x)?[0-9a-f]{16}", operand):
                            assert one.target == int(operand, 16)
                            found = symbols.find(int(operand, 16))
                            assert found is None or one.target_name.partition("+")[0] in symbols.names_at(
                                int(operand, 16) - found.offset
                            )
                            compared += 1
        assert compared > 50

    def test_armed_kprobes_do_not_hide_the_code(self, seen: Seen) -> None:
        """A breakpoint, or the jump of an optimised one, stands there; what is shown is the code."""
        before = seen.body("vfs_readv")
        free = [(part, one) for part, one in before.instructions() if not one.refusal and one.offset]
        chosen = free[3::7][:6]
        kcore = Kcore(seen.info.target)
        lines = "".join(f"p:pw_code/e{n} {part.place_at(one.offset)}\n" for n, (part, one) in enumerate(chosen))
        tracing = "/sys/kernel/tracing"
        seen.guest.run(f"printf '%s' '{lines}' >>{tracing}/dynamic_events; echo 1 >{tracing}/events/pw_code/enable")
        try:
            changed = lambda: [  # noqa: E731
                kcore.read(part.address + one.offset, len(one.code)) != one.code for part, one in chosen
            ]
            until(lambda: all(changed()))
            assert all(changed())
            assert _different(seen.body("vfs_readv"), before) == []
            if seen.guest.run("cat /proc/sys/debug/kprobes-optimization 2>/dev/null || true").strip() == b"1":
                first = [part.address + one.offset for part, one in chosen]
                until(lambda: b"\xe9" in [kcore.read(address, 1) for address in first])
                assert b"\xe9" in [kcore.read(address, 1) for address in first]
            assert _different(seen.body("vfs_readv"), before) == []
        finally:
            seen.guest.run(f"echo 0 >{tracing}/events/pw_code/enable; echo >{tracing}/dynamic_events")
        assert _different(seen.body("vfs_readv"), before) == []

    def test_every_call_ends_at_one_of_the_ways_out(self, seen: Seen) -> None:
        """Calls of one process: as many ends as beginnings, and the results that return probes of the kernel see.

        The kernel refuses the result of a function that has none: that line is left out.
        """
        machine = seen.info.facts.machine
        symbols = seen.info.symbols.current
        assert symbols is not None
        names = [name for name in CALLED if len(symbols.named(name)) == 1 and not seen.body(name).refusal]
        lines, tails = [], set()
        for name in names:
            ways = ways_out(seen.body(name))
            if any(way.instruction.refusal for way in ways):
                continue
            tails |= {name for way in ways if not way.is_return}
            lines += [f"p:pw_code/begin_{name} {name}", f"r:pw_code/kernel_{name} {name} ret=$retval:s64"]
            lines += [
                f"p:pw_code/end{number}_{name} {way.place} ret={RESULT[machine]}:s64"
                for number, way in enumerate(ways)
            ]
        script = f"""
        cd /sys/kernel/tracing; echo >trace
        while read -r line; do echo "$line" >>dynamic_events; done 2>/dev/null <<'LINES'
{chr(10).join(lines)}
LINES
        sh -c 'echo "common_pid == $$" >events/pw_code/filter; echo 1 >events/pw_code/enable
          exec dd if=/proc/version of=/tmp/pw_code bs=7 count=40' 2>/dev/null
        echo 0 >events/pw_code/enable; cat trace; echo >dynamic_events; rm /tmp/pw_code
        """
        text = seen.guest.run(script).decode()
        begun, ended, told = (defaultdict[str, list[int]](list) for _ in range(3))
        for kind, name, result in re.findall(r": (begin|end\d+|kernel)_(\w+): \([^)]*\)(?: ret=(-?\d+))?", text):
            {"begin": begun, "kernel": told}.get(kind, ended)[name].append(int(result or 0))
        counted = {name: (len(begun[name]), len(ended[name])) for name in begun}
        # What ran when recording began or ended has one end only.
        assert {name: pair for name, pair in counted.items() if abs(pair[0] - pair[1]) > 1} == {}
        assert len(begun) >= 8 and sum(begin for begin, _ in counted.values()) > 100
        if machine == "x86_64":  # compiled with sibling calls; arm64 keeps frames
            assert begun.keys() & tails, "of those that end in another function, some were called"
        whole = [name for name in begun if name not in tails and len(ended[name]) == len(told[name])]
        assert len(whole) >= 4
        assert {name: (ended[name], told[name]) for name in whole if ended[name] != told[name]} == {}

    def test_a_module(self, seen: Seen) -> None:
        seen.guest.run("lsmod | grep -q dummy || insmod /lib/modules/extra/dummy.ko")
        info = KernelInfo(connect(seen.guest, "lab:again", python=True))
        try:
            reader = BodyReader(info, AttachExplainer(info).attachability)
            [body] = reader.bodies("dummy_setup")
            assert (body.module, body.refusal) == ("dummy", "")
            assert any(one.kind is InstructionKind.CALL for _, one in body.instructions())
            said = {place: not one.refusal for place, _, one in places([body])}
            assert seen.taken(list(said)) == said
        finally:
            info.close()
            seen.guest.run("rmmod dummy")
