"""Explain a rejection of BPF programs by the kernel, in plain words and with a way out."""

from __future__ import annotations

import errno
import re

from kernel.bpf.calls import ENOTSUPP, BpfRefused
from kernel.bpf.watchpoints import HINTS
from kernel.errors import ProbeRefused
from probes.plans.plan import Plan
from probes.remedies import BY_TRACEFS
from probes.verdict import Refusal, Verdict

CODE = "bpf_refused"
"""Code of such a rejection."""
_HINTS = {
    errno.EOPNOTSUPP: f"this kernel attaches no program to many functions (CONFIG_FPROBE is missing); {BY_TRACEFS}",
    ENOTSUPP: f"this kernel attaches no program to many functions (CONFIG_FPROBE is missing); {BY_TRACEFS}",
    errno.EINVAL: f"this kernel has no such program, or takes none at one of the functions; {BY_TRACEFS}",
    errno.ESRCH: "one of the functions is not there any more, as when its module was removed",
    errno.EPERM: "it takes CAP_BPF and CAP_PERFMON, or root",
    errno.ENOMEM: "the kernel has no memory for it",
    errno.E2BIG: "the program is too large, or the functions are too many",
}
_POISON = "unknown#195896080"
"""Call by which libbpf's relocation replaces what the kernel lacks (0xbad2310)."""
_OF_OBJECTS = {
    errno.EBUSY: "another program holds the function, or no tracer can be there",
    errno.EINVAL: "this kernel has no such program, or takes none at its function, or lacks a type that it reads",
    errno.ESRCH: "the kernel has no such function, nor a type of it",
    errno.ENOENT: "the kernel has no such function or tracepoint",
    errno.EOPNOTSUPP: "this kernel does not attach programs in this way",
    ENOTSUPP: "this kernel does not attach programs in this way",
    errno.EPERM: _HINTS[errno.EPERM],
    errno.ENOMEM: _HINTS[errno.ENOMEM],
}
"""Reasons for programs that were compiled elsewhere."""
_STATISTICS = re.compile(r"^(processed \d+ insns|verification time|stack depth)")


_OF_FUNCTION = frozenset(
    (errno.EINVAL, errno.EACCES, errno.EBUSY, errno.ENOENT, errno.E2BIG, errno.EOPNOTSUPP, errno.ENOTSUP, ENOTSUPP)
)
"""Errnos that speak of the function, or of the program for it."""


def refusal_of(plan: Plan, error: BpfRefused) -> ProbeRefused:
    """Return the exception for a plan whose programs were rejected; of the verifier's log its last words.

    It names functions where the kernel refuses their own program.
    """
    lines = [line.strip() for line in error.log.splitlines()]
    words = next((line for line in reversed(lines) if line and not _STATISTICS.match(line)), "")
    hint = f"the verifier: {words}; {BY_TRACEFS}" if words else _HINTS.get(error.number, "")
    if _POISON in words:
        words = "a program reads a type or member that this kernel does not have (CO-RE)"
    if plan.object is not None:
        hint = f"the verifier: {words}" if words else _OF_OBJECTS.get(error.number, "")
    if any(program.memory is not None for program in plan.programs):
        hint = f"the verifier: {words}" if words else HINTS.get(error.number, "")
    verdict = Verdict(str(plan.probe), Refusal(CODE, str(error), hint=hint), by_kernel=True)
    functions = error.functions if error.number in _OF_FUNCTION else ()
    return ProbeRefused(verdict, dict.fromkeys(functions, words or str(error)))
