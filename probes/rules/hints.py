"""The kernel's errors in plain words, with the way out."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

_HINTS = {
    "NO_BTF_FIELD": "The structure has no member of this name",
    "NO_BTFARG": "The function has no parameter of this name",
    "NO_BTF_ENTRY": "BTF does not know this function's parameters; $arg1, $arg2, … still work",
    "NOSUP_BTFARG": "BTF knows nothing of this place; $arg1, $arg2, … may still work",
    "NO_PTR_STRCT": "`->` needs a pointer to a struct; `.` walks inside one",
    "BAD_BTF_TID": "This is no struct, so it has no members",
    "NOSUP_DAT_ARG": "An argument is reached with `->`; `.` comes behind it",
    "BAD_HYPHEN": "Write `->`",
    "RETVAL_ON_PROBE": "The value is there at exit only: put %return behind the function",
    "NO_RETVAL": "This function returns nothing",
    "NON_UNIQ_SYMBOL": "Several functions have this name; an fprobe takes all of them, a kprobe needs the address",
    "BAD_PROBE_ADDR": "There is no such function, or it can't be traced",
    "FAIL_REG_PROBE": "The kernel does not let this function be probed: notrace, on the blacklist, or no code",
    "BAD_RETPROBE": "A return probe sits on a function's first instruction",
    "BAD_ADDR_SUFFIX": "Only %return may follow the function",
    "BAD_STRING": "A string needs memory: dereference a pointer, +0(…):string",
    "BAD_TYPE4STR": "Only `char *` and `char []` are text",
    "BAD_TYPE": "Types: u8 s8 x8 … x64, char, string, ustring, symbol, symstr, b4@0/32, %pd, %pD, TYPE[N]",
    "BAD_BITFIELD": "bWIDTH@OFFSET/SIZE, and the bits must fit in the size",
    "ARG_TOO_LONG": "Shorten the path, or give offsets: +16(+40($arg1))",
    "USED_ARG_NAME": "Give it a name of its own: NAME=…",
    "BAD_VAR": "Variables: $retval $stack $stackN $comm $argN $arg*",
    "BAD_REG_NAME": "Registers have the kernel's names: %di, not %rdi",
    "BAD_MAXACT": "This kernel takes no number behind the f",
    "NEED_STRING_TYPE": "$comm and text are strings",
    "NOFENTRY_ARGS": "Arguments can be had on a function's first instruction and at its exit",
    "COMM_CANT_DEREF": "$comm is no pointer",
    "ARGS_2LONG": "Name the arguments you want, or use $$args",
    "TOO_MANY_EARGS": "At most 15 arguments are kept from entry to exit",
    "TYPECAST_NOT_EVENT": "This kernel casts only fields of events",
    "TYPECAST_REQ_FIELD": "Behind a cast comes ->member",
    "TYPECAST_SYM_OFFSET": "Put the symbol and its offset in brackets: (STRUCT)(@sym+8)->member",
    "TYPECAST_BAD_ARROW": "The member in a cast is reached with `.`",
    "TOO_MANY_NESTED": "At most 8 casts and dereferences",
    "NOSUP_PERCPU": "Per-CPU variables can be read in kernel probes only",
    "NO_EVENT_FIELD": "The event has no field of this name",
    "BAD_ATTACH_ARG": "The event has no field of this name",
    "BAD_ATTACH_EVENT": "There is no such event, or it is one of a kprobe, a uprobe or an event probe",
    "NO_EVENT_INFO": "Name the event to sit on: GROUP.EVENT",
    "EVENT_EXIST": "Give the event another name: LETTER:GROUP/EVENT",
    "DIFF_PROBE_TYPE": "Probes that share an event are of one kind; give this one a name of its own",
    "DIFF_ARG_TYPE": "Probes that share an event have the same arguments; give this one a name of its own",
    "SAME_PROBE": "This very probe is there already",
    "FILE_NOT_FOUND": "There is no such file",
    "NO_REGULAR_FILE": "A program or a library is needed",
    "BAD_UPROBE_OFFS": "In a file: /path:0x1000, or a function and bytes from it, /path:name+0x10",
    "BAD_REFCNT_SUFFIX": "%return stands before the reference counter: 0x1000%return(0x10)",
    "SYM_ON_UPROBE": "Symbols are the kernel's; take an address, @+OFFSET or a register",
    "FILE_ON_KPROBE": "Offsets in a file are for user-space programs",
    "BAD_TP_NAME": "A tracepoint's name alone, without its group",
    "FIELD_NOT_FOUND": "The event has no field of this name",
    "INVALID_OP": "Operators: == != < <= > >= & ~",
    "INVALID_VALUE": "A value is a number, or text in quotes",
    "EXPECT_STRING": "This field is text: put the value in quotes",
    "EXPECT_DIGIT": "This field is a number",
    "INVALID_CMD": "s:NAME TYPE FIELD; TYPE FIELD",
    "BAD_FIELD_MODIFIER": "Keys: .hex .sym .sym-offset .execname .syscall .log2 .buckets=N .usecs; values: .percent",
    "INVALID_SORT_FIELD": "A histogram is sorted by hitcount, its keys and its values",
    "INVALID_SORT_MODIFIER": ".descending or .ascending",
    "EMPTY_ASSIGNMENT": "Something must follow the =",
    "VAR_NOT_FOUND": "No histogram has this variable: set it on an event, NAME=FIELD",
    "VAR_NOT_UNIQUE": "Histograms of several events have it: GROUP.EVENT.$NAME",
    "DUPLICATE_VAR": "A histogram of this event has it already",
    "INVALID_REF_KEY": "A key is a field of the event itself",
    "INVALID_STR_OPERAND": "Only numbers can be computed with",
    "TOO_MANY_SUBEXPR": "At most four operands; a further variable may go on",
    "TIMESTAMP_MISMATCH": "Both need .usecs, or neither",
    "ONX_NOT_VAR": "Set a variable, NAME=FIELD, and watch it: onmax($NAME)",
    "ONX_VAR_NOT_FOUND": "The variable must be one of this histogram",
    "ACTION_NOT_FOUND": "An action follows: .trace(EVENT,…), .save(FIELD,…) or .snapshot()",
    "SUBSYS_NOT_FOUND": "onmatch(GROUP.EVENT)",
    "INVALID_SUBSYS_EVENT": "There is no such event",
    "SYNTH_EVENT_NOT_FOUND": "Make the synthetic event first: s:NAME TYPE FIELD; …",
    "SYNTH_TYPE_MISMATCH": "Types and order must be those of the synthetic event's fields",
    "SYNTH_COUNT_MISMATCH": "Each field of the synthetic event needs a value",
    "HIST_NOT_FOUND": "The other event needs a histogram with keys of the same types",
    "NEED_NOHC_VAL": "Without the count of hits a histogram needs vals=FIELD",
    "TRIGGER_EEXIST": "This very histogram is there already",
    "TRIGGER_ENOENT_CLEAR": "There is no such histogram yet: leave out continue and clear",
    "SET_CLOCK_FAIL": "Clocks: trace_clock lists them",
    "unknown_filter_field": "A filter sees what is recorded: capture it too",
    "NO_MATCHING_TYPE": "A function is missing, or this kernel has no such kind of probe",
}
_NEAREST = 3


def hint_for(code: str, token: str, names: Sequence[str] = (), better: str = "") -> tuple[str, tuple[str, ...]]:
    """Give the hint for an error and up to three of `names` that are like the token, never the token itself.

    Args:
        code: of the error.
        token: the wrong word.
        names: that would do instead.
        better: a hint that goes before the general one.
    """
    others = [name for name in dict.fromkeys(names) if name and name != token]
    nearest = difflib.get_close_matches(token, others, _NEAREST, 0.5) if token else []
    hint = better or _HINTS.get(code, "")
    if nearest:
        hint = f"{hint}; did you mean {nearest[0]}?" if hint else f"Did you mean {nearest[0]}?"
    return hint, tuple(nearest)
