"""Find direct calls and jumps in machine code by their target address.

Needs no disassembler: a branch encodes the distance to its target, so in a sufficiently short stretch of code the
upper half of that distance has one or two values. A regular expression finds these, and the lower half is then
compared (`iter_branches` of the architectures). Matches are exact; a false match needs bytes that encode exactly that
distance by chance.
"""

from __future__ import annotations

from collections.abc import Collection

from probes.code.architectures.table import ARCHITECTURES
from probes.code.decoded import Branch


def branches_to(targets: Collection[int], code: bytes, start: int, machine: str) -> list[Branch]:
    """Return the branches in `code`, loaded at address `start`, to any of `targets`; sorted by address.

    Raises KeyError for an unsupported architecture.
    """
    architecture, target_set = ARCHITECTURES[machine], frozenset(targets)
    stretch, more = architecture.STRETCH, architecture.LONGEST_BRANCH - 1
    branches = list[Branch]()
    for at in range(0, len(code), stretch):
        # The longest branch may begin in this stretch and end in the next.
        found = architecture.iter_branches(code[at : at + stretch + more], start + at, target_set)
        branches += (one for one in found if one.address < start + at + stretch)
    return branches
