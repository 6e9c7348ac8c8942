"""Every kind of input."""

from __future__ import annotations

from tests.fuzz import commands, host, kinds, remote_host, results

KINDS = {**kinds.KINDS, **commands.KINDS, **remote_host.KINDS, **host.KINDS, **results.KINDS}
