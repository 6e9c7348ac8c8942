"""Fixtures of every pure test."""

from tests.shared_work import collections_without_modules, pumps_closed_after_the_test, recordings_packed_once

__all__ = ["collections_without_modules", "pumps_closed_after_the_test", "recordings_packed_once"]
