"""Write an Ansible playbook that arms the probes on many machines, records for a time, fetches and cleans up.

A remote host needs only a shell: all its tasks are `raw`, and the script of `probes.export.posix_sh` arms the probes.
That script ends by itself after its time, so a lost connection leaves no probes armed; ten minutes later its folder
is removed too. `--check` checks each machine and changes nothing. Foreign text is in values tagged `!unsafe`, which
Ansible does not expand as templates, and reaches a shell through Ansible's filter `quote`.
"""

from __future__ import annotations

from collections.abc import Sequence

from probes.export import posix_sh, shell
from probes.export.dialect import ExportText
from probes.export.fleets.ansible_parts import BEGIN, END, FETCH, LOOK, TASKS, UNPACK, WAIT
from probes.export.fleets.yaml_text import block, quoted
from probes.export.names import notes_of
from probes.export.quoting import one_line
from probes.facts.facts import TargetFacts
from probes.plans.plan import Plan

_USAGE = """\
#   ansible-playbook -i INVENTORY THIS [--limit HOSTS] [--check] [-e probewright_seconds=60]
# The events of each machine come into probewright_into/MACHINE.txt, as trace_pipe prints them. Root is needed there
# (become), and no Python. A machine with another kernel than the probes are made for fails, unless you say
# -e probewright_any_kernel=true: offsets of fields differ from kernel to kernel.
"""


def write(plans: Sequence[Plan], facts: TargetFacts) -> ExportText:
    """Return a playbook for the plans. Raises CannotExport for text with NUL in it."""
    script = posix_sh.write(plans, facts).text
    script = script.removesuffix(shell.WAIT) + ": >ready\n" + shell.WAIT
    header = [f"playbook for Ansible, made by probewright for {facts.title}", *(f"  {plan.probe}" for plan in plans)]
    header += [f"note: {note}" for note in notes_of(plans)]
    comments = "".join(f"# {one_line(line)}".rstrip() + "\n" for line in header)
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
