"""Explain failed ssh connections from the output and configuration of ssh: the machine at fault and the remedy."""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import subprocess
from collections.abc import Sequence

from foreign.files import home_path
from kernel.errors import HostUnreachable, PasswordNeeded, TargetUnusable
from kernel.remote.address import Address

_ASKED = ("Permission denied", "Host key verification failed")
"""Messages of ssh where it would have prompted, if allowed to or if there were a terminal."""
_NEVER = ("No route", "unreachable", "Bad configuration", "Could not resolve", "Unable to negotiate", "command-line")
"""Messages of ssh, besides those in `connect_error`, where no connection was made that could be lost."""
_THROUGH_ANOTHER = "UNKNOWN port"
"""Message of ssh about a connection that another program makes (ProxyJump, ProxyCommand) and explains itself."""
_MAGIC = b"openssh-key-v1\0"
_LARGEST_KEY = 1 << 16
_PATIENCE = 5.0
"""Seconds that `ssh -G` may take to print its configuration."""


def connect_error(
    address: Address,
    words: str,
    standard_error: str,
    cause: Exception,
    options: Sequence[str] = (),
    *,
    asking: bool = True,
    failed: bool = False,
) -> TargetUnusable:
    """Return the error with its remedy.

    Args:
        address: host that was not reached.
        words: log text of ssh itself; foreign text.
        standard_error: printable text, from a jump host's ssh or from the remote host.
        cause: error to report if ssh printed nothing.
        options: options that ssh was given.
        asking: True: ssh might prompt at a terminal.
        failed: True: ssh ended because of the connection, not with the remote shell.
    """
    # Output of the remote host never counts as ssh's reason, whatever it looks like; a jump host's ssh is ours, and
    # says more.
    words = standard_error if standard_error and _THROUGH_ANOTHER in words else words
    last_line = (words or standard_error or str(cause)).splitlines()[-1]
    manual_command = f"try by hand: ssh {' '.join(word for word in address.words if word != '--')} true"
    can_prompt = asking and _has_terminal()
    for sign, remedy in (
        ("Permission denied", f"check the user's name, or copy your key there (ssh-copy-id); {manual_command}"),
        ("Host key verification failed", f"accept or repair the host's key; {manual_command}"),
        ("REMOTE HOST IDENTIFICATION", f"the host's key has changed: find out why; {manual_command}"),
        ("Could not resolve", "check the host's name"),
        ("Connection refused", "check that sshd runs there, and its port"),
        ("timed out", "check that the host is up and reached from here"),
    ):
        if sign in words:
            error_type = PasswordNeeded if not asking and sign in _ASKED else HostUnreachable
            if sign == _ASKED[0] and not can_prompt:
                remedy = f"{_no_prompt_reason(locked_keys(address, options))}; else {remedy}"
            return error_type(f"{address}: {last_line}", remedy)
    never_connected = any(sign in words for sign in _NEVER)
    return HostUnreachable(f"{address}: {last_line}", manual_command, was_connected=failed and not never_connected)


def _no_prompt_reason(locked: Sequence[str]) -> str:
    """Return another possible reason for a rejected login: a prompt that could not be answered."""
    if locked:
        predicate = "has a passphrase" if len(locked) == 1 else "have passphrases"
        return f"{', '.join(locked)} {predicate}, and ssh can't ask here: ssh-add {' '.join(locked)} first"
    return "ssh can't ask for a password here"


def locked_keys(address: Address, options: Sequence[str] = ()) -> list[str]:
    """Return the paths of private keys that ssh would use for an address and that want a passphrase."""
    try:
        configuration = subprocess.run(
            ["ssh", "-G", *options, *address.words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=False,
        ).stdout.decode(errors="replace")
    except (OSError, subprocess.TimeoutExpired):
        return []
    words = [line.partition(" ") for line in configuration.splitlines()]
    return [path for key, _, path in words if key == "identityfile" and _is_locked(path)]


def _is_locked(path: str) -> bool:
    """Return whether a file is a private key with a passphrase (OpenSSH's PROTOCOL.key, or PEM)."""
    try:
        with home_path(path).open("rb") as file:
            lines = file.read(_LARGEST_KEY).splitlines()
    except (OSError, ValueError):
        return False
    if any(b"ENCRYPTED" in line for line in lines[:4]):
        return True
    try:
        body = base64.b64decode(b"".join(line for line in lines if not line.startswith(b"-----")))
    except (binascii.Error, ValueError):
        return False
    return body.startswith(_MAGIC) and body[len(_MAGIC) + 4 :][:5] != b"none\0"


def _has_terminal() -> bool:
    """Return whether ssh can prompt: at a terminal, or by a program (ssh(1), SSH_ASKPASS)."""
    if os.environ.get("SSH_ASKPASS") and (
        os.environ.get("DISPLAY") or os.environ.get("SSH_ASKPASS_REQUIRE") in ("prefer", "force")
    ):
        return True
    with contextlib.suppress(OSError):
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
        return True
    return False
