"""Make the keys of one guest: our login key, and its host key. OpenSSH makes them; dropbear's file is written
here.
"""

from __future__ import annotations

import base64
import struct
from pathlib import Path
from typing import NamedTuple

from kernel.lab.work import Work


class Keys(NamedTuple):
    """Two new key pairs."""

    identity: Path
    """File of our private key, mode 0600."""
    authorized: bytes
    """Line of authorized_keys for that key."""
    host: bytes
    """The guest's private key in dropbear's form."""
    host_public: bytes
    """The guest's public key, `ssh-ed25519 BASE64`, for known_hosts."""


def make(work: Work, folder: Path) -> Keys:
    """Make both key pairs in a private folder. Raises LabError."""
    identity, host = folder / "identity", folder / "host"
    for path in (identity, host):
        work.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "probewright-lab", "-f", str(path)])
    public = b" ".join(host.with_suffix(".pub").read_bytes().split()[:2])
    private = dropbear_key(host.read_text())
    host.unlink()
    return Keys(identity, identity.with_suffix(".pub").read_bytes(), private, public)


def dropbear_key(openssh: str) -> bytes:
    """Return an unencrypted ed25519 key of OpenSSH (its PROTOCOL.key) in the form that dropbear reads.

    Raises:
        ValueError: it is another kind of key.
    """
    body = "".join(line for line in openssh.splitlines() if not line.startswith("-----"))
    data = base64.b64decode(body)
    magic = b"openssh-key-v1\0"
    if not data.startswith(magic):
        raise ValueError("no OpenSSH private key")
    offset = len(magic)
    strings = []
    for _ in range(3):  # cipher, kdf, kdf options
        text, offset = _string(data, offset)
        strings.append(text)
    offset += 4  # number of keys: 1
    _, offset = _string(data, offset)  # public key
    private, _ = _string(data, offset)
    kind, position = _string(private, 8)  # after two equal check numbers
    if strings[0] != b"none" or kind != b"ssh-ed25519":
        raise ValueError("no plain ed25519 key")
    _, position = _string(private, position)
    pair, _ = _string(private, position)  # 32 bytes of seed, 32 of public key, as dropbear has them
    return struct.pack(">I", len(kind)) + kind + struct.pack(">I", len(pair)) + pair


def _string(data: bytes, offset: int) -> tuple[bytes, int]:
    (length,) = struct.unpack_from(">I", data, offset)
    start = offset + 4
    return data[start : start + length], start + length
