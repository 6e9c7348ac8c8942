"""Translate bpftrace programs to probes: functions, tracepoints, a filter, printf, counts, histograms, latencies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from probes.remedies import COUNT_HITS
from probes.translation.bpftrace_time import DIVIDED, TIME, ProbeClause, TimedClauses, pair_times
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
_TIME_CONDITION: Final = re.compile(rf"{TIME}\s*+(?:[<>]=?|==)\s*+[0-9]++")
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
"""Presets with a similar question, by patterns of what published programs probe."""
MOST: Final = 32
"""Largest number of probes of a program that are translated."""
_SEPARATE_TABLES: Final = "each probe counts into a table of its own"
_THREAD: Final = "pid is the thread here (bpftrace's tid)"


def translated(program: str, machine: str = "") -> Translation:
    """Translate a program, as written after `-e`; `machine`: see `ClausePlace`."""
    translated_probes: list[_TranslatedProbe] = []
    left_out: list[str] = []
    clauses = list(islice(_clauses(program), MOST + 1))
    if len(clauses) > MOST:
        refused = f"{NOT_TRANSLATED}more than {MOST} probes of one program"
        return Translation("bpftrace", differences=(refused,), way_out="paste fewer at a time")
    for clause in pair_times(clauses):
        try:
            if isinstance(clause, Untranslatable):
                raise clause
            translated_probes.append(
                _latency(clause, machine) if isinstance(clause, TimedClauses) else _Clause(clause, machine).made()
            )
        except Untranslatable as error:
            left_out.append(f"{NOT_TRANSLATED}{error}")
    way_out = _way_out(program, clauses, apart=len(translated_probes) + len(left_out) > 1)
    left_out += [clause for each in translated_probes for clause in each.differences]
    if sum(bool(clause.triggers) for clause in translated_probes) > 1:
        left_out.append(_SEPARATE_TABLES)
    probes, triggers = (
        tuple(clause.spec for clause in translated_probes),
        tuple(clause.triggers for clause in translated_probes),
    )
    return Translation("bpftrace", probes, triggers, tuple(dict.fromkeys(left_out)), way_out)


def _clauses(program: str) -> Iterator[ProbeClause]:
    """Yield the probes of clauses: `kprobe:f,kprobe:g /filter/ { printf(...) }`."""
    while (begin := opening(program, "{")) >= 0:
        end = closing(program, begin)
        names, condition = _split_head(program[:begin].strip())
        yield from (ProbeClause(name, condition, program[begin + 1 : end]) for name in names)
        program = program[end + 1 :]


def _split_head(head: str) -> tuple[list[str], str]:
    """Split a clause's head into the names of probes, and the filter between slashes; paths have slashes, too."""
    condition = ""
    if head.endswith("/"):
        rest = head[:-1]
        at = max(rest.find(" /"), -1)
        if at < 0:
            at = rest.find("/") - 1
        head, condition = rest[: at + 1], rest[at + 2 :]
    return [name.strip() for name in head.split(",") if name.strip()], condition.strip()


class _TranslatedProbe(NamedTuple):
    """Probe translated from a clause."""

    spec: str
    triggers: tuple[str, ...]
    differences: tuple[str, ...]


class _Clause:
    """Translator of a probe of a program. Raises Untranslatable."""

    def __init__(self, clause: ProbeClause, machine: str) -> None:
        word, colon, rest = clause.name.partition(":")
        if word not in KINDS or not colon or not rest:
            raise Untranslatable(clause.name)
        self.place = ClausePlace(KINDS[word], machine, rest.partition(":")[0])
        self.head = _HEADS[self.place.kind].format(_place_text(self.place.kind, rest))
        self.fields: dict[str, str] = {}
        self.differences: list[str] = []
        self.triggers: list[str] = []
        self.condition = ""
        for statement in (statement_text.strip() for statement_text in pieces(clause.body, ";")):
            if statement:
                self._try(self._statement, statement)
        if clause.condition:
            self._try(self._filter, clause.condition)

    @property
    def spec(self) -> str:
        """Specification of the probe."""
        fields = (text if name == text.lstrip("$") else f"{name}={text}" for name, text in self.fields.items())
        return " ".join([self.head, *fields, *(["if", self.condition] if self.condition else [])])

    def made(self) -> _TranslatedProbe:
        """Return the translation as a separate probe."""
        condition = (
            "" if self.place.kind == "tracepoint" else self.condition
        )  # events that the filter rejects aren't counted either
        return _TranslatedProbe(self.spec, _with_condition(condition, self.triggers), tuple(self.differences))

    def side(self) -> str:
        """Return the translation as an end of a `lat:`. Raises Untranslatable."""
        if self.place.kind != "tracepoint":
            return f"{{{self.spec}}}"
        if self.condition or any(text != f"${name}" for name, text in self.fields.items()):
            raise Untranslatable(f"{self.spec}: as one end of a time an event is taken as it is")
        return self.head.removeprefix("e ").replace(".", "/")

    def _try(self, translate: object, text: str) -> None:
        try:
            translate(text)  # type: ignore[operator]
        except Untranslatable as error:
            self.differences.append(f"{NOT_TRANSLATED}{error}")

    def _statement(self, text: str) -> None:
        if (print_match := _PRINTED.fullmatch(text)) is not None:
            values = list(pieces(print_match["values"], ","))
            for value in values[1:] if print_match["function"] == "printf" else values:
                self._try(self._record, value.strip())
        elif (aggregate_match := _AGGREGATE.fullmatch(text)) is not None:
            self._aggregate(aggregate_match)
        else:
            raise Untranslatable(text)

    def _record(self, value: str) -> str:
        """Record a value; returns its field name. Raises Untranslatable."""
        if is_number(value) or value.startswith('"'):
            return value
        if (time := DIVIDED.fullmatch(value)) is not None:
            by = f" (there divided by {time['by']})" if time["by"] else ""
            self.differences.append(f"lat is in nanoseconds{by}")
            return "lat"
        if value == "pid":
            self.differences.append(_THREAD)
        recorded: RecordedField = field(value, self.place)
        if "%" in recorded.text and not self.place.machine:
            self.differences.append(_REGISTERS)
        if recorded.text.endswith(":ustring"):
            self.differences.append(_ONE_BYTE)
        names = (recorded.name, *(f"{recorded.name}_{number}" for number in range(2, len(self.fields) + 2)))
        name = next(candidate for candidate in names if self.fields.get(candidate, recorded.text) == recorded.text)
        if recorded.text:
            self.fields[name] = recorded.text
        return name

    def key(self, key: str) -> str:
        """Return the field of a histogram's key. Raises Untranslatable."""
        if key in _STACK or key in _KEYS:
            if key == "pid":
                self.differences.append(_THREAD)
            return {**_STACK, **_KEYS}[key]
        name = self._record(key)
        if not name or is_number(name) or name.startswith('"'):
            raise Untranslatable(f"@[{key}]")
        return name

    def _aggregate(self, match: re.Match[str]) -> None:
        keys = [self.key(key.strip()) for key in pieces(match["keys"] or "", ",") if key.strip()]
        values = [value.strip() for value in pieces(match["values"], ",")]
        function, vals = match["function"], ""
        if function in ("hist", "lhist"):
            keys.append(f"{self.key(values[0])}.{self._buckets(match[0], function, values)}")
        elif function == "sum":
            vals = f":vals={self.key(values[0])}"
        elif function != "count":
            raise Untranslatable(f"{match[0]}: the kernel counts by count, sum, hist and lhist")
        if not keys:
            raise Untranslatable(f"{match[0]}: a histogram has keys; {COUNT_HITS}")
        self.triggers.append(f"hist:keys={','.join(keys)}{vals}")

    def _buckets(self, statement: str, function: str, values: list[str]) -> str:
        """Return the modifier of a key; the kernel's buckets begin at 0. Raises Untranslatable."""
        if function == "hist":
            if len(values) > 1:  # hist(x, bits): 2^bits buckets for each power of two
                raise Untranslatable(statement)
            self.differences.append(_LOG2)
            return "log2"
        if len(values) != 4 or not all(value.isdecimal() for value in values[1:]) or not int(values[3]):
            raise Untranslatable(statement)
        if int(values[1]) % int(values[3]):
            raise Untranslatable(f"{statement}: the kernel's buckets begin at 0, and not at {values[1]}")
        self.differences.append(_BOUNDS)
        time = DIVIDED.fullmatch(values[0])
        return f"buckets={int(values[3]) * int(time['by'] or 1) if time is not None else values[3]}"

    def _filter(self, text: str) -> None:
        """Translate a filter, `pid == 1 && comm == "sh"`, as a whole. Raises Untranslatable."""
        if any(sign in text for sign in ("@", "?", "strncmp", "strcontains")):
            raise Untranslatable(f"/{text}/: without it more is recorded")
        parts: list[str] = []
        for part in re.split(r"(&&|\|\||[()])", text):
            match = _COMPARED.fullmatch(part.strip())
            if match is None:
                if part.strip() not in ("", "&&", "||", "(", ")"):
                    raise Untranslatable(f"/{text}/: without it more is recorded")
                parts.append(part.strip())
                continue
            field_name, right = self._compared(match["left"].strip()), match["right"].strip()
            if not field_name or not (is_number(right) or _QUOTED.fullmatch(right)):
                raise Untranslatable(f"/{text}/: without it more is recorded")
            parts.append(f"{field_name} {match['sign']} {right}")
        self.condition = " ".join(filter(None, parts)).replace("( ", "(").replace(" )", ")")

    def _compared(self, value: str) -> str:
        """Return the field that a filter compares, for a tracepoint a field of its event; empty: none."""
        of_event = self.place.kind == "tracepoint"
        if value == "comm":
            return "COMM" if of_event else value
        try:
            name = self._record(value)
        except Untranslatable:
            return ""
        return self.fields.get(name, name).removeprefix("$") if of_event else name


def _with_condition(condition: str, triggers: Iterable[str]) -> tuple[str, ...]:
    """Return triggers with a filter of their own, because an event's filter does not apply to triggers."""
    return tuple(f"{trigger} if {condition}" if condition else trigger for trigger in triggers)


def _way_out(program: str, clauses: Iterable[ProbeClause], apart: bool) -> str:
    """Return advice where parts of a program can't be translated; empty: none."""
    preset = next((name for part, name in _PRESETS.items() if re.search(part, program)), "")
    other = dict.fromkeys(clause.name for clause in clauses if clause.name.partition(":")[0] not in KINDS)
    leave_out = f"leave {' and '.join(other)} out" if other else "paste one probe at a time"
    return ", or ".join(
        filter(None, (leave_out if apart else "", f"the preset {preset} has a like question" if preset else ""))
    )


def _latency(pair: TimedClauses, machine: str) -> _TranslatedProbe:
    """Translate the latency between two probes. Raises Untranslatable."""
    begin = _Clause(pair.begin, machine)
    parts = [part.strip() for part in pieces(pair.end.condition, "&&") if part.strip()]
    conditions = [part.replace(TIME, "lat") for part in parts if _TIME_CONDITION.fullmatch(part)]
    condition = " && ".join(part for part in parts if not _TIME_CONDITION.fullmatch(part))
    end = _Clause(pair.end._replace(condition=condition), machine)
    if end.place.kind == "tracepoint" and end.condition:
        conditions, end.condition = (
            [*conditions, f"({end.condition})"],
            "",
        )  # an end that is an event has no filter of its own
    keys = [(begin.key(first), end.key(second)) for first, second in pair.keys]
    ambiguous = [name for name in begin.fields.keys() & end.fields.keys() if (name, name) not in keys]
    if ambiguous:
        raise Untranslatable(f"{min(ambiguous)}: it is of both probes of a time; leave it out of one")
    by = ",".join(first if first == second else f"{first}={second}" for first, second in keys)
    fields = [name for name in {**begin.fields, **end.fields} if all(name not in key for key in keys)]
    name = re.split(r"\W", begin.head)[-1].removeprefix("sys_enter_")
    words = [f"lat:{name}", begin.side(), "to", end.side(), "by", by, *(["with", ",".join(fields)] if fields else [])]
    words += ["if", " && ".join(conditions)] if conditions else []
    left_out = [
        *begin.differences,
        *(f"{NOT_TRANSLATED}{part} (where a time begins)" for part in begin.triggers),
        *end.differences,
    ]
    triggers = _with_condition(" && ".join(conditions), end.triggers)
    return _TranslatedProbe(" ".join(words), triggers, tuple(part.replace(TIME, pair.written) for part in left_out))


def _place_text(kind: str, rest: str) -> str:
    """Return a probe's place in our syntax; a module or group is before the last colon. Raises Untranslatable."""
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
