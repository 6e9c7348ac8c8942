"""Diagnose obstacles on a target and their remedies, from observations of `kernel.facts.gather`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from probes.attaching.values import ReasonKind
from probes.facts.facts import UNKNOWN, Feature, TargetFacts, Trouble

CAP_DAC_OVERRIDE = 1
"""Number of the capability in include/uapi/linux/capability.h."""
CAP_SYS_ADMIN = 21

_BECOME_ROOT = "become root: `sudo probewright`, or `--target ssh://root@HOST`"
_BECOME_ROOT_THERE = "become root there: `--target ssh://root@HOST`, or let `sudo -n` work for that user on it"
_COMMANDS = ("sudo ", "mount ", "umount ", "echo ", "sysctl ")
"""First words of remedies that are typed on the machine itself."""
_ELSEWHERE = "try `--target lab`, or `--target ssh://HOST` for another machine"


@dataclass(frozen=True, slots=True)
class Observations:
    """Observations beyond the facts proper."""

    host: str = ""
    """The user's name of the machine; empty: the local machine."""
    rights: tuple[Trouble, ...] = ()
    """Reasons why root rights are not available there."""
    tracefs_known: bool = True
    """True if /proc/filesystems has tracefs."""
    tracefs_readable: bool = True
    """True if the files in tracefs can be opened."""
    mount_options: frozenset[str] = frozenset()
    """Options of the tracefs mount: `ro`, `rw`, `nosuid`, ..."""
    covered: str = ""
    """Mount point of a tracefs hidden below another file system."""
    in_container: bool = False
    """True if root here is not root of the machine (user namespace)."""
    capabilities: int = (1 << 41) - 1
    """Bits of CapEff in /proc/self/status."""
    has_btf: bool = True
    blacklist_readable: bool = True
    functions_listed: bool = True
    settings: dict[str, str] = field(default_factory=dict)
    """Values of `ftrace_enabled`, `kprobes/enabled`, `kptr_restrict`; absent if not readable."""
    config: dict[str, str] = field(default_factory=dict)
    """CONFIG_* of the kernel, if they were looked up; `n` for those that are not set."""

    def may(self, capability: int) -> bool:
        """Return whether we have a capability towards the machine, not only towards our container."""
        return bool(self.capabilities >> capability & 1) and not self.in_container


def diagnose(facts: TargetFacts, observations: Observations) -> tuple[Trouble, ...]:
    """Return all diagnoses, the fatal ones first, beginning with those that no command can remedy."""
    troubles = [*_build_options(facts, observations), *observations.rights, *_tracefs_access(facts, observations)]
    troubles += [*_policy(facts, observations), *_optional_features(facts, observations)]
    if observations.host:
        troubles = [replace(trouble, remedy=_with_host(trouble.remedy, observations.host)) for trouble in troubles]
    return tuple(sorted(troubles, key=lambda trouble: not trouble.fatal))


def _with_host(remedy: str, host: str) -> str:
    return f"on {host}: {remedy}" if remedy.startswith(_COMMANDS) else remedy


def parse_config(text: str) -> dict[str, str]:
    """Read a kernel's .config: CONFIG_X=y -> {"X": "y"}, `# CONFIG_X is not set` -> {"X": "n"}."""
    options = {match[1]: match[2] for match in re.finditer(r"^CONFIG_(\w+)=(.*)$", text, re.MULTILINE)}
    options |= dict.fromkeys(re.findall(r"^# CONFIG_(\w+) is not set$", text, re.MULTILINE), "n")
    return options


def _tracefs_access(facts: TargetFacts, observations: Observations) -> Iterator[Trouble]:
    """Diagnose access to tracefs."""
    if facts.lockdown == "confidentiality":
        return  # it empties tracefs; reported by _policy
    inside = ", as root of the machine, not of a container"
    outside = "" if observations.may(CAP_SYS_ADMIN) else inside
    root = observations.may(CAP_DAC_OVERRIDE)
    sudo = "" if facts.uid == 0 else "sudo "
    if not facts.tracefs and not observations.tracefs_known:
        yield Trouble("this kernel has no tracefs (built without CONFIG_FTRACE)", _ELSEWHERE, code=ReasonKind.TRACER)
    elif not facts.tracefs and observations.covered:
        remedy = f"{sudo}umount {observations.covered}"
        yield Trouble(f"something else is mounted over tracefs at {observations.covered}", remedy)
    elif not facts.tracefs:
        remedy = f"{sudo}mount -t tracefs nodev /sys/kernel/tracing{'' if facts.uid else outside}"
        yield Trouble("tracefs is not mounted", remedy)
    elif not observations.tracefs_readable and root:
        yield Trouble("tracefs is mounted but refuses to be read", f"try again{inside}")
    elif "ro" in observations.mount_options:
        yield Trouble("tracefs is mounted read-only", f"{sudo}mount -o remount,rw {facts.tracefs}")
    if not root:
        yield _not_root(facts, observations)


def _not_root(facts: TargetFacts, observations: Observations) -> Trouble:
    """Return the diagnosis of missing root rights, which uid 0 may lack too."""
    problem, remedy = "only root arms probes", _BECOME_ROOT_THERE if observations.host else _BECOME_ROOT
    if facts.uid == 0 and observations.in_container:
        problem, remedy = (
            f"{problem}, and this is root of a container only",
            "start it outside, as root of the machine",
        )
    elif facts.uid == 0:
        problem, remedy = f"{problem}, and this one has no CAP_DAC_OVERRIDE", "start it with the capabilities of root"
    return Trouble(problem, remedy, code=ReasonKind.PRIVILEGES)


def _build_options(facts: TargetFacts, observations: Observations) -> Iterator[Trouble]:
    """Diagnose missing build options that function probes need."""
    readable = bool(facts.tracefs) and observations.tracefs_readable
    if readable:
        function_probes = _probes_functions(facts)
    else:
        configs = [
            observations.config.get(name, "n" if observations.config else "?")
            for name in ("KPROBE_EVENTS", "FPROBE_EVENTS")
        ]
        function_probes = set(configs) != {"n"}
    if not function_probes:
        unset = [f"CONFIG_{name}" for name in ("KPROBES", "FPROBE") if observations.config.get(name) == "n"]
        names = " and ".join(unset) if unset else "CONFIG_KPROBE_EVENTS and CONFIG_FPROBE_EVENTS"
        verb = "is" if names.count("CONFIG_") == 1 else "are"
        yield Trouble(
            f"function probes are not built into this kernel ({names} {verb} not set)",
            _ELSEWHERE,
            code=ReasonKind.TRACER,
        )
    elif readable and not facts.has(Feature.DYNAMIC_EVENTS):
        yield Trouble("this kernel has no dynamic_events", _ELSEWHERE, code=ReasonKind.TRACER)
    elif readable and not facts.has(Feature.FPROBE_EVENTS):
        yield Trouble("no fprobe events in this kernel: functions are probed by kprobes", fatal=False)


def _policy(facts: TargetFacts, observations: Observations) -> Iterator[Trouble]:
    """Diagnose features that are forbidden or switched off."""
    if facts.lockdown == "confidentiality":
        remedy = "boot without lockdown=confidentiality on the kernel command line (Secure Boot may set it)"
        yield Trouble(
            "the kernel is locked down for confidentiality: no tracing, no kprobes", remedy, code=ReasonKind.LOCKDOWN
        )
    kprobes_off = observations.settings.get("kprobes/enabled") == "0"
    if kprobes_off and facts.has(Feature.KPROBE_EVENTS):
        fatal = not facts.has(Feature.FPROBE_EVENTS)
        yield Trouble("kprobes are switched off", "echo 1 > /sys/kernel/debug/kprobes/enabled", fatal)
    if observations.settings.get("ftrace_enabled") == "0":
        yield Trouble(
            "ftrace is switched off: probes on functions stay silent", "sysctl kernel.ftrace_enabled=1", False
        )
    if observations.settings.get("kptr_restrict") == "2":
        yield Trouble("addresses of symbols are hidden", "sysctl kernel.kptr_restrict=1", False)


def _optional_features(facts: TargetFacts, observations: Observations) -> Iterator[Trouble]:
    """Diagnose missing features that probes can do without."""
    if not observations.has_btf:
        problem = "no BTF (/sys/kernel/btf/vmlinux): arguments and fields have no names"
        yield Trouble(problem, "a kernel with CONFIG_DEBUG_INFO_BTF=y", fatal=False)
    elif _probes_functions(facts) and not facts.has(Feature.BTF_ARGS):
        yield Trouble("this kernel takes no BTF names: they are lowered to $argN and offsets", fatal=False)
    if facts.tracefs and observations.tracefs_readable and not observations.functions_listed:
        yield Trouble(
            "the list of traceable functions is closed or empty (ftrace is off, or not built in)", fatal=False
        )
    sudo = "" if facts.uid == 0 else "sudo "
    if facts.has(Feature.KPROBE_EVENTS) and not observations.blacklist_readable:
        remedy = f"{sudo}mount -t debugfs nodev /sys/kernel/debug"
        yield Trouble("the blacklist of kprobes cannot be read", remedy, fatal=False)
    if facts.lockdown == UNKNOWN:
        remedy = f"{sudo}mount -t securityfs nodev /sys/kernel/security"
        yield Trouble("whether the kernel is locked down cannot be seen", remedy, fatal=False)


def _probes_functions(facts: TargetFacts) -> bool:
    return facts.has(Feature.KPROBE_EVENTS) or facts.has(Feature.FPROBE_EVENTS)
