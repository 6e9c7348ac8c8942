"""Parse and format ssh addresses: `ssh://[user@]host[:port]`."""

from __future__ import annotations

import re
from typing import NamedTuple

from kernel.errors import TargetUnusable

_FORM = re.compile(
    r"(?:ssh://)?(?:(?P<user>[^@/]*)@)?(?:\[(?P<v6>[^\]]*)\]|(?P<host>[^:/@\[\]]*))(?::(?P<port>\d{1,5}))?/?"
)
# ssh(1) rejects these characters too since 9.6: a user name may end up on the command line of a ProxyCommand.
_BAD_USER = re.compile(r"[\x00-\x20\x7f'\"`$\\;&<>|(){}]|^-")
_HOST = re.compile(r"[^\W_](?:[\w.-]*\w)?\.?|[0-9A-Fa-f:.]+(?:%[\w.-]+)?")


class Address(NamedTuple):
    """Destination for ssh; the host may be an alias in ~/.ssh/config."""

    host: str
    user: str = ""
    port: int = 0
    """TCP port; 0: as configured for ssh."""

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parse an address. Raises TargetUnusable."""
        match = _FORM.fullmatch(text)
        host = (match["v6"] or match["host"] or "") if match else ""
        user = (match["user"] or "") if match else ""
        port = int(match["port"] or 0) if match else 0
        bad_user = bool(match and match["user"] is not None and (not user or _BAD_USER.search(user)))
        if not match or bad_user or not _HOST.fullmatch(host) or port > 65535 or (match["v6"] and ":" not in host):
            raise TargetUnusable(f"{text}: no address of ssh", "write ssh://[user@]host[:port], IPv6 in brackets")
        return cls(host, user, port)

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"ssh://{user}{host}" + (f":{self.port}" if self.port else "")

    @property
    def words(self) -> list[str]:
        """Destination arguments of an ssh command line."""
        user = ["-l", self.user] if self.user else []
        port = ["-p", str(self.port)] if self.port else []
        return [*user, *port, "--", self.host]
