"""A playbook for Ansible that arms the probes on many machines, records for a time, fetches and cleans up.

The far side needs a shell and nothing else: all that is done there is done by `raw`, and the probes are armed by the
script of `probes.export.posix_sh`. That ends by itself when its time is over, so a line that is cut leaves no probes
behind; its folder goes too, ten minutes later. `--check` looks at each machine and changes nothing.

Foreign text stands in values that are tagged `!unsafe`, which Ansible gives to no template, and reaches a shell
through its filter `quote`.
"""

from __future__ import annotations

from collections.abc import Sequence

from probes.export import posix_sh
from probes.export.dialect import ExportText
from probes.export.fleets.ansible_parts import BEGIN, END, FETCH, LOOK, TASKS, UNPACK, WAIT
from probes.export.fleets.yaml_text import block, quoted
from probes.export.names import notes_of
from probes.export.quoting import one_line
from probes.facts.facts import TargetFacts
from probes.plans.plan import Plan

_FOLLOWS = "wait_for_end\n"
"""The last line of the script: all is armed then."""
_USAGE = """\
#   ansible-playbook -i INVENTORY THIS [--limit HOSTS] [--check] [-e probewright_seconds=60]
# The events of each machine come into probewright_into/MACHINE.txt, as trace_pipe prints them. Root is needed there
# (become), and no Python. A machine with another kernel than the probes are made for fails, unless you say
# -e probewright_any_kernel=true: offsets of fields differ from kernel to kernel.
"""


def write(plans: Sequence[Plan], facts: TargetFacts) -> ExportText:
    """See the module. Raises CannotExport for text with NUL in it."""
    script = posix_sh.write(plans, facts).text
    script = script.removesuffix(_FOLLOWS) + ": >ready\n" + _FOLLOWS
    told = [f"playbook for Ansible, made by probewright for {facts.title}", *(f"  {plan.probe}" for plan in plans)]
    told += [f"note: {note}" for note in notes_of(plans)]
    comments = "".join(f"# {one_line(line)}".rstrip() + "\n" for line in told)
    kernel = one_line(f"Linux {facts.release} {facts.machine}")
    parts = {"look": LOOK, "begin": BEGIN, "wait": WAIT, "fetch": FETCH, "end": END, "unpack": UNPACK}
    values = [
        "    probewright_seconds: 10",
        "    probewright_into: probewright",
        "    probewright_most_bytes: 67108864",
        "    probewright_any_kernel: false",
        f"    probewright_kernel: !unsafe {quoted(kernel)}",
        f"    probewright_script: !unsafe {block(script, 6)}",
        *(f"    probewright_{name}: !unsafe {block(text, 6)}" for name, text in parts.items()),
    ]
    return ExportText(f"---\n{comments}{_USAGE}\n" + TASKS.replace("@VALUES@", "\n".join(values)), notes_of(plans))
