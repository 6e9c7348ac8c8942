"""The kernel's ERRORS tables: what it writes in error_log, and the symbolic name of each message.

Union of Linux 6.1 to 7.3. A message that changed its wording stands once for each wording.
"""

from __future__ import annotations

import re

TRACE_PROBE: dict[str, str] = {
    "Failed to find the given file": "FILE_NOT_FOUND",
    "Not a regular file": "NO_REGULAR_FILE",
    "Invalid reference counter offset": "BAD_REFCNT",
    "Reference counter brace is not closed": "REFCNT_OPEN_BRACE",
    "Reference counter has wrong suffix": "BAD_REFCNT_SUFFIX",
    "Invalid uprobe offset": "BAD_UPROBE_OFFS",
    "Maxactive is not for kprobe": "MAXACT_NO_KPROBE",
    "Invalid maxactive number": "BAD_MAXACT",
    "Maxactive is too big": "MAXACT_TOO_BIG",
    "Invalid probed address or symbol": "BAD_PROBE_ADDR",
    "The symbol is not unique": "NON_UNIQ_SYMBOL",
    "Retprobe address must be an function entry": "BAD_RETPROBE",
    "Invalid probed address suffix": "BAD_ADDR_SUFFIX",
    "Group name is not specified": "NO_GROUP_NAME",
    "Group name is too long": "GROUP_TOO_LONG",
    "Group name must follow the same rules as C identifiers": "BAD_GROUP_NAME",
    "Event name is not specified": "NO_EVENT_NAME",
    "Event name is too long": "EVENT_TOO_LONG",
    "Event name must follow the same rules as C identifiers": "BAD_EVENT_NAME",
    "Given group/event name is already used by another event": "EVENT_EXIST",
    "$retval is not available on probe": "RETVAL_ON_PROBE",
    "Invalid stack number": "BAD_STACK_NUM",
    "Invalid argument number": "BAD_ARG_NUM",
    "Invalid $-variable specified": "BAD_VAR",
    "Invalid register name": "BAD_REG_NAME",
    "Invalid memory address": "BAD_MEM_ADDR",
    "Invalid immediate value": "BAD_IMM",
    "String is not closed with '\"'": "IMMSTR_NO_CLOSE",
    "File offset is not available with kprobe": "FILE_ON_KPROBE",
    "Invalid file offset value": "BAD_FILE_OFFS",
    "Symbol is not available with uprobe": "SYM_ON_UPROBE",
    "Dereference is too much nested": "TOO_MANY_OPS",
    "Dereference needs a brace": "DEREF_NEED_BRACE",
    "Invalid dereference offset": "BAD_DEREF_OFFS",
    "Dereference brace is not closed": "DEREF_OPEN_BRACE",
    "$comm can not be dereferenced": "COMM_CANT_DEREF",
    "Invalid fetch argument": "BAD_FETCH_ARG",
    "Array is not closed": "ARRAY_NO_CLOSE",
    "Array has wrong suffix": "BAD_ARRAY_SUFFIX",
    "Invalid array size": "BAD_ARRAY_NUM",
    "Array number is too big": "ARRAY_TOO_BIG",
    "Unknown type is specified": "BAD_TYPE",
    "String accepts only memory argument": "BAD_STRING",
    "Symbol String doesn't accept data/userdata": "BAD_SYMSTRING",
    "Invalid bitfield": "BAD_BITFIELD",
    "Argument name is too long": "ARG_NAME_TOO_LONG",
    "Argument name is not specified": "NO_ARG_NAME",
    "Argument name must follow the same rules as C identifiers": "BAD_ARG_NAME",
    "This argument name is already used": "USED_ARG_NAME",
    "Argument expression is too long": "ARG_TOO_LONG",
    "No argument expression": "NO_ARG_BODY",
    "Probe point is not an instruction boundary": "BAD_INSN_BNDRY",
    "Failed to register probe event": "FAIL_REG_PROBE",
    "Probe type is different from existing probe": "DIFF_PROBE_TYPE",
    "Argument type or name is different from existing probe": "DIFF_ARG_TYPE",
    "There is already the exact same probe event": "SAME_PROBE",
    "This requires both group and event name to attach": "NO_EVENT_INFO",
    "Attached event does not exist": "BAD_ATTACH_EVENT",
    "Attached event does not have this field": "BAD_ATTACH_ARG",
    "No filter rule after 'if'": "NO_EP_FILTER",
    "Event too big (too many fields?)": "EVENT_TOO_BIG",
    "Maxactive is only for function exit": "BAD_MAXACT_TYPE",
    "Tracepoint is not found": "NO_TRACEPOINT",
    "Invalid character in tracepoint name": "BAD_TP_NAME",
    "This function returns 'void' type": "NO_RETVAL",
    "BTF is not available or not supported": "NOSUP_BTFARG",
    "This variable is not found at this probe point": "NO_BTFARG",
    "No BTF entry for this probe point": "NO_BTF_ENTRY",
    "$arg* must be an independent parameter without name etc.": "BAD_VAR_ARGS",
    "$arg* can be used only on function entry or exit": "NOFENTRY_ARGS",
    "$arg* can be used only once in the parameters": "DOUBLE_ARGS",
    "$arg* failed because the argument list is too long": "ARGS_2LONG",
    "$argN index is too big": "ARGIDX_2BIG",
    "This is not a pointer to union/structure.": "NO_PTR_STRCT",
    "Non pointer structure/union argument is not supported.": "NOSUP_DAT_ARG",
    "Failed to parse single hyphen. Forgot '>'?": "BAD_HYPHEN",
    "This field is not found.": "NO_BTF_FIELD",
    "Failed to get BTF type info.": "BAD_BTF_TID",
    "This type does not fit for string.": "BAD_TYPE4STR",
    "$comm and immediate-string only accepts string type": "NEED_STRING_TYPE",
    "Too many arguments are specified": "TOO_MANY_ARGS",
    "Too many entry arguments specified": "TOO_MANY_EARGS",
    "Typecasts are only for eprobe fields": "TYPECAST_NOT_EVENT",
    "File offset is not available for kernel probes": "FILE_ON_KPROBE",
    "Per-cpu variable access is only for kernel probes": "NOSUP_PERCPU",
    "This event field is not found.": "NO_EVENT_FIELD",
    "Too many nested typecasts/dereferences": "TOO_MANY_NESTED",
    "Typecast field option does not support -> operator": "TYPECAST_BAD_ARROW",
    "Typecast field option is not byte-aligned": "TYPECAST_NOT_ALIGNED",
    "Typecast requires a field access": "TYPECAST_REQ_FIELD",
    "@SYM+/-OFFSET with typecast needs parentheses": "TYPECAST_SYM_OFFSET",
}
"""kernel/trace/trace_probe.h `ERRORS`; log prefixes trace_kprobe, trace_uprobe, trace_fprobe, event_probe."""

EVENT_FILTER: dict[str, str] = {
    "Invalid operator": "INVALID_OP",
    "Too many '('": "TOO_MANY_OPEN",
    "Too few '('": "TOO_MANY_CLOSE",
    "Missing matching quote": "MISSING_QUOTE",
    "Operand too long": "OPERAND_TOO_LONG",
    "Expecting string field": "EXPECT_STRING",
    "Expecting numeric field": "EXPECT_DIGIT",
    "Illegal operation for field type": "ILLEGAL_FIELD_OP",
    "Field not found": "FIELD_NOT_FOUND",
    "Illegal integer value": "ILLEGAL_INTVAL",
    "Couldn't find or set field in one of a subsystem's events": "BAD_SUBSYS_FILTER",
    "Too many terms in predicate expression": "TOO_MANY_PREDS",
    "Meaningless filter expression": "INVALID_FILTER",
    "Only 'ip' field is supported for function trace": "IP_FIELD_ONLY",
    "Invalid value (did you forget quotes)?": "INVALID_VALUE",
    "Error": "ERRNO",
    "No filter found": "NO_FILTER",
    "Missing '{'": "MISSING_BRACE_OPEN",
    "Missing '}'": "MISSING_BRACE_CLOSE",
    "Invalid cpulist": "INVALID_CPULIST",
    "Function not found": "NO_FUNCTION",
}
"""kernel/trace/trace_events_filter.c `ERRORS`; log prefix `event filter parse error`."""

HIST: dict[str, str] = {
    "Variable already defined": "DUPLICATE_VAR",
    "Variable name not unique, need to use fully qualified name (subsys.event.var) for variable": "VAR_NOT_UNIQUE",
    "Too many variables defined": "TOO_MANY_VARS",
    "Malformed assignment": "MALFORMED_ASSIGNMENT",
    "Named hist trigger doesn't match existing named trigger (includes variables)": "NAMED_MISMATCH",
    "Hist trigger already exists": "TRIGGER_EEXIST",
    "Can't clear or continue a nonexistent hist trigger": "TRIGGER_ENOENT_CLEAR",
    "Couldn't set trace_clock": "SET_CLOCK_FAIL",
    "Invalid field modifier": "BAD_FIELD_MODIFIER",
    "Too many subexpressions (3 max)": "TOO_MANY_SUBEXPR",
    "Timestamp units in expression don't match": "TIMESTAMP_MISMATCH",
    "Too many field variables defined": "TOO_MANY_FIELD_VARS",
    "Event file not found": "EVENT_FILE_NOT_FOUND",
    "Matching event histogram not found": "HIST_NOT_FOUND",
    "Couldn't create histogram for field": "HIST_CREATE_FAIL",
    "Couldn't find synthetic variable": "SYNTH_VAR_NOT_FOUND",
    "Couldn't find synthetic event": "SYNTH_EVENT_NOT_FOUND",
    "Param type doesn't match synthetic event field type": "SYNTH_TYPE_MISMATCH",
    "Param count doesn't match synthetic event field count": "SYNTH_COUNT_MISMATCH",
    "Couldn't parse field variable": "FIELD_VAR_PARSE_FAIL",
    "Couldn't create or find variable": "VAR_CREATE_FIND_FAIL",
    "For onmax(x) or onchange(x), x must be a variable": "ONX_NOT_VAR",
    "Couldn't find onmax or onchange variable": "ONX_VAR_NOT_FOUND",
    "Couldn't create onmax or onchange variable": "ONX_VAR_CREATE_FAIL",
    "Couldn't create field variable": "FIELD_VAR_CREATE_FAIL",
    "Too many action params": "TOO_MANY_PARAMS",
    "Couldn't find param": "PARAM_NOT_FOUND",
    "Invalid action param": "INVALID_PARAM",
    "No action found": "ACTION_NOT_FOUND",
    "No params found for save()": "NO_SAVE_PARAMS",
    "Can't have more than one save() action per hist": "TOO_MANY_SAVE_ACTIONS",
    "Handler doesn't support action": "ACTION_MISMATCH",
    "No closing paren found": "NO_CLOSING_PAREN",
    "Missing subsystem": "SUBSYS_NOT_FOUND",
    "Invalid subsystem or event name": "INVALID_SUBSYS_EVENT",
    "Using variable references in keys not supported": "INVALID_REF_KEY",
    "Couldn't find variable": "VAR_NOT_FOUND",
    "Couldn't find field": "FIELD_NOT_FOUND",
    "Empty assignment": "EMPTY_ASSIGNMENT",
    "Invalid sort modifier": "INVALID_SORT_MODIFIER",
    "Empty sort field": "EMPTY_SORT_FIELD",
    "Too many sort fields (Max = 2)": "TOO_MANY_SORT_FIELDS",
    "Sort field must be a key or a val": "INVALID_SORT_FIELD",
    "String type can not be an operand in expression": "INVALID_STR_OPERAND",
    "Expecting numeric literal": "EXPECT_NUMBER",
    "Unary minus not supported in sub-expressions": "UNARY_MINUS_SUBEXPR",
    "Division by zero": "DIVISION_BY_ZERO",
    "Non-hitcount value is required for 'nohitcount'": "NEED_NOHC_VAL",
}
"""kernel/trace/trace_events_hist.c `ERRORS`; log prefix `hist:SYSTEM:EVENT`."""


SYNTH: dict[str, str] = {
    "Illegal name": "BAD_NAME",
    "Command must be of the form: <name> field[;field] ...": "INVALID_CMD",
    "Command must be of the form: s or -:[synthetic/]<name> field[;field] ...": "INVALID_DYN_CMD",
    "Event already exists": "EVENT_EXISTS",
    "Too many fields": "TOO_MANY_FIELDS",
    "Incomplete type": "INCOMPLETE_TYPE",
    "Invalid type": "INVALID_TYPE",
    "Invalid field": "INVALID_FIELD",
    "Invalid array specification": "INVALID_ARRAY_SPEC",
}
"""kernel/trace/trace_events_synth.c `ERRORS`; log prefix `synthetic_events`."""

UNKNOWN = "kernel_error"
"""The code of a message that none of the tables has."""

NO_TYPE = "no_event_type"
"""`No matching dynamic event type` (Linux 6.19 and newer); the kernel has no symbolic name for it."""


def code_of(location: str, message: str) -> str:
    """Symbolic name of a message of error_log; `UNKNOWN` where this table is older than the kernel.

    Args:
        location: what stands before `: error:` (`trace_fprobe`, `hist:sched:sched_switch`).
        message: what stands behind it.
    """
    if location.startswith("hist:"):
        table = HIST
    elif "filter" in location:
        table = EVENT_FILTER
    elif location == "synthetic_events":
        table = SYNTH
    elif location == "dynevent":
        return NO_TYPE
    else:
        table = TRACE_PROBE
    # Linux 6.13 to 7.0 spell "valiable"; nothing else differs in spelling only.
    text = re.sub(r"\bvaliable\b", "variable", message.strip())
    return table.get(text, UNKNOWN)
