"""What is in the way on a target and the way out of it: pure, from what `kernel.facts.gather` saw."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from probes.attaching.values import ReasonKind
from probes.facts.facts import UNKNOWN, Feature, TargetFacts, Trouble

CAP_DAC_OVERRIDE = 1
"""include/uapi/linux/capability.h"""
CAP_SYS_ADMIN = 21

_BECOME_ROOT = "become root: `sudo probewright`, or `--target ssh://root@HOST`"
_BECOME_ROOT_THERE = "become root there: `--target ssh://root@HOST`, or let `sudo -n` work for that user on it"
_COMMANDS = ("sudo ", "mount ", "umount ", "echo ", "sysctl ")
"""What a remedy begins with that is typed on the machine itself."""
_ELSEWHERE = "try `--target lab`, or `--target ssh://HOST` for another machine"


@dataclass(frozen=True, slots=True)
class Observations:
    """What was seen beside the facts proper."""

    host: str = ""
    """What the user calls the machine; empty: it is this one."""
    rights: tuple[Trouble, ...] = ()
    """Why nobody becomes root there."""
    tracefs_known: bool = True
    """/proc/filesystems has tracefs."""
    tracefs_readable: bool = True
    """The files in it can be opened."""
    mount_options: frozenset[str] = frozenset()
    """Of the tracefs mount: `ro`, `rw`, `nosuid`, ..."""
    covered: str = ""
    """Where tracefs is mounted below another file system, so that nobody sees it."""
    in_container: bool = False
    """Root here is not root of the machine (user namespace)."""
    capabilities: int = (1 << 41) - 1
    """CapEff of /proc/self/status."""
    has_btf: bool = True
    blacklist_readable: bool = True
    functions_listed: bool = True
    settings: dict[str, str] = field(default_factory=dict)
    """Switches: `ftrace_enabled`, `kprobes/enabled`, `kptr_restrict`; absent where not readable."""
    config: dict[str, str] = field(default_factory=dict)
    """CONFIG_* of the kernel, where they were looked up; `n` for those that are not set."""

    def may(self, capability: int) -> bool:
        """Whether we have a capability towards the machine, not only towards our container."""
        return bool(self.capabilities >> capability & 1) and not self.in_container


def explain(facts: TargetFacts, sight: Observations) -> tuple[Trouble, ...]:
    """Everything that is in the way, the fatal ones first, and of these what no command can help."""
    found = [*_build(facts, sight), *sight.rights, *_reach(facts, sight)]
    found += [*_policy(facts, sight), *_missing(facts, sight)]
    if sight.host:
        found = [replace(one, remedy=_typed_there(one.remedy, sight.host)) for one in found]
    return tuple(sorted(found, key=lambda trouble: not trouble.fatal))


def _typed_there(remedy: str, host: str) -> str:
    return f"on {host}: {remedy}" if remedy.startswith(_COMMANDS) else remedy


def parse_config(text: str) -> dict[str, str]:
    """Read a kernel's .config: CONFIG_X=y -> {"X": "y"}, `# CONFIG_X is not set` -> {"X": "n"}."""
    found = {match[1]: match[2] for match in re.finditer(r"^CONFIG_(\w+)=(.*)$", text, re.MULTILINE)}
    found |= dict.fromkeys(re.findall(r"^# CONFIG_(\w+) is not set$", text, re.MULTILINE), "n")
    return found


def _reach(facts: TargetFacts, sight: Observations) -> Iterator[Trouble]:
    """Whether tracefs can be got at."""
    if facts.lockdown == "confidentiality":
        return  # it empties tracefs; _policy says so
    inside = ", as root of the machine, not of a container"
    where = "" if sight.may(CAP_SYS_ADMIN) else inside
    root = sight.may(CAP_DAC_OVERRIDE)
    sudo = "" if facts.uid == 0 else "sudo "
    if not facts.tracefs and not sight.tracefs_known:
        yield Trouble("this kernel has no tracefs (built without CONFIG_FTRACE)", _ELSEWHERE, code=ReasonKind.TRACER)
    elif not facts.tracefs and sight.covered:
        remedy = f"{sudo}umount {sight.covered}"
        yield Trouble(f"something else is mounted over tracefs at {sight.covered}", remedy)
    elif not facts.tracefs:
        remedy = f"{sudo}mount -t tracefs nodev /sys/kernel/tracing{'' if facts.uid else where}"
        yield Trouble("tracefs is not mounted", remedy)
    elif not sight.tracefs_readable and root:
        yield Trouble("tracefs is mounted but refuses to be read", f"try again{inside}")
    elif "ro" in sight.mount_options:
        yield Trouble("tracefs is mounted read-only", f"{sudo}mount -o remount,rw {facts.tracefs}")
    if not root:
        yield _not_root(facts, sight)


def _not_root(facts: TargetFacts, sight: Observations) -> Trouble:
    """Return who we are instead of the machine's root, which uid 0 may not be either."""
    what, remedy = "only root arms probes", _BECOME_ROOT_THERE if sight.host else _BECOME_ROOT
    if facts.uid == 0 and sight.in_container:
        what, remedy = f"{what}, and this is root of a container only", "start it outside, as root of the machine"
    elif facts.uid == 0:
        what, remedy = f"{what}, and this one has no CAP_DAC_OVERRIDE", "start it with the capabilities of root"
    return Trouble(what, remedy, code=ReasonKind.PRIVILEGES)


def _build(facts: TargetFacts, sight: Observations) -> Iterator[Trouble]:
    """Whether the kernel was built with what function probes need."""
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
    """What someone forbids or has switched off."""
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


def _missing(facts: TargetFacts, sight: Observations) -> Iterator[Trouble]:
    """What makes things worse, not impossible."""
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
