"""Ask libbpf which programs and helpers the running kernel takes."""

from __future__ import annotations

from dataclasses import replace

from kernel.local import libbpf
from probes.facts.facts import TargetFacts

BPF_PROG_TYPE_KPROBE = 2
_HELPERS = {
    "get_stackid": 27,
    "probe_read_user": 112,
    "probe_read_kernel": 113,
    "probe_read_user_str": 114,
    "probe_read_kernel_str": 115,
    "ringbuf_output": 130,
    "get_func_ip": 173,
    "get_attach_cookie": 174,
    "loop": 181,
}
"""BPF_FUNC_* that programs on functions use (include/uapi/linux/bpf.h), added since Linux 4.6."""


def with_libbpf(facts: TargetFacts) -> TargetFacts:
    """Add the results of the library on this machine; its probes load tiny programs, some 2 ms for all of them."""
    library = libbpf.load()
    if library is None:
        return facts
    types = library.prog_types()
    loadable = tuple(name for number, name in types.items() if number and library.probe_prog_type(number))
    helpers: tuple[str, ...] = ()
    if BPF_PROG_TYPE_KPROBE in types and types[BPF_PROG_TYPE_KPROBE] in loadable:
        helpers = tuple(n for n, number in _HELPERS.items() if library.probe_helper(BPF_PROG_TYPE_KPROBE, number))
    return replace(facts, libbpf=library.version, bpf_programs=loadable, bpf_helpers=helpers)
