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


def explain(facts: TargetFacts, seen: Observations) -> tuple[Trouble, ...]:
    """Return all diagnoses, the fatal ones first, beginning with those that no command can remedy."""
    troubles = [*_build_options(facts, seen), *seen.rights, *_tracefs_access(facts, seen)]
    troubles += [*_policy(facts, seen), *_optional_features(facts, seen)]
    if seen.host:
        troubles = [replace(one, remedy=_with_host(one.remedy, seen.host)) for one in troubles]
    return tuple(sorted(troubles, key=lambda trouble: not trouble.fatal))


def _with_host(remedy: str, host: str) -> str:
    return f"on {host}: {remedy}" if remedy.startswith(_COMMANDS) else remedy


def parse_config(text: str) -> dict[str, str]:
    """Read a kernel's .config: CONFIG_X=y -> {"X": "y"}, `# CONFIG_X is not set` -> {"X": "n"}."""
    options = {match[1]: match[2] for match in re.finditer(r"^CONFIG_(\w+)=(.*)$", text, re.MULTILINE)}
    options |= dict.fromkeys(re.findall(r"^# CONFIG_(\w+) is not set$", text, re.MULTILINE), "n")
    return options


def _tracefs_access(facts: TargetFacts, sight: Observations) -> Iterator[Trouble]:
    """Diagnose access to tracefs."""
    if facts.lockdown == "confidentiality":
        return  # it empties tracefs; reported by _policy
    inside = ", as root of the machine, not of a container"
    outside = "" if sight.may(CAP_SYS_ADMIN) else inside
    root = sight.may(CAP_DAC_OVERRIDE)
    sudo = "" if facts.uid == 0 else "sudo "
    if not facts.tracefs and not sight.tracefs_known:
        yield Trouble("this kernel has no tracefs (built without CONFIG_FTRACE)", _ELSEWHERE, code=ReasonKind.TRACER)
    elif not facts.tracefs and sight.covered:
        remedy = f"{sudo}umount {sight.covered}"
        yield Trouble(f"something else is mounted over tracefs at {sight.covered}", remedy)
    elif not facts.tracefs:
        remedy = f"{sudo}mount -t tracefs nodev /sys/kernel/tracing{'' if facts.uid else outside}"
        yield Trouble("tracefs is not mounted", remedy)
    elif not sight.tracefs_readable and root:
        yield Trouble("tracefs is mounted but refuses to be read", f"try again{inside}")
    elif "ro" in sight.mount_options:
        yield Trouble("tracefs is mounted read-only", f"{sudo}mount -o remount,rw {facts.tracefs}")
    if not root:
        yield _not_root(facts, sight)


def _not_root(facts: TargetFacts, sight: Observations) -> Trouble:
    """Return the diagnosis of missing root rights, which uid 0 may lack too."""
    what, remedy = "only root arms probes", _BECOME_ROOT_THERE if sight.host else _BECOME_ROOT
    if facts.uid == 0 and sight.in_container:
        what, remedy = f"{what}, and this is root of a container only", "start it outside, as root of the machine"
    elif facts.uid == 0:
        what, remedy = f"{what}, and this one has no CAP_DAC_OVERRIDE", "start it with the capabilities of root"
    return Trouble(what, remedy, code=ReasonKind.PRIVILEGES)


def _build_options(facts: TargetFacts, sight: Observations) -> Iterator[Trouble]:
    """Diagnose missing build options that function probes need."""
    looked = bool(facts.tracefs) and sight.tracefs_readable
    if looked:
        function_probes = _probes_functions(facts)
    else:
        configs = [
            sight.config.get(name, "n" if sight.config else "?") for name in ("KPROBE_EVENTS", "FPROBE_EVENTS")
        ]
        function_probes = set(configs) != {"n"}
    if not function_probes:
        why = [f"CONFIG_{name}" for name in ("KPROBES", "FPROBE") if sight.config.get(name) == "n"]
        names = " and ".join(why) if why else "CONFIG_KPROBE_EVENTS and CONFIG_FPROBE_EVENTS"
        verb = "is" if names.count("CONFIG_") == 1 else "are"
        yield Trouble(
            f"function probes are not built into this kernel ({names} {verb} not set)",
            _ELSEWHERE,
            code=ReasonKind.TRACER,
        )
    elif looked and not facts.has(Feature.DYNAMIC_EVENTS):
        yield Trouble("this kernel has no dynamic_events", _ELSEWHERE, code=ReasonKind.TRACER)
    elif looked and not facts.has(Feature.FPROBE_EVENTS):
        yield Trouble("no fprobe events in this kernel: functions are probed by kprobes", fatal=False)


def _policy(facts: TargetFacts, sight: Observations) -> Iterator[Trouble]:
    """Diagnose features that are forbidden or switched off."""
    if facts.lockdown == "confidentiality":
        remedy = "boot without lockdown=confidentiality on the kernel command line (Secure Boot may set it)"
        yield Trouble(
            "the kernel is locked down for confidentiality: no tracing, no kprobes", remedy, code=ReasonKind.LOCKDOWN
        )
    kprobes_off = sight.settings.get("kprobes/enabled") == "0"
    if kprobes_off and facts.has(Feature.KPROBE_EVENTS):
        fatal = not facts.has(Feature.FPROBE_EVENTS)
        yield Trouble("kprobes are switched off", "echo 1 > /sys/kernel/debug/kprobes/enabled", fatal)
    if sight.settings.get("ftrace_enabled") == "0":
        yield Trouble(
            "ftrace is switched off: probes on functions stay silent", "sysctl kernel.ftrace_enabled=1", False
        )
    if sight.settings.get("kptr_restrict") == "2":
        yield Trouble("addresses of symbols are hidden", "sysctl kernel.kptr_restrict=1", False)


def _optional_features(facts: TargetFacts, sight: Observations) -> Iterator[Trouble]:
    """Diagnose missing features that probes can do without."""
    if not sight.has_btf:
        what = "no BTF (/sys/kernel/btf/vmlinux): arguments and fields have no names"
        yield Trouble(what, "a kernel with CONFIG_DEBUG_INFO_BTF=y", fatal=False)
    elif _probes_functions(facts) and not facts.has(Feature.BTF_ARGS):
        yield Trouble("this kernel takes no BTF names: they are lowered to $argN and offsets", fatal=False)
    if facts.tracefs and sight.tracefs_readable and not sight.functions_listed:
        yield Trouble(
            "the list of traceable functions is closed or empty (ftrace is off, or not built in)", fatal=False
        )
    sudo = "" if facts.uid == 0 else "sudo "
    if facts.has(Feature.KPROBE_EVENTS) and not sight.blacklist_readable:
        remedy = f"{sudo}mount -t debugfs nodev /sys/kernel/debug"
        yield Trouble("the blacklist of kprobes cannot be read", remedy, fatal=False)
    if facts.lockdown == UNKNOWN:
        remedy = f"{sudo}mount -t securityfs nodev /sys/kernel/security"
        yield Trouble("whether the kernel is locked down cannot be seen", remedy, fatal=False)


def _probes_functions(facts: TargetFacts) -> bool:
    return facts.has(Feature.KPROBE_EVENTS) or facts.has(Feature.FPROBE_EVENTS)
