"""Share the parsed BTF of equal kernels: several machines may run one kernel, whose types take 6 MB and more."""

from __future__ import annotations

import hashlib
import threading
from typing import Final
from weakref import WeakValueDictionary

from btf.btf import Btf
from btf.damage import Damage

_shared: Final[WeakValueDictionary[bytes, Btf]] = WeakValueDictionary()
_lock: Final = threading.Lock()


def shared_btf(data: bytes, damage: Damage) -> Btf:
    """Return the types of raw BTF, shared with other connections that have equal bytes. Raises BtfError.

    Types are not shared if `damage` does not raise: its callback is to be called for one target's types.
    """
    if not damage.is_raised:
        return Btf.load(data, damage=damage)
    digest = hashlib.blake2b(data, digest_size=32).digest()
    with _lock:
        types = _shared.get(digest)
        if types is None:
            types = _shared[digest] = Btf.load(data, damage=damage)
        return types
