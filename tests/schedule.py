"""Order, grouping and selection of tests by the kernel of the guest that they run on.

`make test` leaves to `make test-matrix` a test on another kernel than the newest, or on the newest without Python or
with large sub-buffers (`7.2-sh`, `7.2-64k`), where the newest as it is has it as well. Workers take whole groups, a
file on one kernel each, the longest first; within them the order is random (pytest-randomly), unless `-p no:randomly`
says otherwise.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from xdist.scheduler.loadscope import LoadScopeScheduling

NEWEST = "7.2"
LONGEST: tuple[str, ...] = (
    "test_exports",
    "test_commands",
    "test_ssh_connections",
    "test_killed",
    "test_program_events",
    "test_hosts",
    "test_fault_drill",
    "test_session_guest",
    "test_function_graph",
    "test_errors",
    "test_pairing",
    "test_lab",
    "test_guards",
    "test_headless",
    "test_attach",
    "test_kinds",
    "test_thirty",
    "test_differential",
    "test_exports_boot",
    "test_presets",
)
"""Files of tests/real whose groups begin first, so that no worker is alone with one of them at the end."""
LONG_ELSEWHERE = ("test_monkey", "test_headless_memory", "test_graph_view", "test_export_everything", "test_app_keys")
"""Files of other folders that begin before the rest of those, by the same reason."""
_KERNEL = re.compile(r"(?<![\w.:])((?:arm64:)?(?:\d+\.\d+|full))(?![\w.])(-sh|-64k)?")


def kernel_of(test: str) -> str:
    """Return the kernel series named in the parameters of a node id; the newest where none is."""
    return _guest_of(test)[0]


def _guest_of(test: str) -> tuple[str, str]:
    """Return the kernel series of a node id, and what its guest has otherwise than usual; empty: nothing."""
    found = _KERNEL.search(test.partition("[")[2])
    return (found[1], found[2] or "") if found else (NEWEST, "")


def group_of(test: str) -> str:
    """Return the name of a node id's group: its file, and for tests/real the kernel."""
    file = test.partition("::")[0]
    return f"{file} {kernel_of(test)}" if file.startswith("tests/real/") else file


def kernels_of(tests: Iterable[str]) -> set[str]:
    """Return the kernel series that node ids of tests/real run on."""
    return {kernel_of(test) for test in tests if test.startswith("tests/real/")}


def only_in_matrix(tests: Iterable[str]) -> set[str]:
    """Return the node ids of tests on other guests than the newest kernel's usual one, where that has the test, too.

    Where it has not, but another guest of the newest kernel: those on other kernels.
    """
    guests = defaultdict[str, set[tuple[str, str]]](set)
    listed = list(tests)
    for test in listed:
        guests[test.partition("[")[0]].add(_guest_of(test))
    kept = {
        name: {(NEWEST, "")} & found or {guest for guest in found if guest[0] == NEWEST} or found
        for name, found in guests.items()
    }
    return {test for test in listed if _guest_of(test) not in kept[test.partition("[")[0]]}


def rank(test: str) -> tuple[int, str]:
    """Return the sort key of a node id: groups of the longest files of tests/real first, other files of it next.

    Then come the long files of other folders, and the rest.
    """
    group = group_of(test)
    stem = group.partition(".py")[0].rpartition("/")[2]
    if " " not in group:
        return len(LONGEST) + 1 + (stem not in LONG_ELSEWHERE), ""
    return LONGEST.index(stem) if stem in LONGEST else len(LONGEST), group


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Scheduler of pytest-xdist that gives each worker whole groups."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
