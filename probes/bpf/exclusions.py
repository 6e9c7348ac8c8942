"""List the functions that BPF programs are never attached to, in bulk or by fentry, each with the reason."""

from __future__ import annotations

from collections.abc import Set
from typing import Final, NamedTuple


class _Excluded(NamedTuple):
    """Functions by parts of their names, and why they are left out."""

    reason: str
    beginnings: tuple[str, ...]
    parts: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()

    def has(self, function: str) -> bool:
        named = function.startswith(self.beginnings) or function.endswith(self.endings)
        return named or any(part in function for part in self.parts)


_ENTERED = "they run while a program is entered or left: the machine could stand still"
_CALLED = "programs call them while they record"
_BULK: Final = (
    _Excluded(
        _ENTERED,
        ("rcu_", "__rcu_", "migrate_", "preempt_", "bpf_", "__bpf_"),
        ("tramp", "ftrace", "fprobe"),
    ),
    _Excluded(
        _CALLED,
        (
            *("ring_buffer_", "ktime_get_mono", "irq_work_"),
            *("htab_", "__htab_", "array_map_", "array_of_map_", "pcpu_freelist_", "__pcpu_freelist_"),
        ),
        ("stack_walk",),
        ("_nofault",),
    ),
)
_FENTRY: Final = (
    # A program at the entry or exit is skipped only while it runs itself. What its trampoline calls before it looks
    # for that (__bpf_prog_enter in kernel/bpf/trampoline.c) would call itself for ever.
    _Excluded(
        _ENTERED,
        (
            "lock_acquire",
            "lock_release",
            "lock_is_held",
            "debug_smp_processor_id",
            "debug_lockdep",
            "__this_cpu_pree",
        ),
        ("bpf", "migrate_disable", "migrate_enable", "preempt_count", "rcu_read_", "lockdep", "check_preemption"),
    ),
    # The program at the exit of a lock would wait for the lock that the program at its entry has just taken, in
    # order to record (bpf_ringbuf_reserve).
    _Excluded(
        "programs take such locks while they record",
        ("_raw_", "do_raw_", "queued_", "native_queued_", "pv_", "__pv_", "resilient_", "rqspin"),
    ),
)
_NEVER_RETURN: Final = frozenset(
    (
        *("do_exit", "do_group_exit", "make_task_dead", "rewind_stack_and_make_dead", "do_task_dead"),
        *("kthread_exit", "kthread_complete_and_exit", "complete_and_exit", "__module_put_and_kthread_exit"),
        *("__module_put_and_exit", "__kunit_abort", "kunit_try_catch_throw"),
        *(f"__{arch}_sys_exit{group}" for arch in ("x64", "ia32", "arm64", "se", "do") for group in ("", "_group")),
        *("panic", "nmi_panic_self_stop", "panic_smp_self_stop", "stop_this_cpu", "machine_real_restart"),
        *("arch_cpu_idle_dead", "cpu_startup_entry", "start_kernel", "rest_init", "usercopy_abort"),
        *("fortify_panic", "__fortify_panic", "__stack_chk_fail", "__ubsan_handle_builtin_unreachable"),
        *("cpu_die", "cpu_die_early", "cpu_park_loop", "cpu_panic_kernel", "die_kernel_fault", "hlt_play_dead"),
    )
)
"""Functions without a return (noreturn_deny in kernel/bpf/verifier.c, tools/objtool/noreturns.h)."""


def exclusion_reason(function: str) -> str:
    """Return why a function is left out where many are probed at once; empty: it is not."""
    return next((excluded.reason for excluded in _BULK if excluded.has(function)), "")


def fentry_exclusion(function: str, blacklist: Set[str], *, at_exit: bool) -> str:
    """Return why no fentry or fexit program is attached to a function; empty: nothing known speaks against it.

    Newer kernels refuse some of these themselves; 6.1 loads and attaches a program on `__rcu_read_lock`, and the
    machine stands still.

    Args:
        function: name of the function.
        blacklist: functions that can't have kprobes.
        at_exit: the program runs when it returns.
    """
    if function in blacklist:
        return "it is on the kernel's list of functions that can't have probes"
    for excluded in (*_BULK, *_FENTRY):
        if excluded.has(function):
            return excluded.reason
    if at_exit and function in _NEVER_RETURN:
        return "it never returns, and the kernel could never free the program's entry to it"
    return ""
