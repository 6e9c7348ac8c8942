"""Find the end of ftrace's call at the beginning of a function: the first place that a breakpoint stands on."""

from __future__ import annotations

from typing import Final

FIRST_BYTES: Final = 16
"""Bytes of a function's beginning that are looked at."""
_ENDBR64: Final = (b"\xf3\x0f\x1e\xfa", b"\x0f\x1f\x40\xd6", b"\x66\x0f\x1f\x00")
"""ENDBR64, and what the kernel writes over it where nothing calls by address (gen_endbr_poison)."""
_NOP: Final = b"\x0f\x1f\x44\x00\x00"
_CALL: Final = b"\xe8"
CALL_BYTES: Final = 5


def end_of_ftrace_call(code: bytes, machine: str) -> int | None:
    """Return the offset in bytes behind ftrace's call, or the NOP in its place; None: unknown, or there is none.

    On x86-64 a kprobe before it is one on ftrace (arch_adjust_kprobe_addr in arch/x86/kernel/kprobes/core.c); behind
    it nothing of the function has run yet.
    """
    if machine != "x86_64":
        return None
    start = len(_ENDBR64[0]) if code.startswith(_ENDBR64) else 0
    here = code[start : start + CALL_BYTES]
    return start + CALL_BYTES if here == _NOP or (here[:1] == _CALL and len(here) == CALL_BYTES) else None
