"""Define the configuration of the kernel with every tracer on, as additions to `make tinyconfig`.

No kernel of Debian has USER_EVENTS, BOOTTIME_TRACING, BOOT_CONFIG, FUNCTION_GRAPH_RETVAL or FUNCTION_GRAPH_RETADDR.
"""

from __future__ import annotations

# QEMU's machine: console, initramfs, PCI, virtio network, and system calls of busybox, dropbear and Python.
_MACHINE = """
    64BIT SMP PRINTK TTY SERIAL_8250 SERIAL_8250_CONSOLE BLK_DEV_INITRD RD_GZIP BINFMT_ELF BINFMT_SCRIPT PROC_FS
    SYSFS DEVTMPFS TMPFS MULTIUSER UNIX NET INET PCI VIRTIO_MENU VIRTIO_PCI NETDEVICES VIRTIO_NET VIRTIO_CONSOLE
    UNIX98_PTYS EPOLL FUTEX EVENTFD TIMERFD SIGNALFD FILE_LOCKING POSIX_TIMERS KALLSYMS KALLSYMS_ALL MODULES
    PERF_EVENTS HAVE_HW_BREAKPOINT BPF_SYSCALL BPF_JIT BPF_EVENTS CGROUPS SHMEM ADVISE_SYSCALLS MEMBARRIER
    HIGH_RES_TIMERS ACPI HPET_TIMER X86_PM_TIMER
"""
# Functions begin at even addresses: x86's ftrace takes the lowest bit of one for "jump" (ftrace_is_jmp in
# include/linux/ftrace.h), and gcc aligns nothing when it optimizes for size, as tinyconfig has it.
_ALIGNMENT = "CC_OPTIMIZE_FOR_PERFORMANCE"
# All of Documentation/trace.
_TRACING = """
    DEBUG_KERNEL DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT DEBUG_INFO_BTF DEBUG_FS FTRACE FUNCTION_TRACER
    FUNCTION_GRAPH_TRACER FUNCTION_GRAPH_RETVAL FUNCTION_GRAPH_RETADDR FUNCTION_TRACE_ARGS DYNAMIC_FTRACE FPROBE
    FPROBE_EVENTS PROBE_EVENTS_BTF_ARGS KPROBES KPROBE_EVENTS UPROBES UPROBE_EVENTS EPROBE_EVENTS SYNTH_EVENTS
    HIST_TRIGGERS USER_EVENTS BOOT_CONFIG BOOTTIME_TRACING OSNOISE_TRACER TIMERLAT_TRACER HWLAT_TRACER
    SCHED_TRACER STACK_TRACER TRACER_SNAPSHOT FTRACE_SYSCALLS FUNCTION_PROFILER IKCONFIG IKCONFIG_PROC
"""


def fragment() -> str:
    """Return the lines for scripts/kconfig/merge_config.sh."""
    return "".join(f"CONFIG_{name}=y\n" for name in (*_MACHINE.split(), _ALIGNMENT, *_TRACING.split()))


def missing_options(config: str) -> list[str]:
    """Return the tracing options missing in a finished `.config`: renamed since, or with a dependency that is off."""
    lines = set(config.splitlines())
    return [name for name in _TRACING.split() if f"CONFIG_{name}=y" not in lines]
