"""What the signature pane shows of one function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from probes.attaching.values import Attachability
from widgets.fields.field_tree import FieldNode


@dataclass(frozen=True, slots=True)
class SignatureText:
    """What the editor shows of a function."""

    name: str
    prototype: str
    """C, on one line."""
    arguments: Sequence[FieldNode]
    retval: FieldNode | None = None
    """None: it returns nothing."""
    where: str = ""
    """Module or source file."""
    trouble: str = ""
    """Why nothing is known of it, or nothing can be attached; empty: all is well."""
    about: Attachability | None = None
    """What can attach and what there is instead; None: not known yet."""

    def in_order(self) -> list[FieldNode]:
        """The arguments, then the return value, then what is no argument (`$comm`, `$stack`)."""
        nodes = list(self.arguments)
        if self.retval is None:
            return nodes
        extra = 0
        while extra < len(nodes) and nodes[-1 - extra].label.startswith("$"):
            extra += 1
        place = len(nodes) - extra
        return [*nodes[:place], self.retval, *nodes[place:]]
