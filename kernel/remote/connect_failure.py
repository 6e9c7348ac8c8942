"""Why ssh did not come up, from what it said and from what it had: which machine is meant, and what helps there."""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kernel.errors import HostUnreachable, PasswordNeeded, TargetUnusable
from kernel.remote.address import Address

_ASKED = ("Permission denied", "Host key verification failed")
"""What ssh says where it would have asked, had it been allowed to, or had there been a terminal."""
_NEVER = ("No route", "unreachable", "Bad configuration", "Could not resolve", "Unable to negotiate", "command-line")
"""What ssh says, besides the words in `unusable`, where no line came about that could be cut."""
_THROUGH_ANOTHER = "UNKNOWN port"
"""What ssh says of a line that another program makes for it (ProxyJump, ProxyCommand), which says itself why not."""
_MAGIC = b"openssh-key-v1\0"
_LARGEST_KEY = 1 << 16
_PATIENCE = 5.0
"""Seconds that ssh may take to tell its configuration."""


def unusable(
    address: Address,
    words: str,
    heard: str,
    cause: Exception,
    options: Sequence[str] = (),
    *,
    asking: bool = True,
    failed: bool = False,
) -> TargetUnusable:
    """Return the error, with its way out.

    Args:
        address: what was not reached.
        words: of ssh itself, from its log; foreign text.
        heard: from its standard error: of a jump host's ssh, or of the far side; printable.
        cause: how it showed, where ssh said nothing.
        options: that ssh was given.
        asking: whether it might ask at a terminal.
        failed: whether ssh ended because of the connection, and not with the far side.
    """
    # What a far side says is no reason of ssh's, whatever it looks like; a jump host's ssh is ours, and says more.
    words = heard if heard and _THROUGH_ANOTHER in words else words
    last = (words or heard or str(cause)).splitlines()[-1]
    by_hand = f"try by hand: ssh {' '.join(word for word in address.words if word != '--')} true"
    asks = asking and _has_terminal()
    for sign, remedy in (
        ("Permission denied", f"check the user's name, or copy your key there (ssh-copy-id); {by_hand}"),
        ("Host key verification failed", f"accept or repair the host's key; {by_hand}"),
        ("REMOTE HOST IDENTIFICATION", f"the host's key has changed: find out why; {by_hand}"),
        ("Could not resolve", "check the host's name"),
        ("Connection refused", "check that sshd runs there, and its port"),
        ("timed out", "check that the host is up and reached from here"),
    ):
        if sign in words:
            kind = PasswordNeeded if not asking and sign in _ASKED else HostUnreachable
            if sign == _ASKED[0] and not asks:
                remedy = f"{_unasked(locked_keys(address, options))}; else {remedy}"
            return kind(f"{address}: {last}", remedy)
    never = any(sign in words for sign in _NEVER)
    return HostUnreachable(f"{address}: {last}", by_hand, cut=failed and not never)


def _unasked(locked: Sequence[str]) -> str:
    """Return what may have kept us out besides: a question that nobody could be asked."""
    if locked:
        have = "has a passphrase" if len(locked) == 1 else "have passphrases"
        return f"{', '.join(locked)} {have}, and ssh can't ask here: ssh-add {' '.join(locked)} first"
    return "ssh can't ask for a password here"


def locked_keys(address: Address, options: Sequence[str] = ()) -> list[str]:
    """Return the paths of private keys that ssh would take for an address and that want a passphrase."""
    try:
        told = subprocess.run(
            ["ssh", "-G", *options, *address.words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=False,
        ).stdout.decode(errors="replace")
    except (OSError, subprocess.TimeoutExpired):
        return []
    words = [line.partition(" ") for line in told.splitlines()]
    return [path for key, _, path in words if key == "identityfile" and _is_locked(path)]


def _is_locked(path: str) -> bool:
    """Return whether a file is a private key that only a passphrase opens (OpenSSH's PROTOCOL.key, or PEM)."""
    try:
        with Path(path).expanduser().open("rb") as file:
            lines = file.read(_LARGEST_KEY).splitlines()
    except (OSError, RuntimeError, ValueError):
        return False
    if any(b"ENCRYPTED" in line for line in lines[:4]):
        return True
    try:
        body = base64.b64decode(b"".join(line for line in lines if not line.startswith(b"-----")))
    except (binascii.Error, ValueError):
        return False
    return body.startswith(_MAGIC) and body[len(_MAGIC) + 4 :][:5] != b"none\0"


def _has_terminal() -> bool:
    """Return whether ssh can ask: at a terminal, or by a program (ssh(1), SSH_ASKPASS)."""
    if os.environ.get("SSH_ASKPASS") and (
        os.environ.get("DISPLAY") or os.environ.get("SSH_ASKPASS_REQUIRE") in ("prefer", "force")
    ):
        return True
    with contextlib.suppress(OSError):
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
        return True
    return False
