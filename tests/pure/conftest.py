"""Fixtures of every pure test."""

from tests.shared_work import (
    calls_never_followed_before,
    collections_without_modules,
    pumps_closed_after_the_test,
    recordings_packed_once,
    types_indexed_once,
)

__all__ = [
    "calls_never_followed_before",
    "collections_without_modules",
    "pumps_closed_after_the_test",
    "recordings_packed_once",
    "types_indexed_once",
]
