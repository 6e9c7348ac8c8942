"""A host's target that the workbench borrows: its files are asked, its connection stays the host's."""

from __future__ import annotations

from kernel.target import RemoteLink, TargetKind
from kernel.watch.reconnect import can_be_reached_again
from tests.fake_target import FakeTarget
from tui.hosts.control import BorrowedTarget


class Link:
    last_received = 0.0
    can_reconnect = True
    has_ended = False

    def lose(self, reason: str) -> None:
        raise AssertionError(reason)

    def reconnect(self, cancel: object = None, *, asking: bool = False) -> bool:
        raise AssertionError(cancel, asking)


class Remote(FakeTarget):
    kind = TargetKind.REMOTE
    link: RemoteLink | None = Link()

    def file_error(self, path: str) -> str:
        return "FILE_NOT_FOUND"


def test_its_connection_is_made_again_by_the_host_alone() -> None:
    target = Remote()
    borrowed = BorrowedTarget(target)
    assert can_be_reached_again(target)
    assert not can_be_reached_again(borrowed)
    assert (borrowed.kind, borrowed.file_error("/nosuch")) == (TargetKind.REMOTE, "FILE_NOT_FOUND")


def test_it_stays_open_when_the_workbench_leaves_it() -> None:
    target = Remote()
    target.held.append("one")
    BorrowedTarget(target).close()
    assert target.held == ["one"]
