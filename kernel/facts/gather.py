"""Gather the facts of a kernel through any target: features are observed, never derived from a version. Reads
only.
"""

from __future__ import annotations

import contextlib
import re
import struct
from collections.abc import Callable
from dataclasses import replace

from events.format import FormatError, HeaderPage
from foreign.packed import gunzip
from foreign.refusal import InputRefusal
from foreign.text import lines_of, whole_number
from kernel.errors import FileRefused
from kernel.facts.diagnosis import Observations, diagnose, parse_config
from kernel.target import Target
from kernel.tracefs import decode
from probes.facts.facts import LARGEST_LIST, MOST_FUNCTIONS, UNKNOWN, Feature, TargetFacts, Trouble, shared_list

_README_FEATURES = (
    (Feature.FPROBE_EVENTS, r"^[ \t]*f\[:\[<group>/\]"),
    (Feature.TPROBE_EVENTS, r"^[ \t]*t\[:\[<group>/\]"),
    (Feature.EPROBE_EVENTS, r"^[ \t]*e\[:\[<group>/\]"),
    (Feature.EPROBE_FILTER, r"^[ \t]*e\[:\[<group>/\].*\[if <filter>\]"),
    (Feature.BTF_ARGS, r"<argname>\[->field"),
    (Feature.ENTRY_ARGS_AT_EXIT, r"kernel return probes support:.*\$arg<N>"),
    (Feature.CHAR_TYPE, r"^[ \t]*type: .*\bchar\b"),
    (Feature.SYMSTR_TYPE, r"\bsymstr\b"),
    (Feature.USTRING_TYPE, r"\bustring\b"),
    (Feature.DENTRY_TYPE, r"%pd/%pD"),
    (Feature.TYPECAST, r"\[\(structname"),
    (Feature.CURRENT, r"\$current\b"),
    (Feature.THIS_CPU, r"\bthis_cpu_read\("),
    (Feature.HIST_TRIGGERS, r"^[ \t]*hist trigger\b"),
)
"""Patterns of the README (trace.c, readme_msg) that announce each feature."""

_FILE_FEATURES = (
    (Feature.DYNAMIC_EVENTS, "dynamic_events"),
    (Feature.KPROBE_EVENTS, "kprobe_events"),
    (Feature.UPROBE_EVENTS, "uprobe_events"),
    (Feature.SYNTHETIC_EVENTS, "synthetic_events"),
    (Feature.SUBBUF_SIZE, "buffer_subbuf_size_kb"),
    (Feature.USER_EVENTS, "user_events_data"),
)

_NEEDS_CONFIG = ((Feature.EPROBE_EVENTS, "EPROBE_EVENTS"), (Feature.EPROBE_FILTER, "EPROBE_EVENTS"))
"""Configuration options of README entries that appear even without them: CONFIG_EPROBE_EVENTS (Linux 6.17 and
newer).
"""

_MACHINES = {3: "i686", 8: "mips64", 20: "ppc", 21: "ppc64", 22: "s390x", 40: "armv7l", 62: "x86_64", 183: "aarch64"}
_MACHINES |= {243: "riscv64", 258: "loongarch64"}
"""Names of `uname -m` by e_machine of an ELF header."""

_AT_PAGESZ = 6
_LARGEST_CONFIG = 4 << 20
"""Most bytes of a .config; that of a distribution has 300,000."""
_LARGEST_README = 64 << 10
"""Most bytes of the README; that of Linux 7.3 has 13,000."""
_LARGEST_FILE = 1 << 20
"""Most bytes of the small files of /proc and /sys."""
_PAGE_SIZES = frozenset(1 << shift for shift in range(12, 19))
"""Page sizes of 4 to 256 KiB (arch/*/Kconfig, PAGE_SIZE_*)."""
_MOST_CPUS = 1 << 13
"""Most CPUs; CONFIG_NR_CPUS is at most 8192."""

TRACEFS_MAGIC = 0x74726163
"""Value from include/uapi/linux/magic.h."""
_TRACEFS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")


def gather(
    target: Target,
    kind_of: Callable[[str], int | None] = lambda _: None,
    *,
    host: str = "",
    rights: tuple[Trouble, ...] = (),
) -> TargetFacts:
    """Gather the facts of the kernel behind `target`. Raises TargetLost; a missing file is a fact.

    Args:
        target: the kernel.
        kind_of: returns the magic number of the file system at a path, by statfs(2); None: not possible there.
        host: the user's name of the machine; empty: the local machine.
        rights: reasons why root rights are not available there.
    """
    look = _Look(target)
    facts = _machine(look)
    lockdown = re.search(r"\[(\w+)\]", look.text("/sys/kernel/security/lockdown"))
    root, options, covered = _find_tracefs(look, kind_of)
    systems = look.text("/proc/filesystems").split()
    lockdown_known = bool(lockdown) or "securityfs" not in systems or bool(look.names("/sys/kernel/security"))
    facts = replace(facts, lockdown=lockdown[1] if lockdown else "" if lockdown_known else UNKNOWN)
    sight = Observations(
        host=host,
        rights=rights,
        tracefs_known="tracefs" in systems or bool(root),
        mount_options=options,
        covered=covered,
        in_container=look.text("/proc/self/uid_map").split() not in ([], ["0", "0", "4294967295"]),
        capabilities=_capabilities(look),
        has_btf="vmlinux" in look.names("/sys/kernel/btf"),
        settings=_settings(look),
    )
    if root:
        facts = _tracing(look, replace(facts, tracefs=root))
        sight = replace(
            sight,
            tracefs_readable=bool(facts.readme),
            functions_listed=bool(facts.functions),
            blacklist_readable=bool(facts.blacklist),
        )
    if not facts.has(Feature.KPROBE_EVENTS) or not facts.has(Feature.FPROBE_EVENTS):
        sight = replace(sight, config=read_config(target, facts.release))
        unset = {feature for feature, name in _NEEDS_CONFIG if sight.config.get(name) == "n"}
        facts = replace(facts, features=facts.features - unset)
    return replace(facts, troubles=diagnose(facts, sight))


def readme_features(readme: str) -> frozenset[str]:
    """Return the features that a tracefs README announces."""
    return frozenset(f for f, pattern in _README_FEATURES if re.search(pattern, readme, re.MULTILINE))


def parse_blacklist(text: str) -> frozenset[str]:
    """Return the symbols of debugfs kprobes/blacklist: `0xSTART-0xEND<tab>symbol`. Raises InputRefusal."""
    lines = lines_of(text, "kprobes/blacklist", MOST_FUNCTIONS)
    return frozenset(line.rpartition("\t")[2].strip() for line in lines if "\t" in line)


class _Look:
    """Reader of files in which a refused file counts as empty."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def data(self, path: str, limit: int = _LARGEST_FILE) -> bytes:
        try:
            return self._target.read(path, limit)
        except FileRefused:
            return b""

    def text(self, path: str, limit: int = _LARGEST_FILE) -> str:
        return decode(self.data(path, limit))

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file. Raises InputRefusal for more lines than any kernel has functions."""
        return lines_of(self.text(path, LARGEST_LIST), path, MOST_FUNCTIONS)

    def word(self, path: str) -> str:
        return self.text(path).strip()

    def names(self, path: str) -> frozenset[str]:
        try:
            return frozenset(self._target.list(path))
        except FileRefused:
            return frozenset()


def _machine(look: _Look) -> TargetFacts:
    """Return the facts of the machine, from /proc and /sys."""
    elf = look.data("/proc/self/exe", 20)
    order = "big" if elf[5:6] == b"\2" else "little"
    order = look.word("/sys/kernel/cpu_byteorder") or order
    number = int.from_bytes(elf[18:20], "big" if elf[5:6] == b"\2" else "little")
    bits = look.word("/sys/kernel/address_bits")
    long_size = {"32": 4, "64": 8}.get(bits, 4 if elf[4:5] == b"\1" else 8)
    status = look.text("/proc/self/status")
    uid = re.search(r"^Uid:\s+\d+\s+(\d+)", status, re.MULTILINE)
    return TargetFacts(
        machine=look.word("/proc/sys/kernel/arch") or _MACHINES.get(number, "unknown"),
        release=look.word("/proc/sys/kernel/osrelease"),
        version=look.word("/proc/sys/kernel/version"),
        byteorder=order,
        long_size=long_size,
        page_size=_page_size(look.data("/proc/self/auxv"), elf),
        cpus=_count_cpus(look.word("/sys/devices/system/cpu/online")),
        boot_id=look.word("/proc/sys/kernel/random/boot_id"),
        uid=whole_number(uid[1]) or 0 if uid else 0,
    )


def _page_size(auxv: bytes, elf: bytes) -> int:
    """Return AT_PAGESZ of a process whose ELF header begins with `elf`; 4096 if absent."""
    word = struct.Struct((">" if elf[5:6] == b"\2" else "<") + ("II" if elf[4:5] == b"\1" else "QQ"))
    aligned = auxv[: len(auxv) // word.size * word.size]
    size = int(dict(word.iter_unpack(aligned)).get(_AT_PAGESZ, 4096))
    return size if size in _PAGE_SIZES else 4096


def _count_cpus(ranges: str) -> int:
    """Return the number of CPUs: `0-3,8` -> 5; 1 if unknown."""
    bounds = [part.split("-") for part in ranges.split(",", _MOST_CPUS)]
    pairs = [(whole_number(bound[0]), whole_number(bound[-1])) for bound in bounds]
    number = sum(last - first + 1 for first, last in pairs if first is not None and last is not None)
    return min(max(number, 1), _MOST_CPUS)


def _capabilities(look: _Look) -> int:
    match = re.search(r"^CapEff:\s+([0-9a-f]+)", look.text("/proc/self/status"), re.MULTILINE)
    return whole_number(match[1], 16) or 0 if match else 0


def _settings(look: _Look) -> dict[str, str]:
    paths = {
        "ftrace_enabled": "/proc/sys/kernel/ftrace_enabled",
        "kprobes/enabled": "/sys/kernel/debug/kprobes/enabled",
        "kptr_restrict": "/proc/sys/kernel/kptr_restrict",
    }
    return {name: value for name, path in paths.items() if (value := look.word(path))}


def _find_tracefs(look: _Look, kind_of: Callable[[str], int | None]) -> tuple[str, frozenset[str], str]:
    """Return mount point and options of tracefs, /sys/kernel/tracing if there are several; and a hidden mount point.

    The list of mounts does not show which of two at one point is visible, and without /proc there is no list.
    """
    mounts: dict[str, frozenset[str]] = {}
    for line in look.text("/proc/self/mounts").splitlines():
        words = line.split(" ")
        if len(words) > 3 and words[2] == "tracefs":
            point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), words[1])
            mounts[point] = frozenset(words[3].split(","))
    covered = ""
    for point in dict.fromkeys((*_TRACEFS, *mounts)):
        kind = kind_of(point)
        if kind == TRACEFS_MAGIC or (kind is None and point in mounts):
            return point, mounts.get(point, frozenset()), ""
        if point in mounts:
            covered = covered or point
    # debugfs mounts it below itself on the first access there.
    point = _TRACEFS[1]
    return (point, frozenset(), "") if "README" in look.names(point) else ("", frozenset(), covered)


def _tracing(look: _Look, facts: TargetFacts) -> TargetFacts:
    """Add the facts that tracefs shows."""
    root = facts.tracefs
    names = look.names(root)
    readme = look.text(f"{root}/README", _LARGEST_README)
    features = set(readme_features(readme))
    features |= {feature for feature, name in _FILE_FEATURES if name in names}
    if "funcgraph-args" in look.names(f"{root}/options"):
        features.add(Feature.FUNCTION_GRAPH_ARGS)
    long_size = facts.long_size
    with contextlib.suppress(FormatError):
        long_size = HeaderPage.parse(look.text(f"{root}/events/header_page")).long_size
    return replace(
        facts,
        features=frozenset(features),
        readme=readme,
        long_size=long_size,
        tracers=tuple(look.text(f"{root}/available_tracers").split()),
        functions=shared_list(tuple(look.lines(f"{root}/available_filter_functions"))),
        blacklist=parse_blacklist(look.text("/sys/kernel/debug/kprobes/blacklist", LARGEST_LIST)),
    )


def read_config(target: Target, release: str) -> dict[str, str]:
    """Return the kernel's .config, if it can be found: it explains missing features. Raises TargetLost."""
    look = _Look(target)
    packed = look.data("/proc/config.gz")
    try:
        text = gunzip(packed, "/proc/config.gz", _LARGEST_CONFIG).decode("ascii", "replace") if packed else ""
    except InputRefusal:
        text = ""
    return parse_config(text or look.text(f"/boot/config-{release}", _LARGEST_CONFIG))
