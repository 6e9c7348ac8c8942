"""Order, grouping and selection of tests by the kernel of the guest that they run on.

`make test` leaves to `make test-matrix` a test on another kernel than the newest, or on the newest without Python or
with large sub-buffers (`7.2-sh`, `7.2-64k`), where the newest as it is has it as well. Workers take whole groups, a
file on one kernel each, the longest first, those on guests and others in turns; within them the order is random
(pytest-randomly), unless `-p no:randomly` says otherwise.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable

from xdist.scheduler.loadscope import LoadScopeScheduling

NEWEST = "7.2"
LONGEST: tuple[str, ...] = (
    "test_bpf",
    "test_errors",
    "test_fault_drill",
    "test_ssh_connections",
    "test_boot",
    "test_sources",
    "test_aggregate",
    "test_exports",
    "test_killed",
    "test_commands",
    "test_command_run",
    "test_lab",
    "test_compare",
    "test_return_instructions",
    "test_readable_values",
    "test_hosts",
    "test_command_terminal",
    "test_chosen_functions",
    "test_monitors",
    "test_attach",
    "test_presets",
    "test_guards",
    "test_function_graph",
    "test_pairing",
)
"""Files of tests/real whose groups begin first of those, so that no worker is alone with one of them at the end."""
LONG_ELSEWHERE = ("test_monkey", "test_headless_memory", "test_graph_view", "test_export_everything", "test_app_keys")
"""Files of other folders that begin first of those, by the same reason."""
_KERNEL = re.compile(r"(?<![\w.:])((?:arm64:|riscv64:)?(?:\d+\.\d+|full))(?![\w.])(-sh|-64k)?")


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


def also_on_arm64(tests: Iterable[str]) -> set[str]:
    """Return the node ids on amd64's 6.12 of tests that arm64's 6.12, 6.1 and the newest kernel have, too."""
    listed = set(tests)
    others = ("arm64:6.12", "6.1", NEWEST)
    return {
        test
        for test in listed
        if _guest_of(test) == ("6.12", "") and all(_on(other, test) in listed for other in others)
    }


def _on(kernel: str, test: str) -> str:
    """Return the node id of a test on another kernel."""
    name, bracket, parameters = test.partition("[")
    return name + bracket + _KERNEL.sub(kernel, parameters, count=1)


def places(tests: Iterable[str]) -> dict[str, float]:
    """Return the place of each group of node ids in the order of a run, from 0 to 1.

    Tests on guests compute all the time, and most others wait: both go on side by side from begin to end, the longest
    of each first. Others are in the order of a checksum: neighbours in a folder would all wait at once.
    """
    sizes = Counter(map(group_of, tests))
    found = {}
    for is_real in (True, False):
        weights = {
            group: (3.0 if _is_long(group) else 1.0) if is_real else float(sizes[group])
            for group in sizes
            if (" " in group) == is_real
        }
        done = 0.0
        for group in sorted(weights, key=_rank):
            found[group] = done / sum(weights.values())
            done += weights[group]
    return found


def _rank(group: str) -> tuple[int, str]:
    """Return the sort key of a group among its own kind."""
    stem = _stem(group)
    if " " in group:
        return LONGEST.index(stem) if stem in LONGEST else len(LONGEST), group
    return int(stem not in LONG_ELSEWHERE), f"{zlib.crc32(group.encode()):08x}"


def _is_long(group: str) -> bool:
    return _stem(group) in LONGEST


def _stem(group: str) -> str:
    return group.partition(".py")[0].rpartition("/")[2]


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Scheduler of pytest-xdist that gives each worker whole groups."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
