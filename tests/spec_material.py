"""What commands for a kernel can name: drawn from its own lists and types, so that good ones are really good."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from btf.btf import Btf
from btf.layout import fields
from btf.types import Array, Ptr, Struct
from btf.walk import strip
from probes.facts.facts import TargetFacts
from probes.facts.lookups import StaticEventField, SymbolCount
from probes.functions.function_index import index_of
from probes.functions.signature import Signature, signature_of, tracepoint_of

_SAMPLE = 400
FILES = ("/bin/busybox", "/bin/sh", "/init", "/bin//busybox")
BAD_FILES = ("/bin", "/dev/null", "/nosuch/file", "/bin/nosuch", "/proc/version", "/")
WELL_KNOWN = ("vfs_read", "vfs_write", "do_exit", "tcp_sendmsg", "kfree", "vfs_open", "wake_up_new_task")


@dataclass(frozen=True)
class Material:
    """One kernel's names, sampled."""

    btf: Btf
    facts: TargetFacts
    functions: tuple[str, ...]
    """Traceable, known to BTF."""
    bare: tuple[str, ...]
    """Traceable, unknown to BTF: of modules, twins, those with a suffix."""
    text: tuple[str, ...]
    """In the kernel's code, not traceable."""
    data: tuple[str, ...]
    tracepoints: tuple[str, ...]
    events: Mapping[str, tuple[StaticEventField, ...]]
    """By `group/event`."""
    modules: Mapping[str, Btf]
    """Types of the modules that are loaded."""

    def signature(self, name: str, tracepoint: bool = False) -> Signature | None:
        """Parameters of a function or a tracepoint."""
        btf = self.modules.get(index_of(self.facts).modules.get(name, ""), self.btf)
        return (tracepoint_of if tracepoint else signature_of)(btf, name)

    def path(self, btf: Btf, type_id: int, rng: random.Random) -> str:
        """Walk from a value of a type into what is behind it; an empty text where nothing is."""
        text = ""
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
            kind, separator = btf.type(strip(btf, type_id)), "."
            if isinstance(kind, Ptr):
                kind, separator = btf.type(strip(btf, kind.type_id)), "->"
            if not isinstance(kind, Struct) or (not text and separator == "."):
                break
            members = [field for field in fields(btf, kind.id) if field.name]
            if not members:
                break
            member = rng.choice(members)
            text += separator + member.name
            type_id = member.type_id
        return text

    def is_text(self, btf: Btf, type_id: int) -> bool:
        """Whether something may be a string: behind a pointer, or an array."""
        return isinstance(btf.type(strip(btf, type_id)), Ptr | Array)


def gather(
    btf: Btf,
    facts: TargetFacts,
    kallsyms: str,
    event: Callable[[str, str], tuple[StaticEventField, ...] | None],
    available: Sequence[str],
    modules: Mapping[str, Btf],
    seed: int,
) -> Material:
    """Sample one kernel's names.

    Args:
        btf: its types.
        facts: with its functions.
        kallsyms: the file.
        event: fields of an event, by group and name.
        available: lines of available_events.
        modules: types of the loaded modules.
        seed: the same names for the same seed.
    """
    rng = random.Random(seed)
    index = index_of(facts)
    known = [name for name, module in index.modules.items() if not module and btf.function(name) is not None]
    bare = [name for name in index.modules if btf.function(name) is None]
    loaded = [name for name, module in index.modules.items() if module]
    rows = [line.split() for line in kallsyms.splitlines()]
    code = [row[2] for row in rows if len(row) == 3 and row[1] in "tT" and row[2] not in index.modules]
    data = [row[2] for row in rows if len(row) == 3 and row[1] in "dDbB"]
    tracepoints = [name.removeprefix("__probestub_") for name in btf.functions if name.startswith("__probestub_")]
    twins = [name for name in index.repeated if name in index.modules]
    found = {}
    for line in [*rng.sample(sorted(available), min(len(available), _SAMPLE // 8)), "sched:sched_switch"]:
        group, _, name = line.partition(":")
        declared = event(group, name)
        if declared is not None:
            found[f"{group}/{name}"] = declared
    return Material(
        btf,
        facts,
        (*(name for name in WELL_KNOWN if name in known), *_some(known, rng)),
        (*_some(bare, rng)[: _SAMPLE // 2], *_some(loaded, rng)[: _SAMPLE // 4], *_some(twins, rng)[: _SAMPLE // 8]),
        (*_some(code, rng), *_some(sorted(facts.blacklist), rng)[: _SAMPLE // 4]),
        _some(data, rng),
        _some([name for name in tracepoints if f"__probestub_{name}" in index.modules], rng)
        or ("sched_switch", "kfree"),
        found,
        modules,
    )


def count_symbols(kallsyms: str) -> Callable[[str], SymbolCount]:
    """How often each symbol is there, in the kernel and in modules, and what else its address is called."""
    kernel: Counter[str] = Counter()
    modules: Counter[str] = Counter()
    at: dict[str, list[str]] = {}
    address_of = {}
    for line in kallsyms.splitlines():
        row = line.split()
        (modules if len(row) > 3 else kernel)[row[2]] += 1
        at.setdefault(row[0], []).append(row[2])
        address_of[row[2]] = row[0]

    def count(name: str) -> SymbolCount:
        twins = tuple(other for other in at.get(address_of.get(name, ""), ()) if other != name)
        once = kernel[name] + modules[name] == 1
        return SymbolCount(kernel[name], modules[name], twins if once else ())

    return count


def _some(names: list[str], rng: random.Random) -> tuple[str, ...]:
    return tuple(rng.sample(names, min(len(names), _SAMPLE)))
