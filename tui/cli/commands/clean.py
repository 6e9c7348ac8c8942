"""`probewright clean`: remove probes and instances that dead sessions left in the kernel; live sessions are not
touched.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from kernel.cleanup import leftovers
from kernel.connection.kernel_info import KernelInfo
from kernel.errors import SettingChanged, TargetUnusable
from tui.cli.console.output import connect, emit, plain, require_connection
from tui.cli.status import DONE, REFUSED


def run(arguments: argparse.Namespace) -> int:
    info = connect(arguments.target)
    try:
        failed = False
        broken_pipe: BrokenPipeError | None = None
        _require_tracefs(info)
        dead = leftovers.find(info.target)
        for leftover in dead:
            left_alone: list[SettingChanged] = []
            errors = leftovers.remove(info.target, leftover, left_alone.append)
            failed |= bool(errors)
            try:
                _report(leftover.group, errors, [*map(str, left_alone)], as_json=arguments.json)
            except BrokenPipeError as error:  # nobody reads the output: the others are removed all the same
                broken_pipe = error
        if not dead and not arguments.json:
            print("nothing was left behind")
        if broken_pipe is not None and not failed:
            raise broken_pipe
        require_connection(info)
        return REFUSED if failed else DONE
    finally:
        info.close()


def _report(group: str, errors: Sequence[str], left_alone: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        kept = {"left_alone": left_alone} if left_alone else {}
        emit({"group": group, "removed": not errors, "errors": list(errors), **kept})
    else:
        print(plain(f"{group}: {'; '.join([*(errors or ['removed']), *left_alone])}"))


def _require_tracefs(info: KernelInfo) -> None:
    """Raise TargetUnusable if tracefs can't be read: then leftovers can't be ruled out."""
    facts = info.facts
    if info.target.is_kernel and not facts.readme:
        reason, remedy = next(((t.what, t.remedy) for t in facts.troubles if t.fatal), ("tracefs cannot be read", ""))
        raise TargetUnusable(f"{info.target.name}: {reason}", remedy, facts.troubles)
