"""Represent the facts of a target as a value, so that every decision about a kernel can be tested without one.

`kernel.facts.gather.gather` finds them by testing features, never by comparing versions; recordings include them.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

UNKNOWN = "unknown"
"""Value for a fact that could not be read, where empty means that it is absent."""

MOST_FUNCTIONS = 400_000
"""Largest number of functions in a list: a distribution's kernel has 60,000, a kernel with everything built in
300,000."""
LARGEST_LIST = 32 << 20
"""Largest size in bytes of a list of functions."""


class Feature(enum.StrEnum):
    """Capability of a kernel's tracefs, found in its README or by an existing file."""

    DYNAMIC_EVENTS = "dynamic_events"
    KPROBE_EVENTS = "kprobe_events"
    UPROBE_EVENTS = "uprobe_events"
    FPROBE_EVENTS = "fprobe_events"
    TPROBE_EVENTS = "tracepoint probes"
    EPROBE_EVENTS = "event probes"
    EPROBE_FILTER = "event probe filters"
    SYNTHETIC_EVENTS = "synthetic events"
    BTF_ARGS = "BTF arguments"
    """README: `<argname>[->field[->field|.field...]]`."""
    ENTRY_ARGS_AT_EXIT = "entry arguments at exit"
    """README: `kernel return probes support: $retval, $arg<N>, $comm`."""
    CHAR_TYPE = "char type"
    SYMSTR_TYPE = "symstr type"
    USTRING_TYPE = "ustring type"
    DENTRY_TYPE = "%pd and %pD types"
    TYPECAST = "typecasts"
    CURRENT = "$current"
    THIS_CPU = "this_cpu_read()"
    FUNCTION_GRAPH_ARGS = "function_graph arguments"
    SUBBUF_SIZE = "sub-buffer size"
    HIST_TRIGGERS = "hist triggers"
    USER_EVENTS = "user events"
    """Linux 6.4 or newer with CONFIG_USER_EVENTS."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A missing capability or an obstacle, with a remedy."""

    what: str
    """Description in a line: `tracefs is not mounted`."""
    remedy: str = ""
    """Remedy in a line, a command where there is one: `mount -t tracefs nodev /sys/kernel/tracing`."""
    fatal: bool = True
    """True if no probe at all can be armed."""
    code: str = ""
    """Identifier for programs: a value of `probes.attaching.values.ReasonKind`; empty: none of these."""


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """Facts of a kernel."""

    machine: str
    """`uname -m`: x86_64, aarch64, riscv64, ..."""
    release: str
    """`uname -r`."""
    version: str = ""
    """`uname -v`."""
    byteorder: str = "little"
    long_size: int = 8
    """Bytes of a long and a pointer."""
    page_size: int = 4096
    cpus: int = 1
    boot_id: str = ""
    tracefs: str = ""
    """Mount point of tracefs; empty: not reachable."""
    features: frozenset[str] = frozenset()
    """Values of `Feature`."""
    tracers: tuple[str, ...] = ()
    functions: tuple[str, ...] = field(default=(), repr=False)
    """available_filter_functions, in its order: `vfs_read`, or `ext4_readdir [ext4]` for a module's."""
    blacklist: frozenset[str] = field(default=frozenset(), repr=False)
    """Symbols in the kprobe blacklist."""
    lockdown: str = ""
    """`none`, `integrity`, `confidentiality`; UNKNOWN; empty: no lockdown in this kernel."""
    uid: int = 0
    readme: str = field(default="", repr=False)
    """Whole README of tracefs: the list of the syntax that this kernel accepts."""
    libbpf: str = ""
    """Version of the libbpf found on the target; empty: none."""
    bpf_programs: tuple[str, ...] = ()
    """Program types found by libbpf's probes; empty: unknown."""
    bpf_helpers: tuple[str, ...] = ()
    """Helpers that kprobe programs may call, out of those needed here (`probe_read_kernel`); empty: unknown."""
    troubles: tuple[Trouble, ...] = ()
    function_lists: bool = False
    """True where one probe is attached to any list of functions, as BPF programs are (`probes.bpf.lower`)."""

    def has(self, feature: Feature) -> bool:
        """Return whether this kernel has a feature."""
        return feature in self.features

    @property
    def usable(self) -> bool:
        """True if probes can be armed."""
        return not any(trouble.fatal for trouble in self.troubles)

    @property
    def unreadable(self) -> Trouble | None:
        """Obstacle that kept the features from being read, so that they are unknown; None: they were read."""
        return None if self.readme else next((trouble for trouble in self.troubles if trouble.fatal), None)

    @property
    def arch(self) -> str:
        """Common name of the architecture: x86-64, arm64."""
        return {"x86_64": "x86-64", "aarch64": "arm64"}.get(self.machine, self.machine)

    @property
    def title(self) -> str:
        """Name of the kernel: `Linux 7.2.13 x86-64`."""
        return f"Linux {self.release} {self.arch}"


_MAX_LISTS = 4
_lists: list[tuple[str, ...]] = []
"""The last few lists of functions: machines with the same kernel share a list, of some 3 MB."""


def shared_list(functions: tuple[str, ...]) -> tuple[str, ...]:
    """Return the stored list that equals `functions`; else store `functions` and return it."""
    equal = next((stored for stored in tuple(_lists) if stored == functions), None)
    if equal is None:
        _lists[:] = [*_lists[-_MAX_LISTS + 1 :], functions]
    return functions if equal is None else equal
