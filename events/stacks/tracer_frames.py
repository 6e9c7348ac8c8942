"""Identify the tracer's own frames at the inner end of a recorded stack, between the probed location and the buffer.

The kernel skips a number of innermost frames, determined by hand for one path to a tracepoint (STACK_SKIP of
kernel/trace/trace_events_trigger.c); after a probe there are more. Each name below was observed, on Linux 6.1, 6.12
or 7.2, or is in the same file next to an observed one: a compiler may inline one into the other. Only frames before
the first other frame are the tracer's: frames farther out are always retained.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_TRIGGER: Final = """
    stacktrace_trigger stacktrace_count_trigger __trace_stack __ftrace_trace_stack ftrace_trace_stack
    event_triggers_call event_triggers_post_call trace_event_buffer_commit trace_buffer_unlock_commit_regs
    __trace_trigger_soft_disabled
"""
"""Functions from a record in the buffer to its stack: kernel/trace/trace.c, trace_events_trigger.c."""
_EVENT_PROBE: Final = "eprobe_trigger_func __eprobe_trace_func"
"""Functions of event probes: kernel/trace/trace_eprobe.c."""
_SYSTEM_CALL: Final = "ftrace_syscall_enter ftrace_syscall_exit"
"""Functions of system call events, called from the entry code: kernel/trace/trace_syscalls.c."""
_KPROBE: Final = """
    kprobe_trace_func __kprobe_trace_func kprobe_dispatcher kprobe_perf_func aggr_pre_handler opt_pre_handler
    kretprobe_trace_func __kretprobe_trace_func kretprobe_dispatcher kretprobe_rethook_handler pre_handler_kretprobe
    __kretprobe_trampoline_handler trampoline_probe_handler
"""
"""Functions of kprobes: kernel/trace/trace_kprobe.c, kernel/kprobes.c, arch/arm64/kernel/probes/kprobes.c."""
_FPROBE: Final = """
    fentry_trace_func __fentry_trace_func fentry_dispatcher fexit_trace_func __fexit_trace_func fexit_dispatcher
    fprobe_exit_handler fprobe_entry fprobe_fgraph_entry fprobe_return trace_fprobe_entry_handler
    function_graph_enter_regs
"""
"""Functions of fprobes: kernel/trace/trace_fprobe.c, fprobe.c, fgraph.c."""
_UPROBE: Final = """
    uprobe_trace_func __uprobe_trace_func uprobe_dispatcher uretprobe_trace_func uretprobe_dispatcher handler_chain
    handle_uretprobe_chain uprobe_handle_trampoline handle_swbp uprobe_notify_resume
"""
"""Functions of uprobes: kernel/trace/trace_uprobe.c, kernel/events/uprobes.c."""
_BREAKPOINT: Final = """
    kprobe_int3_handler do_int3 exc_int3 asm_exc_int3
    kprobe_breakpoint_handler kprobe_brk_handler kretprobe_brk_handler call_break_hook call_el1_break_hook
    brk_handler do_debug_exception do_el1_brk64 el1_dbg el1_brk64 el1h_64_sync_handler el1h_64_sync
"""
"""Exception handlers that a kprobe's breakpoint runs: arch/x86/kernel/{traps,kprobes/core}.c, entry_64.S;
arch/arm64/kernel/{debug-monitors,entry-common}.c, entry.S."""
_RETURN: Final = """
    rethook_trampoline_handler arch_rethook_trampoline_callback arch_rethook_trampoline __kretprobe_trampoline
    ftrace_return_to_handler return_to_handler
"""
"""Functions that a probed function returns to instead of its caller: kernel/trace/{rethook,fgraph}.c,
arch/*/kernel."""
_CALLBACKS: Final = """
    kprobe_ftrace_handler fprobe_handler fprobe_kprobe_handler fprobe_ftrace_entry ftrace_graph_func
    prepare_ftrace_return arch_ftrace_ops_list_func ftrace_ops_list_func ftrace_ops_assist_func optimized_callback
"""
"""Functions called only by a trampoline: one of those below, or one without a symbol that was allocated for the
probe, or one of unloaded code (create_trampoline() of arch/x86/kernel/ftrace.c, opt.c). The frame after one of these
is the tracer's, whatever symbol its address has."""
_TRAMPOLINES: Final = """
    ftrace_trampoline ftrace_caller ftrace_call ftrace_regs_caller ftrace_regs_call ftrace_graph_call
    ftrace_graph_caller kprobe_optinsn_page optprobe_template_func
"""
"""Trampolines: arch/*/kernel/ftrace_64.S, entry-ftrace.S."""
_CALLED_BY_TRAMPOLINE: Final = frozenset(_CALLBACKS.split())
_TRACER_FUNCTIONS: Final = _CALLED_BY_TRAMPOLINE.union(
    *map(str.split, (_TRIGGER, _EVENT_PROBE, _SYSTEM_CALL, _KPROBE, _FPROBE, _UPROBE, _BREAKPOINT, _RETURN)),
    _TRAMPOLINES.split(),
)
_TRACEPOINT_PREFIXES: Final = ("trace_event_raw_event_", "__traceiter_", "__probestub_", "__bpf_trace_")
"""Prefixes of the functions that each tracepoint has: include/linux/tracepoint.h, include/trace/trace_events.h."""


def count_tracer_frames(functions: Sequence[str]) -> int:
    """Return the number of frames at the inner end that are the tracer's own.

    Args:
        functions: functions of the frames, the innermost first, without offsets; empty for an address without a
            symbol.
    """
    number = 0
    while number < len(functions):
        name = functions[number].partition(".")[0]  # without a suffix of the compiler, as `.isra.0`
        if name not in _TRACER_FUNCTIONS and not name.startswith(_TRACEPOINT_PREFIXES):
            break
        number += 1
        following = functions[number].partition(".")[0] if number < len(functions) else ""
        if name in _CALLED_BY_TRAMPOLINE and following not in _TRACER_FUNCTIONS:
            number += 1  # count the trampoline too
    return min(number, len(functions))
