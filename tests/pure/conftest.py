"""Fixtures of every pure test."""

from tests.replays import planner, records
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
    "planner",
    "pumps_closed_after_the_test",
    "recordings_packed_once",
    "records",
    "types_indexed_once",
]
