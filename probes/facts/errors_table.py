"""Map symbolic names of tracefs errors to the kernel's messages, and back.

From the ERRORS tables of kernel/trace/trace_probe.h, trace_events_filter.c, trace_events_synth.c and
trace_events_hist.c, Linux 6.1 to 7.3. Messages vary between kernels (a typo is fixed, "with kprobe" becomes "for
kernel probes"), so they are compared without case, white space and full stop.
"""

from __future__ import annotations

import re

MESSAGES: dict[str, str] = {
    "FILE_NOT_FOUND": "Failed to find the given file",
    "NO_REGULAR_FILE": "Not a regular file",
    "BAD_REFCNT": "Invalid reference counter offset",
    "REFCNT_OPEN_BRACE": "Reference counter brace is not closed",
    "BAD_REFCNT_SUFFIX": "Reference counter has wrong suffix",
    "BAD_UPROBE_OFFS": "Invalid uprobe offset",
    "BAD_MAXACT_TYPE": "Maxactive is only for function exit",
    "BAD_MAXACT": "Invalid maxactive number",
    "MAXACT_TOO_BIG": "Maxactive is too big",
    "BAD_PROBE_ADDR": "Invalid probed address or symbol",
    "NON_UNIQ_SYMBOL": "The symbol is not unique",
    "BAD_RETPROBE": "Retprobe address must be an function entry",
    "NO_TRACEPOINT": "Tracepoint is not found",
    "BAD_TP_NAME": "Invalid character in tracepoint name",
    "BAD_ADDR_SUFFIX": "Invalid probed address suffix",
    "NO_GROUP_NAME": "Group name is not specified",
    "GROUP_TOO_LONG": "Group name is too long",
    "BAD_GROUP_NAME": "Group name must follow the same rules as C identifiers",
    "NO_EVENT_NAME": "Event name is not specified",
    "EVENT_TOO_LONG": "Event name is too long",
    "BAD_EVENT_NAME": "Event name must follow the same rules as C identifiers",
    "EVENT_EXIST": "Given group/event name is already used by another event",
    "RETVAL_ON_PROBE": "$retval is not available on probe",
    "NO_RETVAL": "This function returns 'void' type",
    "BAD_STACK_NUM": "Invalid stack number",
    "BAD_ARG_NUM": "Invalid argument number",
    "BAD_VAR": "Invalid $-variable specified",
    "BAD_REG_NAME": "Invalid register name",
    "BAD_MEM_ADDR": "Invalid memory address",
    "BAD_IMM": "Invalid immediate value",
    "IMMSTR_NO_CLOSE": "String is not closed with '\"'",
    "FILE_ON_KPROBE": "File offset is not available with kprobe",
    "BAD_FILE_OFFS": "Invalid file offset value",
    "SYM_ON_UPROBE": "Symbol is not available with uprobe",
    "TOO_MANY_OPS": "Dereference is too much nested",
    "DEREF_NEED_BRACE": "Dereference needs a brace",
    "BAD_DEREF_OFFS": "Invalid dereference offset",
    "DEREF_OPEN_BRACE": "Dereference brace is not closed",
    "COMM_CANT_DEREF": "$comm can not be dereferenced",
    "BAD_FETCH_ARG": "Invalid fetch argument",
    "ARRAY_NO_CLOSE": "Array is not closed",
    "BAD_ARRAY_SUFFIX": "Array has wrong suffix",
    "BAD_ARRAY_NUM": "Invalid array size",
    "ARRAY_TOO_BIG": "Array number is too big",
    "BAD_TYPE": "Unknown type is specified",
    "BAD_STRING": "String accepts only memory argument",
    "BAD_SYMSTRING": "Symbol String doesn't accept data/userdata",
    "BAD_BITFIELD": "Invalid bitfield",
    "ARG_NAME_TOO_LONG": "Argument name is too long",
    "NO_ARG_NAME": "Argument name is not specified",
    "BAD_ARG_NAME": "Argument name must follow the same rules as C identifiers",
    "USED_ARG_NAME": "This argument name is already used",
    "ARG_TOO_LONG": "Argument expression is too long",
    "NO_ARG_BODY": "No argument expression",
    "BAD_INSN_BNDRY": "Probe point is not an instruction boundary",
    "FAIL_REG_PROBE": "Failed to register probe event",
    "DIFF_PROBE_TYPE": "Probe type is different from existing probe",
    "DIFF_ARG_TYPE": "Argument type or name is different from existing probe",
    "SAME_PROBE": "There is already the exact same probe event",
    "NO_EVENT_INFO": "This requires both group and event name to attach",
    "BAD_ATTACH_EVENT": "Attached event does not exist",
    "BAD_ATTACH_ARG": "Attached event does not have this field",
    "NO_EP_FILTER": "No filter rule after 'if'",
    "NOSUP_BTFARG": "BTF is not available or not supported",
    "NO_BTFARG": "This variable is not found at this probe point",
    "NO_BTF_ENTRY": "No BTF entry for this probe point",
    "BAD_VAR_ARGS": "$arg* must be an independent parameter without name etc.",
    "NOFENTRY_ARGS": "$arg* can be used only on function entry or exit",
    "DOUBLE_ARGS": "$arg* can be used only once in the parameters",
    "ARGS_2LONG": "$arg* failed because the argument list is too long",
    "ARGIDX_2BIG": "$argN index is too big",
    "NO_PTR_STRCT": "This is not a pointer to union/structure.",
    "NOSUP_DAT_ARG": "Non pointer structure/union argument is not supported.",
    "BAD_HYPHEN": "Failed to parse single hyphen. Forgot '>'?",
    "NO_BTF_FIELD": "This field is not found.",
    "BAD_BTF_TID": "Failed to get BTF type info.",
    "BAD_TYPE4STR": "This type does not fit for string.",
    "NEED_STRING_TYPE": "$comm and immediate-string only accepts string type",
    "TOO_MANY_ARGS": "Too many arguments are specified",
    "TOO_MANY_EARGS": "Too many entry arguments specified",
    "EVENT_TOO_BIG": "Event too big (too many fields?)",
    "TYPECAST_NOT_EVENT": "Typecasts are only for eprobe fields",
    "NOSUP_PERCPU": "Per-cpu variable access is only for kernel probes",
    "NO_EVENT_FIELD": "This event field is not found.",
    "TOO_MANY_NESTED": "Too many nested typecasts/dereferences",
    "TYPECAST_BAD_ARROW": "Typecast field option does not support -> operator",
    "TYPECAST_NOT_ALIGNED": "Typecast field option is not byte-aligned",
    "TYPECAST_REQ_FIELD": "Typecast requires a field access",
    "TYPECAST_SYM_OFFSET": "@SYM+/-OFFSET with typecast needs parentheses",
    "MAXACT_NO_KPROBE": "Maxactive is not for kprobe",
}
"""Messages of `trace_kprobe`, `trace_fprobe`, `trace_uprobe` and `event_probe`."""

FILTER_MESSAGES: dict[str, str] = {
    "INVALID_OP": "Invalid operator",
    "TOO_MANY_OPEN": "Too many '('",
    "TOO_MANY_CLOSE": "Too few '('",
    "MISSING_QUOTE": "Missing matching quote",
    "MISSING_BRACE_OPEN": "Missing '{'",
    "MISSING_BRACE_CLOSE": "Missing '}'",
    "OPERAND_TOO_LONG": "Operand too long",
    "EXPECT_STRING": "Expecting string field",
    "EXPECT_DIGIT": "Expecting numeric field",
    "ILLEGAL_FIELD_OP": "Illegal operation for field type",
    "FIELD_NOT_FOUND": "Field not found",
    "ILLEGAL_INTVAL": "Illegal integer value",
    "BAD_SUBSYS_FILTER": "Couldn't find or set field in one of a subsystem's events",
    "TOO_MANY_PREDS": "Too many terms in predicate expression",
    "INVALID_FILTER": "Meaningless filter expression",
    "INVALID_CPULIST": "Invalid cpulist",
    "IP_FIELD_ONLY": "Only 'ip' field is supported for function trace",
    "INVALID_VALUE": "Invalid value (did you forget quotes)?",
    "NO_FUNCTION": "Function not found",
    "ERRNO": "Error",
    "NO_FILTER": "No filter found",
}
"""Messages on an event's `filter` file (`parse_error: …`)."""

SYNTH_MESSAGES: dict[str, str] = {
    "BAD_NAME": "Illegal name",
    "INVALID_CMD": "Command must be of the form: <name> field[;field] ...",
    "INVALID_DYN_CMD": "Command must be of the form: s or -:[synthetic/]<name> field[;field] ...",
    "EVENT_EXISTS": "Event already exists",
    "TOO_MANY_FIELDS": "Too many fields",
    "INCOMPLETE_TYPE": "Incomplete type",
    "INVALID_TYPE": "Invalid type",
    "INVALID_FIELD": "Invalid field",
    "INVALID_ARRAY_SPEC": "Invalid array specification",
}
"""Messages on synthetic events (trace_events_synth.c)."""

HIST_MESSAGES: dict[str, str] = {
    "DUPLICATE_VAR": "Variable already defined",
    "VAR_NOT_UNIQUE": "Variable name not unique, need to use fully qualified name (subsys.event.var) for variable",
    "TOO_MANY_VARS": "Too many variables defined",
    "MALFORMED_ASSIGNMENT": "Malformed assignment",
    "NAMED_MISMATCH": "Named hist trigger doesn't match existing named trigger (includes variables)",
    "TRIGGER_EEXIST": "Hist trigger already exists",
    "TRIGGER_ENOENT_CLEAR": "Can't clear or continue a nonexistent hist trigger",
    "SET_CLOCK_FAIL": "Couldn't set trace_clock",
    "BAD_FIELD_MODIFIER": "Invalid field modifier",
    "TOO_MANY_SUBEXPR": "Too many subexpressions (3 max)",
    "TIMESTAMP_MISMATCH": "Timestamp units in expression don't match",
    "TOO_MANY_FIELD_VARS": "Too many field variables defined",
    "EVENT_FILE_NOT_FOUND": "Event file not found",
    "HIST_NOT_FOUND": "Matching event histogram not found",
    "HIST_CREATE_FAIL": "Couldn't create histogram for field",
    "SYNTH_VAR_NOT_FOUND": "Couldn't find synthetic variable",
    "SYNTH_EVENT_NOT_FOUND": "Couldn't find synthetic event",
    "SYNTH_TYPE_MISMATCH": "Param type doesn't match synthetic event field type",
    "SYNTH_COUNT_MISMATCH": "Param count doesn't match synthetic event field count",
    "FIELD_VAR_PARSE_FAIL": "Couldn't parse field variable",
    "VAR_CREATE_FIND_FAIL": "Couldn't create or find variable",
    "ONX_NOT_VAR": "For onmax(x) or onchange(x), x must be a variable",
    "ONX_VAR_NOT_FOUND": "Couldn't find onmax or onchange variable",
    "ONX_VAR_CREATE_FAIL": "Couldn't create onmax or onchange variable",
    "FIELD_VAR_CREATE_FAIL": "Couldn't create field variable",
    "TOO_MANY_PARAMS": "Too many action params",
    "PARAM_NOT_FOUND": "Couldn't find param",
    "INVALID_PARAM": "Invalid action param",
    "ACTION_NOT_FOUND": "No action found",
    "NO_SAVE_PARAMS": "No params found for save()",
    "TOO_MANY_SAVE_ACTIONS": "Can't have more than one save() action per hist",
    "ACTION_MISMATCH": "Handler doesn't support action",
    "NO_CLOSING_PAREN": "No closing paren found",
    "SUBSYS_NOT_FOUND": "Missing subsystem",
    "INVALID_SUBSYS_EVENT": "Invalid subsystem or event name",
    "INVALID_REF_KEY": "Using variable references in keys not supported",
    "VAR_NOT_FOUND": "Couldn't find variable",
    "FIELD_NOT_FOUND": "Couldn't find field",
    "EMPTY_ASSIGNMENT": "Empty assignment",
    "INVALID_SORT_MODIFIER": "Invalid sort modifier",
    "EMPTY_SORT_FIELD": "Empty sort field",
    "TOO_MANY_SORT_FIELDS": "Too many sort fields (Max = 2)",
    "INVALID_SORT_FIELD": "Sort field must be a key or a val",
    "INVALID_STR_OPERAND": "String type can not be an operand in expression",
    "EXPECT_NUMBER": "Expecting numeric literal",
    "UNARY_MINUS_SUBEXPR": "Unary minus not supported in sub-expressions",
    "DIVISION_BY_ZERO": "Division by zero",
    "NEED_NOHC_VAL": "Non-hitcount value is required for 'nohitcount'",
}
"""Messages on hist triggers (trace_events_hist.c)."""

NO_MATCH = "NO_MATCHING_TYPE"
"""Our name for an error without one in `dynevent`: no kind of dynamic event takes the command."""
NO_MATCH_MESSAGE = "No matching dynamic event type"

_OTHER_SPELLINGS = {
    "invalid $-valiable specified": "BAD_VAR",  # 6.13 to 7.0
    "file offset is not available for kernel probes": "FILE_ON_KPROBE",  # 7.3
    NO_MATCH_MESSAGE.lower(): NO_MATCH,
}


def _plain(message: str) -> str:
    """Return a message without its variable parts: case, spaces, the full stop."""
    return re.sub(r"\s+", " ", message.strip().rstrip(".")).lower()


_CODES = {
    _plain(text): code
    for table in (HIST_MESSAGES, SYNTH_MESSAGES, FILTER_MESSAGES, MESSAGES)
    for code, text in table.items()
}
_CODES.update((_plain(text), code) for text, code in _OTHER_SPELLINGS.items())


def code_of(message: str) -> str:
    """Return the symbolic name of a message of error_log or a filter; `UNKNOWN` for a message in no table."""
    plain = _plain(message)
    if (code := _CODES.get(plain)) is not None:
        return code
    likely = [
        code
        for text, code in _CODES.items()
        if len(text) >= 12 and (plain.startswith(text) or (text.startswith(plain) and len(plain) >= 12))
    ]
    return likely[0] if likely else "UNKNOWN"


def message_of(code: str) -> str:
    """Return the kernel's message for a symbolic name; empty for one of our own names."""
    if code == NO_MATCH:
        return NO_MATCH_MESSAGE
    return MESSAGES.get(code) or FILTER_MESSAGES.get(code) or SYNTH_MESSAGES.get(code) or HIST_MESSAGES.get(code, "")
