"""Describe the place of a probe as far as its arguments depend on it, and the kernel's error on one of its words."""

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
    """Place of a probe, as far as its arguments depend on it."""

    dialect: Dialect
    btf: Btf | None
    signature: Signature | None
    """Signature of the function in BTF; None: unknown."""
    at_entry: bool = False
    """True at a function's first instruction."""
    at_exit: bool = False
    fprobe: bool = False
    user: bool = False
    """True in a user-space program."""
    on_event: bool = False
    """True for an event probe."""
    fields: Mapping[str, StaticEventField] | None = None
    """Fields of the event an event probe is on; None: unknown."""
    environment: Environment = UNKNOWN
    tracepoint: bool = False
    queried: bool = False
    """True once the function was found in BTF; the kernel reuses the result for later arguments."""
    registration_error: Refused | None = None
    """Error when the probe is registered, for a symbol in an argument."""
    entry_args: list[str] = field(default_factory=list)
    """Entry arguments available at the exit, each once."""

    @property
    def no_registers(self) -> bool:
        """True if registers (`%di`) can't be read."""
        return self.fprobe or self.on_event

    @property
    def types(self) -> Signature | None:
        """Signature with which types of values are looked up; None without BTF."""
        if self.signature is not None or self.btf is None:
            return self.signature
        return Signature(self.btf, "", (), 0)

    def has_field(self, name: str) -> bool:
        """Return whether the event has a field of this name; True for any name where the fields are unknown."""
        if self.fields is None:
            return is_identifier(name) and name not in ("comm", "COMM")
        return name in self.fields

    @property
    def on_function(self) -> bool:
        """True if the place has function arguments."""
        return not self.user and (self.at_entry or self.at_exit)
