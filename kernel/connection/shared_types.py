"""Types of equal kernels, read once: several machines run the same one, whose types take 6 MB and more."""

from __future__ import annotations

import hashlib
import threading
from typing import Final
from weakref import WeakValueDictionary

from btf.btf import Btf
from btf.damage import Damage

_known: Final[WeakValueDictionary[bytes, Btf]] = WeakValueDictionary()
_reading: Final = threading.Lock()


def types_of(data: bytes, damage: Damage) -> Btf:
    """Index raw BTF, or give the types that another connection has of equal bytes. Raises BtfError.

    Not shared is what a `damage` takes that does not raise: who listens to it is told of one target's types.
    """
    if not damage.is_raised:
        return Btf.load(data, damage=damage)
    digest = hashlib.blake2b(data, digest_size=32).digest()
    with _reading:
        found = _known.get(digest)
        if found is None:
            found = _known[digest] = Btf.load(data, damage=damage)
        return found
