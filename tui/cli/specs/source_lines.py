"""Replace lines of source code in specifications, `p fs/read_write.c:562`, by the instructions that begin them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from foreign.refusal import InputRefusal
from kernel.connection.kernel_info import KernelInfo
from probes.presets.errors import PresetError
from probes.translation.source_line import source_line_of
from tui.cli.console.output import plain
from tui.cli.console.waiting import waiting


def with_places(specs: Iterable[str], info: KernelInfo) -> Iterator[str]:
    """Yield specifications with each line of source replaced by the instructions at which it begins, one probe for
    each, and print these. Raises PresetError, TargetLost.
    """
    for spec in specs:
        if (read := source_line_of(spec)) is None:
            yield spec
            continue
        from kernel.attach.debug_places import find_source_places

        try:
            with waiting("reading debug information"):
                at = find_source_places(info, read.file, read.line)
        except InputRefusal as error:
            raise PresetError(str(error)) from None
        ours = read.specs(at.places)
        print(f"probewright: {plain(f'{at.source} begins at: ' + ', '.join(ours))}", file=sys.stderr)
        yield from ours
