"""What is known of a target, as a value: every decision about a kernel can be tested without one.

`kernel.facts.gather.gather` makes it by looking (never by comparing versions); recordings carry it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

UNKNOWN = "unknown"
"""What is not seen, where nothing and not seen are two things."""

MOST_FUNCTIONS = 400_000
"""Lines of a list of functions: a kernel of a distribution has 60,000, with everything built in 300,000."""
LARGEST_LIST = 32 << 20
"""Bytes of it."""


class Feature(enum.StrEnum):
    """What a kernel's tracefs can do; each was found in its README or by a file that is there."""

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


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that is missing or in the way, and the way out."""

    what: str
    """One line: `tracefs is not mounted`."""
    remedy: str = ""
    """One line, a command where there is one: `mount -t tracefs nodev /sys/kernel/tracing`."""
    fatal: bool = True
    """Whether no probe at all can be armed because of it."""
    code: str = ""
    """What it is, for a program: a value of `probes.attaching.values.ReasonKind`; empty: none of those."""


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """One kernel, as found."""

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
    """Of `Feature`."""
    tracers: tuple[str, ...] = ()
    functions: tuple[str, ...] = field(default=(), repr=False)
    """available_filter_functions, in its order: `vfs_read`, or `ext4_readdir [ext4]` for a module's."""
    blacklist: frozenset[str] = field(default=frozenset(), repr=False)
    """Symbols in the kprobe blacklist."""
    lockdown: str = ""
    """`none`, `integrity`, `confidentiality`; UNKNOWN; empty: no lockdown in this kernel."""
    uid: int = 0
    readme: str = field(default="", repr=False)
    """tracefs README, whole: the list of what this kernel takes."""
    libbpf: str = ""
    """Version of libbpf found there; empty: none."""
    bpf_programs: tuple[str, ...] = ()
    """Program types that libbpf's probes found; empty: not known."""
    bpf_helpers: tuple[str, ...] = ()
    """Helpers that kprobe programs may call, of those that probing wants (`probe_read_kernel`); empty: not known."""
    troubles: tuple[Trouble, ...] = ()

    def has(self, feature: Feature) -> bool:
        """Whether this kernel can do it."""
        return feature in self.features

    @property
    def usable(self) -> bool:
        """Whether a probe can be armed at all."""
        return not any(trouble.fatal for trouble in self.troubles)

    @property
    def unseen(self) -> Trouble | None:
        """What kept us from looking at what this kernel can do, so that nothing is known of it; None: it was seen."""
        return None if self.readme else next((trouble for trouble in self.troubles if trouble.fatal), None)

    @property
    def arch(self) -> str:
        """The name a person uses: x86-64, arm64."""
        return {"x86_64": "x86-64", "aarch64": "arm64"}.get(self.machine, self.machine)

    @property
    def title(self) -> str:
        """`Linux 7.2.13 x86-64`."""
        return f"Linux {self.release} {self.arch}"
