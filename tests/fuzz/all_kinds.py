"""Every kind of input."""

from __future__ import annotations

from tests.fuzz import commands, far, host, kinds

KINDS = {**kinds.KINDS, **commands.KINDS, **far.KINDS, **host.KINDS}
