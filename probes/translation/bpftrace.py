"""Programs of bpftrace as probes: functions, tracepoints, a filter, printf, counts, histograms, times between two."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from probes.translation.bpftrace_time import DIVIDED, TIME, ProbeClause, TimedClauses, timed
from probes.translation.bpftrace_value import KINDS, ClausePlace, RecordedField, Untranslatable, field, is_number
from probes.translation.scan import closing, opening, pieces
from probes.translation.translated import NOT_TRANSLATED, Translation

_HEADS: Final = {
    "kprobe": "p {}",
    "kretprobe": "r {}",
    "fentry": "f {}",
    "fexit": "f {}%return",
    "tracepoint": "e {}",
    "uprobe": "p {}",
    "uretprobe": "r {}",
}
_COMPARED: Final = re.compile(r"(?P<left>[^=!<>&|]++)(?P<sign>==|!=|<=|>=|<|>|&)(?P<right>[^=!<>&|]++)")
_OF_TIME: Final = re.compile(rf"{TIME}\s*+(?:[<>]=?|==)\s*+[0-9]++")
_AGGREGATE: Final = re.compile(
    r"@(?P<name>\w*+)(?:\[(?P<keys>[^\]]*+)\])?+\s*+=\s*+(?P<function>\w++)\((?P<values>.*)\)", re.DOTALL
)
_PRINTED: Final = re.compile(r"(?P<function>printf?)\s*+\((?P<values>.*)\)", re.DOTALL)
_QUOTED: Final = re.compile(r'"[^"]*+"')
_KEYS: Final = {"pid": "common_pid", "tid": "common_pid", "cpu": "common_cpu"}
_STACK: Final = {"kstack": "common_stacktrace"}
_REGISTERS: Final = "arguments are taken from the registers of x86-64"
_ONE_BYTE: Final = "texts of system calls are (fault) on Linux 6.1, where an e probe reads one byte of a pointer"
_LOG2: Final = "hist: the kernel's ~ 2^n counts what is above 2^(n-1) up to 2^n (bpftrace's bucket begins at 2^n)"
_BOUNDS: Final = "lhist: what is out of its bounds has buckets of the same width here"
_PRESETS: Final = {
    "do_sys_open|sys_enter_open": "slow-opens",
    "block_rq_|blk_account_io|blk_mq_start": "block-latency",
    "tcp_retransmit": "tcp-retransmits",
    "sched_wakeup|sched_switch": "run-queue-delay",
    "mutex_(?:un)?lock": "mutex-hold",
    "execve|sched_process_exec": "exec-arguments",
    "oom_kill_process": "oom-kills",
    "handle_mm_fault|page_fault": "page-faults",
    "raw_syscalls": "failed-syscalls",
    "signal_generate|sys_(?:enter_)?kill": "who-kills",
}
"""By patterns of what programs of guides probe: the preset that has a like question."""
MOST: Final = 32
"""Probes of one program that are translated."""
_APART: Final = "each probe counts into a table of its own"
_THREAD: Final = "pid is the thread here (bpftrace's tid)"


def translated(program: str, machine: str = "") -> Translation:
    """Translate a program, as it stands behind `-e`; `machine`: see `ClausePlace`."""
    made: list[_Made] = []
    left: list[str] = []
    clauses = list(islice(_clauses(program), MOST + 1))
    if len(clauses) > MOST:
        refused = f"{NOT_TRANSLATED}more than {MOST} probes of one program"
        return Translation("bpftrace", left_out=(refused,), way_out="paste fewer at a time")
    for one in timed(clauses):
        try:
            if isinstance(one, Untranslatable):
                raise one
            made.append(_measured(one, machine) if isinstance(one, TimedClauses) else _Clause(one, machine).made())
        except Untranslatable as why:
            left.append(f"{NOT_TRANSLATED}{why}")
    way_out = _way_out(program, clauses, apart=len(made) + len(left) > 1)
    left += [one for each in made for one in each.left_out]
    if sum(bool(one.triggers) for one in made) > 1:
        left.append(_APART)
    probes, triggers = tuple(one.spec for one in made), tuple(one.triggers for one in made)
    return Translation("bpftrace", probes, triggers, tuple(dict.fromkeys(left)), way_out)


def _clauses(program: str) -> Iterator[ProbeClause]:
    """Give the probes of clauses: `kprobe:f,kprobe:g /filter/ { printf(...) }`."""
    while (begin := opening(program, "{")) >= 0:
        end = closing(program, begin)
        names, condition = _split_head(program[:begin].strip())
        yield from (ProbeClause(name, condition, program[begin + 1 : end]) for name in names)
        program = program[end + 1 :]


def _split_head(head: str) -> tuple[list[str], str]:
    """Names of probes, and the filter between slashes; a path has slashes, too."""
    condition = ""
    if head.endswith("/"):
        rest = head[:-1]
        at = max(rest.find(" /"), -1)
        if at < 0:
            at = rest.find("/") - 1
        head, condition = rest[: at + 1], rest[at + 2 :]
    return [name.strip() for name in head.split(",") if name.strip()], condition.strip()


class _Made(NamedTuple):
    """A probe that is ours."""

    spec: str
    triggers: tuple[str, ...]
    left_out: tuple[str, ...]


class _Clause:
    """One probe of a program. Raises Untranslatable where it is none of ours."""

    def __init__(self, clause: ProbeClause, machine: str) -> None:
        word, colon, rest = clause.name.partition(":")
        if word not in KINDS or not colon or not rest:
            raise Untranslatable(clause.name)
        self.place = ClausePlace(KINDS[word], machine, rest.partition(":")[0])
        self.head = _HEADS[self.place.kind].format(_placed(self.place.kind, rest))
        self.fields: dict[str, str] = {}
        self.left_out: list[str] = []
        self.triggers: list[str] = []
        self.condition = ""
        for statement in (one.strip() for one in pieces(clause.body, ";")):
            if statement:
                self._try(self._statement, statement)
        if clause.condition:
            self._try(self._filter, clause.condition)

    @property
    def spec(self) -> str:
        """The probe."""
        fields = (text if name == text.lstrip("$") else f"{name}={text}" for name, text in self.fields.items())
        return " ".join([self.head, *fields, *(["if", self.condition] if self.condition else [])])

    def made(self) -> _Made:
        """Return it as a probe by itself."""
        condition = (
            "" if self.place.kind == "tracepoint" else self.condition
        )  # what it holds back isn't counted either
        return _Made(self.spec, _under(condition, self.triggers), tuple(self.left_out))

    def side(self) -> str:
        """Return it as one end of a `lat:`. Raises Untranslatable where it can be none."""
        if self.place.kind != "tracepoint":
            return f"{{{self.spec}}}"
        if self.condition or any(text != f"${name}" for name, text in self.fields.items()):
            raise Untranslatable(f"{self.spec}: as one end of a time an event is taken as it is")
        return self.head.removeprefix("e ").replace(".", "/")

    def _try(self, do: object, text: str) -> None:
        try:
            do(text)  # type: ignore[operator]
        except Untranslatable as why:
            self.left_out.append(f"{NOT_TRANSLATED}{why}")

    def _statement(self, text: str) -> None:
        if (printed := _PRINTED.fullmatch(text)) is not None:
            values = list(pieces(printed["values"], ","))
            for value in values[1:] if printed["function"] == "printf" else values:
                self._try(self._record, value.strip())
        elif (counted := _AGGREGATE.fullmatch(text)) is not None:
            self._aggregate(counted)
        else:
            raise Untranslatable(text)

    def _record(self, value: str) -> str:
        """Record a value; gives its name."""
        if is_number(value) or value.startswith('"'):
            return value
        if (time := DIVIDED.fullmatch(value)) is not None:
            by = f" (there divided by {time['by']})" if time["by"] else ""
            self.left_out.append(f"lat is in nanoseconds{by}")
            return "lat"
        if value == "pid":
            self.left_out.append(_THREAD)
        found: RecordedField = field(value, self.place)
        if "%" in found.text and not self.place.machine:
            self.left_out.append(_REGISTERS)
        if found.text.endswith(":ustring"):
            self.left_out.append(_ONE_BYTE)
        names = (found.name, *(f"{found.name}_{number}" for number in range(2, len(self.fields) + 2)))
        name = next(one for one in names if self.fields.get(one, found.text) == found.text)
        if found.text:
            self.fields[name] = found.text
        return name

    def key(self, key: str) -> str:
        """Return the field that a key is. Raises Untranslatable."""
        if key in _STACK or key in _KEYS:
            if key == "pid":
                self.left_out.append(_THREAD)
            return {**_STACK, **_KEYS}[key]
        name = self._record(key)
        if not name or is_number(name) or name.startswith('"'):
            raise Untranslatable(f"@[{key}]")
        return name

    def _aggregate(self, found: re.Match[str]) -> None:
        keys = [self.key(key.strip()) for key in pieces(found["keys"] or "", ",") if key.strip()]
        values = [value.strip() for value in pieces(found["values"], ",")]
        function, vals = found["function"], ""
        if function in ("hist", "lhist"):
            keys.append(f"{self.key(values[0])}.{self._buckets(found[0], function, values)}")
        elif function == "sum":
            vals = f":vals={self.key(values[0])}"
        elif function != "count":
            raise Untranslatable(f"{found[0]}: the kernel counts by count, sum, hist and lhist")
        if not keys:
            raise Untranslatable(f"{found[0]}: a histogram has keys; --count-only counts hits")
        self.triggers.append(f"hist:keys={','.join(keys)}{vals}")

    def _buckets(self, statement: str, function: str, values: list[str]) -> str:
        """Return the modifier of a key; the kernel's buckets begin at 0."""
        if function == "hist":
            if len(values) > 1:  # hist(x, bits): 2^bits buckets for each power of two
                raise Untranslatable(statement)
            self.left_out.append(_LOG2)
            return "log2"
        if len(values) != 4 or not all(value.isdecimal() for value in values[1:]) or not int(values[3]):
            raise Untranslatable(statement)
        if int(values[1]) % int(values[3]):
            raise Untranslatable(f"{statement}: the kernel's buckets begin at 0, and not at {values[1]}")
        self.left_out.append(_BOUNDS)
        time = DIVIDED.fullmatch(values[0])
        return f"buckets={int(values[3]) * int(time['by'] or 1) if time is not None else values[3]}"

    def _filter(self, text: str) -> None:
        """`pid == 1 && comm == "sh"`: all of it, or none."""
        if any(sign in text for sign in ("@", "?", "strncmp", "strcontains")):
            raise Untranslatable(f"/{text}/: without it more is recorded")
        parts: list[str] = []
        for part in re.split(r"(&&|\|\||[()])", text):
            found = _COMPARED.fullmatch(part.strip())
            if found is None:
                if part.strip() not in ("", "&&", "||", "(", ")"):
                    raise Untranslatable(f"/{text}/: without it more is recorded")
                parts.append(part.strip())
                continue
            known, right = self._compared(found["left"].strip()), found["right"].strip()
            if not known or not (is_number(right) or _QUOTED.fullmatch(right)):
                raise Untranslatable(f"/{text}/: without it more is recorded")
            parts.append(f"{known} {found['sign']} {right}")
        self.condition = " ".join(filter(None, parts)).replace("( ", "(").replace(" )", ")")

    def _compared(self, value: str) -> str:
        """Return the field that a filter compares; empty: none. That of a tracepoint sees the event as it is."""
        of_event = self.place.kind == "tracepoint"
        if value == "comm":
            return "COMM" if of_event else value
        try:
            name = self._record(value)
        except Untranslatable:
            return ""
        return self.fields.get(name, name).removeprefix("$") if of_event else name


def _under(condition: str, triggers: Iterable[str]) -> tuple[str, ...]:
    """Return triggers that act where a filter holds: that of the event is not theirs."""
    return tuple(f"{one} if {condition}" if condition else one for one in triggers)


def _way_out(program: str, clauses: Iterable[ProbeClause], apart: bool) -> str:
    """Return what helps where something of a program can't be translated; empty: nothing that is known."""
    about = next((name for part, name in _PRESETS.items() if re.search(part, program)), "")
    other = dict.fromkeys(one.name for one in clauses if one.name.partition(":")[0] not in KINDS)
    leave = f"leave {' and '.join(other)} out" if other else "paste one probe at a time"
    return ", or ".join(
        filter(None, (leave if apart else "", f"the preset {about} has a like question" if about else ""))
    )


def _measured(pair: TimedClauses, machine: str) -> _Made:
    """Return the time between two probes. Raises Untranslatable."""
    begin = _Clause(pair.begin, machine)
    parts = [one.strip() for one in pieces(pair.end.condition, "&&") if one.strip()]
    conditions = [one.replace(TIME, "lat") for one in parts if _OF_TIME.fullmatch(one)]
    own = " && ".join(one for one in parts if not _OF_TIME.fullmatch(one))
    end = _Clause(pair.end._replace(condition=own), machine)
    if end.place.kind == "tracepoint" and end.condition:
        conditions, end.condition = [*conditions, f"({end.condition})"], ""  # an event is taken as it is
    keys = [(begin.key(first), end.key(second)) for first, second in pair.keys]
    twice = [name for name in begin.fields.keys() & end.fields.keys() if (name, name) not in keys]
    if twice:
        raise Untranslatable(f"{min(twice)}: it is of both probes of a time; leave it out of one")
    by = ",".join(first if first == second else f"{first}={second}" for first, second in keys)
    fields = [name for name in {**begin.fields, **end.fields} if all(name not in key for key in keys)]
    name = re.split(r"\W", begin.head)[-1].removeprefix("sys_enter_")
    words = [f"lat:{name}", begin.side(), "to", end.side(), "by", by, *(["with", ",".join(fields)] if fields else [])]
    words += ["if", " && ".join(conditions)] if conditions else []
    left = [
        *begin.left_out,
        *(f"{NOT_TRANSLATED}{one} (where a time begins)" for one in begin.triggers),
        *end.left_out,
    ]
    triggers = _under(" && ".join(conditions), end.triggers)
    return _Made(" ".join(words), triggers, tuple(one.replace(TIME, pair.written) for one in left))


def _placed(kind: str, rest: str) -> str:
    """The place as we write it: a function's module and a tracepoint's group are before the last colon."""
    before, colon, name = rest.rpartition(":")
    if kind in ("uprobe", "uretprobe"):
        if not colon or not before.startswith("/"):
            raise Untranslatable(f"{kind}:{rest}: a program has its whole path")
        return rest
    if kind == "tracepoint":
        if not colon or "*" in rest:
            raise Untranslatable(f"tracepoint:{rest}")
        return f"{before}.{name}"
    return rest if before and before != "vmlinux" and kind.startswith("k") else name
