"""Where a probe sits, as far as its arguments care, and the kernel's error on one of its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from btf.btf import Btf
from probes.facts.dialect import Dialect
from probes.facts.lookups import UNKNOWN, Environment, StaticEventField
from probes.functions.signature import Signature
from probes.syntax.refused import Refused
from probes.syntax.text import is_identifier


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
    on_event: bool = False
    """An event probe."""
    fields: Mapping[str, StaticEventField] | None = None
    """Of the event an event probe sits on; None: not known."""
    environment: Environment = UNKNOWN
    tracepoint: bool = False
    queried: bool = False
    """Whether the function was looked up in BTF and found; the kernel keeps it for the arguments that follow."""
    late: Refused | None = None
    """What registering will say of a symbol in an argument."""
    entry_args: list[str] = field(default_factory=list)
    """Entry arguments kept for the exit, each once."""

    @property
    def no_registers(self) -> bool:
        """Whether `%di` and its like can't be had."""
        return self.fprobe or self.on_event

    @property
    def types(self) -> Signature | None:
        """What knows the types of values; None without BTF."""
        if self.signature is not None or self.btf is None:
            return self.signature
        return Signature(self.btf, "", (), 0)

    def has_field(self, name: str) -> bool:
        """Whether the event has a field of this name; any may be there where the fields aren't known."""
        if self.fields is None:
            return is_identifier(name) and name not in ("comm", "COMM")
        return name in self.fields

    @property
    def on_function(self) -> bool:
        """Whether arguments can be had at all."""
        return not self.user and (self.at_entry or self.at_exit)
