"""Write the probes of the functions that change a reference count: the object's address, and the count where it is
known, at the end of the call at which both can be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from btf.btf import Btf
from btf.layout import PathError, resolve
from btf.types import Int, Ptr, Struct
from btf.walk import strip
from events.references.reference import AFTER, BEFORE, LESS_ONE, NAME, OBJECT, Role, event_name
from probes.facts.facts import TargetFacts
from probes.functions.function_index import index_of
from probes.functions.signature import Signature, certain_signature_of
from probes.references.kinds import ReferenceKind

_RETURN: Final = "%return"
_RESULT: Final = "$retval"
_OK: Final = "ok"


class ReferenceProbes(NamedTuple):
    """Probes on one kernel."""

    specs: tuple[str, ...]
    """Specifications, one for each function."""
    functions: tuple[tuple[Role, str], ...]
    """Functions that are probed."""
    missing: tuple[str, ...]
    """Functions of the kind that this kernel lacks or inlines."""
    count_path: str
    """Path to the count, as `ReferenceKind.counts` has it; empty: none is known."""

    def of(self, role: Role) -> tuple[str, ...]:
        """Return the functions of a role."""
        return tuple(name for own, name in self.functions if own is role)


def reference_probes(kind: ReferenceKind, btf: Btf, facts: TargetFacts) -> ReferenceProbes:
    """Return the probes of a kind of objects; `get` or `put` functions may all be missing."""
    writer = _SpecificationWriter(kind, btf, facts)
    specs, functions, missing = [], [], []
    for role, words in ((Role.NEW, kind.new), (Role.GET, kind.get), (Role.PUT, kind.put), (Role.FREE, kind.free)):
        for word in words:
            found = next(filter(None, (writer.spec(role, one) for one in word.split("|"))), None)
            if found is None:
                missing.append(_name(word.split("|")[0]))
            else:
                functions.append((role, found[0]))
                specs.append(found[1])
    return ReferenceProbes(tuple(specs), tuple(functions), tuple(missing), writer.count)


def object_type(word: str, btf: Btf) -> str:
    """Return the structure that a function gets as its first pointer to one: `struct file`; empty: none is known."""
    signature = certain_signature_of(btf, _name(word))
    for param in signature.params if signature is not None else ():
        if text := pointed_to(btf, param.type_id):
            return text
    return ""


def pointed_to(btf: Btf, type_id: int) -> str:
    """Return the structure that a type points to; empty: it is no pointer to one with a name."""
    pointer = btf.type(strip(btf, type_id))
    kind = btf.type(strip(btf, pointer.type_id)) if isinstance(pointer, Ptr) else None
    return f"{kind.keyword} {kind.name}" if isinstance(kind, Struct) and kind.name else ""


def _name(word: str) -> str:
    return word.partition("=")[0].removesuffix(_RETURN)


class _SpecificationWriter:
    """Writer of specifications for one kind on one kernel."""

    def __init__(self, kind: ReferenceKind, btf: Btf, facts: TargetFacts) -> None:
        self._kind = kind
        self._btf = btf
        self._traceable = index_of(facts).modules
        self.count = next((path for path in kind.counts if self._has(path.removesuffix("-1"))), "")
        self._label = kind.label if kind.label and self._has(kind.label) else ""

    def spec(self, role: Role, word: str) -> tuple[str, str] | None:
        """Return a function with its specification; None: the kernel lacks it, or does not show the object there."""
        head, _, expression = word.partition("=")
        name = _name(head)
        signature = certain_signature_of(self._btf, name)
        if signature is None or name not in self._traceable:
            return None
        at_exit, is_bool = head.endswith(_RETURN), False
        if not expression and role in (Role.NEW, Role.GET):
            is_bool = _is_bool(signature)
            at_exit = at_exit or is_bool or pointed_to(self._btf, signature.returns) == self._kind.type_name
        expression = expression or self._object(signature, at_exit and not is_bool)
        if not expression:
            return None
        parts = [f"f:{event_name(self._kind.name, role, name)} {name}{_RETURN if at_exit else ''}"]
        parts.append(f"{OBJECT}={expression}")
        if self.count:
            less = LESS_ONE if self.count.endswith("-1") else ""
            parts.append(f"{AFTER if at_exit else BEFORE}{less}={expression}->{self.count.removesuffix('-1')}")
        if self._label and role is not Role.NEW:  # what is new has no name
            parts.append(f"{NAME}={expression}->{self._label}")
        if is_bool:
            parts.append(f"{_OK}={_RESULT} if {_OK} != 0")
        return name, " ".join(parts)

    def _object(self, signature: Signature, is_result: bool) -> str:
        if is_result and pointed_to(self._btf, signature.returns) == self._kind.type_name:
            return _RESULT
        return next(
            (p.name for p in signature.params if pointed_to(self._btf, p.type_id) == self._kind.type_name), ""
        )

    def _has(self, path: str) -> bool:
        """Return whether the objects have a path."""
        names = re.split(r"(->|\.)", f"->{path.partition(':')[0]}")[1:]
        pointer = next(self._pointers(), None)
        if pointer is None:
            return False
        try:
            resolve(self._btf, pointer, list(zip(names[::2], names[1::2], strict=True)))
        except PathError:
            return False
        return True

    def _pointers(self) -> Iterator[int]:
        """Yield the ids of pointers to objects that functions of the kind take."""
        for word in (*self._kind.put, *self._kind.get):
            signature = certain_signature_of(self._btf, _name(word.split("|")[0]))
            for param in signature.params if signature is not None else ():
                if pointed_to(self._btf, param.type_id) == self._kind.type_name:
                    yield param.type_id


def _is_bool(signature: Signature) -> bool:
    kind = signature.btf.type(signature.strip(signature.returns))
    return isinstance(kind, Int) and kind.is_bool
