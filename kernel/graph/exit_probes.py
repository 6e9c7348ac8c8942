"""Trace calls with their return values by probes at both ends, where neither the tracer nor programs can.

Functions that the roots reach by direct calls in the kernel's code get probes: calls through pointers are not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from btf.btf import Btf
from btf.errors import BtfError
from btf.functions.error_returns import ErrorReturn, error_return, may_pass_errors_on
from foreign.count_text import counted
from kernel.attach.callees import Callees, CalleeSearch
from kernel.connection.kernel_info import KernelInfo
from kernel.errors import FileRefused, TargetUnusable
from kernel.watch.watch import Watch
from probes.attaching.entry_points import entry_points
from probes.bpf.exclusions import exclusion_reason
from probes.functions.function_index import index_of
from probes.plans.graph_plan import GraphPlan
from probes.refusal import CannotLower
from probes.syntax.parse import parse_probe

_MOST: Final = 400
"""Functions that get probes: each takes a slow machine some 0.05 s."""
_TOGETHER: Final = 100
"""Functions of one probe; `probes.lowering.mechanism` lets each kernel have so many kprobes on one event."""
_ARGUMENTS: Final = 4
"""Arguments that are recorded of each call."""
_NOT_FOLLOWED: Final = (
    *("kmem_cache_", "kmalloc", "__kmalloc", "kvmalloc", "krealloc", "alloc_pages", "__alloc_pages", "memcg_"),
    *("mutex_", "__mutex_", "down_", "up_", "_raw_", "queued_", "rwsem_", "lockref_", "schedule", "__schedule"),
    *("_printk", "printk", "vprintk", "__warn", "dump_stack", "panic", "perf_", "trace_", "__traceiter_", "audit_"),
    *("__audit_", "wake_", "__wake_", "try_to_wake", "queue_", "__queue_", "hrtimer_", "mod_timer", "up_", "wait_"),
    *("x86_", "__x86_", "native_", "asm_", "irq_", "handle_", "apic_", "kthread_", "vsnprintf", "snprintf", "strn"),
    *("percpu_", "pcpu_", "mod_", "__mod_", "lru_", "xas_", "xa_", "idr_", "radix_", "rb_", "_copy_", "copy_page"),
)
"""Beginnings of names of allocators, locks, the scheduler and others: their errors are seen at who calls them."""


class ExitProbes:
    """Probes at both ends of all functions that some roots reach."""

    def __init__(self, watch: Watch, plan: GraphPlan) -> None:
        """Take a watch of a kernel that has nothing armed, and the roots and tasks of a plan."""
        self._watch = watch
        self._plan = plan
        watch.queue.source.graph_plan = plan
        self.note = ""
        """Number of functions that are traced, and what is not, in a line; empty until they are known."""
        self.callers_of_pointers: frozenset[str] = frozenset()
        """Functions that seem to call through pointers, which is not seen."""

    def begin(self) -> None:
        """Open the session and arm. Raises ProbeRefused, TargetUnusable, TargetLost."""
        watch, info = self._watch, self._watch.info
        roots = tuple(name for word in self._plan.roots for name in entry_points(word, info.facts))
        found = _callees(info, roots, self._plan.max_depth)
        self.callers_of_pointers = found.callers_of_pointers
        functions = counted(len(found.names), "function")
        self.note = f"probes are being put on {functions}"
        watch.begin()
        if self._plan.pids:
            watch.task_limit.set(self._plan.pids)
        for text in _probe_texts([*roots, *found.names], info.btf):
            try:
                watch.armed.arm(parse_probe(text), at_any_rate=True)
            except CannotLower as error:
                raise TargetUnusable(f"{info.target.name}: {error.refusal.message}", error.refusal.hint) from None
        cut = f", of more than {_MOST}" if found.is_cut else ""
        self.note = f"probes trace {functions} that these call directly{cut}, not what is called through pointers"


def _probe_texts(names: Sequence[str], btf: Btf | None) -> Iterator[str]:
    """Yield probes on functions, those with equally many arguments together: a kernel may reject further ones."""
    by_arguments: dict[int, list[str]] = {}
    for name in names:
        by_arguments.setdefault(_argument_count(name, btf), []).append(name)
    for count, alike in by_arguments.items():
        values = "".join(f" $arg{number}" for number in range(1, count + 1))
        for start in range(0, len(alike), _TOGETHER):
            yield f"f {','.join(alike[start : start + _TOGETHER])}%both{values} $retval:x64"


def _argument_count(name: str, btf: Btf | None) -> int:
    """Return the number of recorded arguments of a function; of a compiler's variant those of the original."""
    func = btf and (btf.function(name) or btf.function(name.partition(".")[0]))
    try:
        return min(len(btf.prototype(func).params), _ARGUMENTS) if btf and func else 0
    except BtfError:
        return 0


def exit_probe_support(info: KernelInfo) -> str:
    """Return why calls can't be traced by probes at both ends; empty: they may."""
    if info.btf is None:
        return "the kernel has no BTF"
    if info.symbols.current is None:
        return "the kernel hides the addresses of its functions"
    return ""


def _callees(info: KernelInfo, roots: tuple[str, ...], levels: int) -> Callees:
    """Return the functions that get probes. Raises TargetUnusable, TargetLost."""
    facts, btf, symbols = info.facts, info.btf, info.symbols.current
    index = index_of(facts)
    if symbols is None:
        raise TargetUnusable(f"{info.target.name}: {exit_probe_support(info)}")

    def follows(name: str) -> bool:
        return not name.startswith(_NOT_FOLLOWED) and not exclusion_reason(name) and may_pass_errors_on(btf, name)

    def wants(name: str) -> bool:
        is_alone = index.count(name) == 1 and len(symbols.named(name)) == 1
        return is_alone and name not in facts.blacklist and error_return(btf, name) is not ErrorReturn.NONE

    try:
        return CalleeSearch(info.target, facts.machine, symbols).reached(roots, follows, wants, _MOST, levels)
    except FileRefused as error:
        raise TargetUnusable(f"{info.target.name}: the kernel's code can't be read ({error})") from None
