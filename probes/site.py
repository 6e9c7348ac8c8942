"""Where a probe sits, as far as its arguments care, and the kernel's error on one of its words."""

from __future__ import annotations

from dataclasses import dataclass, field

from btf.btf import Btf
from probes.dialect import Dialect
from probes.signature import Signature


class Refused(Exception):  # noqa: N818 - the kernel's answer
    """The kernel's error at a column within the current word."""

    def __init__(
        self, code: str, offset: int, token: str = "", index: int | None = None, names: tuple[str, ...] = ()
    ) -> None:
        super().__init__(code)
        self.code = code
        self.offset = offset
        self.token = token
        self.index = index
        """Word the error is at, where it isn't the current one."""
        self.names = names
        """Names that would do instead of the token."""


@dataclass
class Site:
    """Where the probe sits, as far as its arguments care."""

    dialect: Dialect
    btf: Btf | None
    signature: Signature | None
    """What BTF knows of the function; None: nothing."""
    at_entry: bool = False
    """At a function's first instruction."""
    at_exit: bool = False
    fprobe: bool = False
    user: bool = False
    """In a user-space program."""
    entry_args: list[str] = field(default_factory=list)
    """Entry arguments kept for the exit, each once."""

    @property
    def on_function(self) -> bool:
        """Whether arguments can be had at all."""
        return self.at_entry or self.at_exit
