"""A kernel behind ssh: connect, have the far side serve us, and say why where that does not come about."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernel.errors import GoneForGood, TargetLost
from kernel.remote.address import Address
from kernel.remote.connect_failure import unusable
from kernel.remote.control_master import FAREWELL, Master

if TYPE_CHECKING:
    from kernel.remote.target import FarTarget, Reached

Progress = Callable[[str, float | None], None]
Tell = Callable[[str], None]
_TOUCH = "a hardware key that blinks wants to be touched"
"""ssh itself says that on a standard error that is a terminal, and nowhere else."""


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
    from kernel.remote.target import FarTarget

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
        from kernel.remote.bootstrap import begin, greet
        from kernel.remote.protocol.agent_dialect import AgentDialect
        from kernel.remote.target import Reached

        hello = greet(master, cancel)
        master.hush()
        say(f"starting what serves us on {address}", None)
        dialect = begin(master, hello, python=python, cancel=cancel)
        kind = "agent" if isinstance(dialect, AgentDialect) else "sh"
        how = f"{kind} over {hello.via.split()[0]}" if hello.via else kind
        return Reached(dialect, how, hello.troubles(address), master.close)
    except TargetLost as error:
        words, heard, failed = master.words(), master.heard, master.failed
        master.close()
        raise unusable(address, words, heard, error, options, asking=asking, failed=failed) from None
    except BaseException:
        master.close(FAREWELL)
        raise


def _has_hardware_key() -> bool:
    return any(Path("~/.ssh").expanduser().glob("id_*_sk"))


def _said_by(address: Address, tell: Tell | None) -> Tell | None:
    """Name who says it: a line of a far host must not look like one of ours."""
    return None if tell is None else lambda line: tell(f"{address.host} says: {line}")
