"""Every kind of input."""

from __future__ import annotations

from tests.fuzz import commands, kinds

KINDS = {**kinds.KINDS, **commands.KINDS}
