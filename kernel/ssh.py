"""A kernel behind ssh: connect, have the far side serve us, and say why where that does not come about."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernel.address import Address
from kernel.errors import GoneForGood, NotAsked, NotReached, TargetLost, TargetUnusable
from kernel.master import FAREWELL, Master

if TYPE_CHECKING:
    from kernel.far import FarTarget, Reached

Progress = Callable[[str, float | None], None]
Tell = Callable[[str], None]
_TOUCH = "a hardware key that blinks wants to be touched"
"""ssh itself says that on a standard error that is a terminal, and nowhere else."""
_ASKED = ("Permission denied", "Host key verification failed")
"""What ssh says where it would have asked, had it been allowed to."""
_NEVER = ("No route", "unreachable", "Bad configuration", "Could not resolve", "Unable to negotiate", "command-line")
"""What ssh says, besides the words in `_unusable`, where no line came about that could be cut."""


def open_ssh(
    address: Address,
    progress: Progress | None = None,
    *,
    tell: Tell | None = None,
    name: str = "",
    options: Sequence[str] = (),
    python: bool = True,
    cancel: threading.Event | None = None,
    on_close: Callable[[], None] = lambda: None,
    ended: Callable[[], bool] = lambda: False,
    slowdown: float = 1,
) -> FarTarget:
    """Connect; ssh may ask at the terminal meanwhile, so no screen must hold it.

    Args:
        address: where to.
        progress: called with what is being done.
        tell: called from another thread with each line that ssh's standard error has before the greeting is over,
            made printable.
        name: what the user calls it; as the address where empty.
        options: more options of ssh; they win over the user's configuration, not over ours.
        python: whether an agent is tried.
        cancel: set it from another thread to give up.
        on_close: called when the target is closed.
        ended: whether what was reached is no more, so that a line that was cut can't come back.
        slowdown: times as long as on a machine of today all takes there.

    Raises:
        TargetUnusable: not reached, or nothing there that serves.
    """
    called = name or str(address)

    def again(cancel: threading.Event | None, asking: bool) -> Reached:
        if ended():
            raise GoneForGood(f"{called} has ended")
        return reach(address, tell=tell, options=options, python=python, cancel=cancel, asking=asking)

    reached = reach(address, progress, tell=tell, options=options, python=python, cancel=cancel)
    from kernel.far import FarTarget

    return FarTarget(reached, called, again=again, on_close=on_close, ended=ended, slowdown=slowdown)


def reach(
    address: Address,
    progress: Progress | None = None,
    *,
    tell: Tell | None = None,
    options: Sequence[str] = (),
    python: bool = True,
    cancel: threading.Event | None = None,
    asking: bool = True,
) -> Reached:
    """Make a line; see `open_ssh`; `tell` is called where ssh may ask at the terminal (`asking`).

    Raises TargetUnusable, KernelError.
    """
    say = progress or (lambda _text, _share: None)
    say(f"connecting to {address}", None)
    if asking and tell and _has_hardware_key():
        tell(_TOUCH)
    master = Master(address, "exec sh", options, asking=asking, tell=_said_by(address, tell))
    try:
        # While ssh connects:
        from kernel.dialect_agent import AgentDialect
        from kernel.far import Reached
        from kernel.far_start import begin, greet

        hello = greet(master, cancel)
        master.hush()
        say(f"starting what serves us on {address}", None)
        dialect = begin(master, hello, python=python)
        kind = "agent" if isinstance(dialect, AgentDialect) else "sh"
        how = f"{kind} over {hello.via.split()[0]}" if hello.via else kind
        return Reached(dialect, how, hello.troubles(address), master.close)
    except TargetLost as error:
        failed = master.failed
        words = master.words()
        master.close()
        raise _unusable(address, words, error, asking, failed=failed) from None
    except BaseException:
        master.close(FAREWELL)
        raise


def _has_hardware_key() -> bool:
    return any(Path("~/.ssh").expanduser().glob("id_*_sk"))


def _said_by(address: Address, tell: Tell | None) -> Tell | None:
    """Name who says it: a line of a far host must not look like one of ours."""
    return None if tell is None else lambda line: tell(f"{address.host} says: {line}")


def _unusable(
    address: Address, words: str, error: TargetLost, asking: bool = True, *, failed: bool = False
) -> TargetUnusable:
    """What ssh's last words mean; `failed`: it ended because of the connection, and not with the far side."""
    last = words.splitlines()[-1] if words else str(error)
    by_hand = f"try by hand: ssh {' '.join(word for word in address.words if word != '--')} true"
    for sign, remedy in (
        ("Permission denied", f"copy your key there (ssh-copy-id) or check the user's name; {by_hand}"),
        ("Host key verification failed", f"accept or repair the host's key; {by_hand}"),
        ("REMOTE HOST IDENTIFICATION", f"the host's key has changed: find out why; {by_hand}"),
        ("Could not resolve", "check the host's name"),
        ("Connection refused", "check that sshd runs there, and its port"),
        ("timed out", "check that the host is up and reached from here"),
    ):
        if sign in words:
            kind = NotAsked if not asking and sign in _ASKED else NotReached
            return kind(f"{address}: {last}", remedy)
    never = any(sign in words for sign in _NEVER)
    return NotReached(f"{address}: {last}", by_hand, cut=failed and not never)
