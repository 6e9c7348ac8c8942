"""Map errors to slips with a unique remedy each: the same text with a single change."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from probes.corrections import argument, condition, place
from probes.corrections.slip import Slip

_BY_CODE: Final[Mapping[str, Callable[[Slip], Iterator[str]]]] = {
    "NO_MATCHING_TYPE": place.no_kind,
    "refused_without_message": lambda slip: itertools.chain(condition.missing_if(slip), place.no_kind(slip)),
    "unknown_kind": place.no_kind,
    "BAD_MAXACT": place.no_kind,
    "BAD_PROBE_ADDR": place.no_place,
    "FAIL_REG_PROBE": place.no_place,
    "unknown_function": place.no_place,
    "NO_BTF_ENTRY": place.no_place,
    "RETVAL_ON_PROBE": place.at_exit,
    "BAD_ADDR_SUFFIX": place.bad_suffix,
    "bad_retinsn": place.bad_instructions,
    "BAD_TP_NAME": place.tracepoint,
    "NO_EVENT_NAME": place.no_name,
    "NO_GROUP_NAME": place.no_name,
    "BAD_EVENT_NAME": place.bad_name,
    "BAD_GROUP_NAME": place.bad_name,
    "NO_PTR_STRCT": argument.step,
    "BAD_BTF_TID": argument.step,
    "NOSUP_DAT_ARG": lambda slip: itertools.chain(argument.from_bpftrace(slip), argument.step(slip)),
    "BAD_HYPHEN": argument.step,
    "BAD_STRING": argument.memory,
    "BAD_FETCH_ARG": lambda slip: itertools.chain(
        condition.filter_in_slashes(slip),
        condition.missing_if(slip),
        argument.cast(slip),
        argument.unknown_beginning(slip),
    ),
    "BAD_ARG_NUM": argument.from_bpftrace,
    "BAD_VAR": argument.star,
    "BAD_TYPE": argument.from_c_type,
    "DEREF_NEED_BRACE": lambda slip: itertools.chain(argument.joined_path(slip), argument.brackets(slip)),
    "DEREF_OPEN_BRACE": argument.brackets,
    "BAD_DEREF_OFFS": argument.brackets,
    "BAD_IMM": argument.text,
    "IMMSTR_NO_CLOSE": argument.text,
    "NEED_STRING_TYPE": argument.without_type,
    "BAD_ARG_NAME": lambda slip: itertools.chain(condition.missing_if(slip), argument.without_name(slip)),
    "NO_ARG_NAME": lambda slip: itertools.chain(condition.missing_if(slip), argument.without_name(slip)),
    "USED_ARG_NAME": argument.numbered_name,
    "DOUBLE_ARGS": argument.without,
    "NO_ARG_BODY": argument.no_body,
    "ARRAY_NO_CLOSE": argument.array,
    "BAD_ARRAY_SUFFIX": argument.array,
    "ARRAY_TOO_BIG": argument.array,
    "TYPECAST_NOT_EVENT": lambda slip: itertools.chain(argument.from_bpftrace(slip), argument.cast(slip)),
    "NO_BTFARG": lambda slip: itertools.chain(argument.from_bpftrace(slip), argument.not_an_argument(slip)),
    "NO_BTF_FIELD": argument.comma,
    "EXPECT_STRING": condition.quotes,
    "INVALID_VALUE": lambda slip: itertools.chain(condition.error(slip), condition.quotes(slip)),
    "number_too_wide": condition.wider,
    "ILLEGAL_INTVAL": lambda slip: itertools.chain(condition.number(slip), condition.signed(slip)),
    "INVALID_OP": condition.operator,
    "TOO_MANY_PREDS": condition.operator,
    "INVALID_FILTER": condition.operator,
    "TOO_MANY_OPEN": condition.closing_bracket,
    "TOO_MANY_CLOSE": condition.opening_bracket,
    "MISSING_QUOTE": condition.quote,
    "no_filter": condition.no_condition,
    "NO_EP_FILTER": condition.no_condition,
}
"""Corrections by the error's code."""


def takes_more(slip: Slip) -> bool:
    """Return whether more than the wrong word is wrong, so that no other name for it is enough."""
    return slip.error.code == "BAD_TYPE" and " " in argument.c_type(slip)


def ways_out(slip: Slip) -> Iterator[str]:
    """Yield texts with a single change, the likeliest first; they may be refused as well."""
    find = _BY_CODE.get(slip.error.code)
    if find is not None:
        yield from find(slip)
