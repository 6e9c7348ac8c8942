"""Connect to a kernel over ssh, start the agent or shell there, and explain failures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernel.errors import ConnectionGone, TargetLost
from kernel.remote.address import Address
from kernel.remote.connect_failure import connect_error
from kernel.remote.control_master import FAREWELL, ControlMaster

if TYPE_CHECKING:
    from kernel.remote.protocol.dialect import RemoteConnection
    from kernel.remote.target import RemoteTarget

Progress = Callable[[str, float | None], None]
Tell = Callable[[str], None]
_TOUCH = "a hardware key that blinks wants to be touched"
"""Hint that ssh itself prints only if its standard error is a terminal."""


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
) -> RemoteTarget:
    """Connect to a target; ssh may prompt at the terminal meanwhile, so no screen must hold it.

    Args:
        address: destination.
        progress: called with a description of each step.
        tell: called from another thread with each line, made printable, that ssh writes to its standard error before
            the remote shell has answered.
        name: the user's name of the target; empty: the address.
        options: more options of ssh; they win over the user's configuration, not over ours.
        python: True: try the agent first.
        cancel: set it from another thread to give up.
        on_close: called when the target is closed.
        ended: returns True once the remote machine has ended, so that no reconnect is possible.
        slowdown: times as long as on a present-day machine everything takes there.

    Raises:
        TargetUnusable: host not reached, or neither agent nor shell runs there.
    """
    target_name = name or str(address)

    def reconnect(cancel: threading.Event | None, asking: bool) -> RemoteConnection:
        if ended():
            raise ConnectionGone(f"{target_name} has ended")
        return open_connection(address, tell=tell, options=options, python=python, cancel=cancel, asking=asking)

    connection = open_connection(address, progress, tell=tell, options=options, python=python, cancel=cancel)
    from kernel.remote.target import RemoteTarget

    return RemoteTarget(connection, target_name, again=reconnect, on_close=on_close, ended=ended, slowdown=slowdown)


def open_connection(
    address: Address,
    progress: Progress | None = None,
    *,
    tell: Tell | None = None,
    options: Sequence[str] = (),
    python: bool = True,
    cancel: threading.Event | None = None,
    asking: bool = True,
) -> RemoteConnection:
    """Make a connection; see `open_ssh`; `tell` is called where ssh may prompt at the terminal (`asking`).

    Raises TargetUnusable, KernelError.
    """
    say = progress or (lambda _text, _share: None)
    say(f"connecting to {address}", None)
    if asking and tell and _has_hardware_key():
        tell(_TOUCH)
    master = ControlMaster(address, "exec sh", options, asking=asking, tell=_attributed(address, tell))
    try:
        # These imports run while ssh connects:
        from kernel.remote.bootstrap import read_greeting, start_dialect
        from kernel.remote.protocol.agent_dialect import AgentDialect
        from kernel.remote.protocol.dialect import RemoteConnection

        greeting = read_greeting(master, cancel)
        master.hush()
        say(f"starting the agent on {address}", None)
        dialect = start_dialect(master, greeting, python=python, cancel=cancel)
        kind = "agent" if isinstance(dialect, AgentDialect) else "sh"
        description = f"{kind} over {greeting.via.split()[0]}" if greeting.via else kind
        return RemoteConnection(dialect, description, greeting.troubles(address), master.close, master.session)
    except TargetLost as error:
        log, standard_error, failed = master.words(), master.early_stderr, master.failed
        master.close()
        raise connect_error(address, log, standard_error, error, options, asking=asking, failed=failed) from None
    except BaseException:
        master.close(FAREWELL)
        raise


def _has_hardware_key() -> bool:
    return any(Path("~/.ssh").expanduser().glob("id_*_sk"))


def _attributed(address: Address, tell: Tell | None) -> Tell | None:
    """Prefix each line with its host: a line of a remote host must not look like one of ours."""
    return None if tell is None else lambda line: tell(f"{address.host} says: {line}")
