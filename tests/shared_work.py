"""Work that tests repeat on the recordings of tests and application, done once in a process."""

from __future__ import annotations

import functools
import gc
import hashlib
import weakref
from collections.abc import Iterator

import pytest

from btf.btf import Btf
from btf.damage import Damage
from events.names.kallsyms import Symbols
from events.recording import chunks
from kernel.connection import kernel_info
from kernel.connection.shared_types import shared_btf
from kernel.guards import trampoline_guard
from kernel.pump import Pump

LARGE = 1 << 16
"""Bytes: smaller chunks are unpacked in no time, and tests damage them in a thousand ways."""


@pytest.fixture(scope="session", autouse=True)
def recordings_packed_once() -> Iterator[None]:
    """Keep the last large chunks, packed and unpacked, and symbol tables: half of the time that a recording takes."""
    unpack, deflate = chunks._unpack, chunks._deflate
    unpack_kept, deflate_kept = functools.lru_cache(16)(unpack), functools.lru_cache(16)(deflate)

    def unpack_once(stored: bytes, codec: int, length: int, part: bool = False) -> bytes:
        return (unpack_kept if len(stored) > LARGE else unpack)(stored, codec, length, part)

    def deflate_once(raw: bytes, level: int) -> bytes:
        return (deflate_kept if len(raw) > LARGE else deflate)(raw, level)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "_unpack", unpack_once)
        patch.setattr(chunks, "_deflate", deflate_once)
        patch.setattr(Symbols, "parse", functools.lru_cache(8)(Symbols.parse))
        yield


@pytest.fixture(scope="session", autouse=True)
def types_indexed_once() -> Iterator[None]:
    """Keep the types of kernels with their indexes of names, unless they are damaged: a tenth of a test's time."""
    kept: dict[bytes, Btf] = {}

    def types_once(data: bytes, damage: Damage) -> Btf:
        if len(data) < LARGE:
            return shared_btf(data, damage)
        digest = hashlib.blake2b(data, digest_size=32).digest()
        found = kept.get(digest)
        if found is None or found.damage.first:
            found = kept[digest] = shared_btf(data, damage)
        found.damage = damage
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_info, "shared_btf", types_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def collections_without_modules() -> Iterator[None]:
    """Collect the garbage of tests alone: imported modules are alive in every collection.

    An application freezes its names and offsets and unfreezes all; in a test they end with it.
    """
    gc.collect()
    gc.freeze()  # to the end: pytest collects five times then
    gc.set_threshold(20_000, 5, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "freeze", lambda: None)
        patch.setattr(gc, "unfreeze", lambda: None)
        yield


@pytest.fixture(autouse=True)
def calls_never_followed_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no boot in which calls were followed: stand-ins have that of the same recording, in all tests."""
    monkeypatch.setattr(trampoline_guard, "_started", set())
    monkeypatch.setattr(trampoline_guard, "_with_modules", set())


@pytest.fixture(autouse=True)
def pumps_closed_after_the_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close every pump that the test started: one left open polls its stand-in of a stream beside all later tests."""
    started = weakref.WeakSet[Pump]()  # tests look whether a watch is gone
    start = Pump.start

    def start_and_note(pump: Pump) -> None:
        started.add(pump)
        start(pump)

    monkeypatch.setattr(Pump, "start", start_and_note)
    yield
    for pump in list(started):
        pump.close()
