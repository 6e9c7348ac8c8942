"""Declare what a module of an architecture has to have, so that code of it can be read."""

# ruff: noqa: N802 - constants of modules

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, Protocol

from probes.code.body import InstructionKind
from probes.code.decoded import Branch, Decoded, InstalledKprobe
from probes.code.patched_sites import SiteTable


class Architecture(Protocol):
    """Members of a module that reads the code of one architecture; `code` is machine code from an instruction on."""

    @property
    def NAME(self) -> str:
        """Common name: x86-64, arm64."""

    @property
    def SITE_TABLES(self) -> Sequence[SiteTable]:
        """Tables of the kernel with places that take no kprobe on this architecture."""

    @property
    def OPCODE_BYTES(self) -> int:
        """Bytes of an instruction that the kernel keeps in a kprobe (kprobe_opcode_t)."""

    @property
    def INSIDE_ERROR(self) -> str:
        """Code of the kernel's error for a kprobe within an instruction."""

    @property
    def ENTRY_MARKS(self) -> Sequence[bytes]:
        """Instructions at the beginning of a function that direct calls may skip."""

    @property
    def STRETCH(self) -> int:
        """Bytes of code within which the upper half of a distance changes at most once."""

    @property
    def LONGEST_BRANCH(self) -> int:
        """Bytes of the longest branch to an address."""

    def make_decoder(self, capstone: ModuleType) -> Any:  # noqa: ANN401 - capstone has no types
        """Return capstone's decoder."""

    def whole(self, one: Decoded, code: bytes, address: int) -> Decoded:
        """Return an instruction with what capstone leaves out; `code` begins with it, and is at an address."""

    def unknown(self, code: bytes, offset: int) -> Decoded:
        """Return the instruction at an offset that capstone does not know, or the least bytes that may be none."""

    def is_filler(self, code: bytes) -> bool:
        """Return whether an instruction only fills the space between two functions."""

    def without_next_pointer(self, code: bytes, end: int) -> bytes:
        """Return the code of a function up to an address without what belongs to the function that begins there."""

    def target_of(self, decoded: Sequence[Decoded], index: int, start: int) -> int | None:
        """Return the address that an instruction branches to, or that its PC-relative operand means; None: none.

        Args:
            decoded: instructions of the code.
            index: index of the instruction.
            start: address of the code.
        """

    def kind_of(self, one: Decoded, target: int | None, name: str, ranges: Sequence[range]) -> InstructionKind:
        """Return the effect of an instruction on the flow of control.

        Args:
            one: instruction.
            target: address that it branches to; None: in a register, in memory, or none.
            name: symbol of that address.
            ranges: addresses of the parts of the function.
        """

    def is_indirect(self, one: Decoded, target: int | None, name: str) -> bool:
        """Return whether a call or jump goes to an address that is in a register or in memory."""

    def is_unconditional(self, one: Decoded) -> bool:
        """Return whether a return or jump is always taken."""

    def encoding_refusal(self, codes: Sequence[bytes], index: int) -> str:
        """Return why an instruction takes no kprobe, by its encoding and the code before it; empty: it may take one.

        Args:
            codes: bytes of all instructions of the function.
            index: index of the instruction.
        """

    def is_inside(self, offset: int, *, has_mark: bool, has_ftrace_call: bool) -> bool:
        """Return whether an offset is certainly within an instruction of a function whose code is not known.

        Args:
            offset: bytes from the beginning of the function.
            has_mark: True if it begins with the first of the ENTRY_MARKS.
            has_ftrace_call: True if ftrace's call is there, or its place.
        """

    def ftrace_index(self, codes: Sequence[bytes]) -> int | None:
        """Return the index of the instruction of a function that ftrace makes its call; None: none."""

    def replaced(self, code: bytes, probe: InstalledKprobe) -> bytes:
        """Return the bytes that a kprobe replaced in the code at its address; empty: it is not armed there."""

    def iter_branches(self, code: bytes, start: int, targets: frozenset[int]) -> Iterator[Branch]:
        """Yield the branches in a stretch of code, loaded at address `start`, to any of some targets."""

    def branch_targets(self, code: bytes, start: int) -> set[int]:
        """Return the addresses that a function's code, loaded at `start`, branches to, perhaps with others."""

    def may_call_pointers(self, code: bytes, start: int) -> bool:
        """Return whether a function's code, loaded at address `start`, seems to call an address in a register or in
        memory.
        """
