"""Content of the signature pane for one function, tracepoint or event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from probes.attaching.values import Attachability
from probes.probe import CALL_ENDS, ProbeEnds
from widgets.fields.field_tree import FieldNode


@dataclass(frozen=True, slots=True)
class SignatureText:
    """Texts of a function for the editor."""

    name: str
    prototype: str
    """Prototype, in one line."""
    arguments: Sequence[FieldNode]
    retval: FieldNode | None = None
    """Return value; None: void."""
    where: str = ""
    """Module or source file."""
    trouble: str = ""
    """Reason why the signature is unknown, or nothing can attach; empty: neither."""
    has_ends: bool = True
    """True for functions, whose calls have an entry and an exit."""
    ends: tuple[ProbeEnds, ...] = CALL_ENDS
    """Ends of a call that a probe can record."""
    about: Attachability | None = None
    """Kinds that can attach, and alternatives; None: not known yet."""

    def in_order(self) -> list[FieldNode]:
        """Return the arguments, then the return value, then other values (`$comm`, `$stack`)."""
        nodes = list(self.arguments)
        if self.retval is None:
            return nodes
        extra = 0
        while extra < len(nodes) and nodes[-1 - extra].label.startswith("$"):
            extra += 1
        place = len(nodes) - extra
        return [*nodes[:place], self.retval, *nodes[place:]]
