"""Format switches and interrupts between the calls as the kernel prints them.

Their `print fmt` is a C expression, which is not evaluated here: these few are implemented by hand, following
include/trace/events/{sched,irq}.h.
"""

from __future__ import annotations

import re
from functools import lru_cache

from events.decode import Value
from events.names.kallsyms import Symbols
from events.names.kernel_text import kernel_text
from events.record import Record
from events.text import show

SOFTIRQS = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU")
"""Softirq names as in /proc/softirqs, in the order of the enum in include/linux/interrupt.h."""
_FLAGS = re.compile(r'\{ *(0x[0-9a-fA-F]{1,16}|\d{1,20})[uUlL]* *, *"([^"]{0,100})" *\}')


def comment(record: Record, symbols: Symbols | None = None) -> str:
    """Return the text of an event between `/*` and `*/`."""
    values, name = {key: show(value) for key, value in record.values.items()}, record.event.rpartition("/")[2]
    match record.event:
        case "sched/sched_switch":
            text = _switch(record)
        case "irq/irq_handler_entry":
            text = f"irq={values['irq']} name={values['name']}"
        case "irq/irq_handler_exit":
            text = f"irq={values['irq']} ret={'unhandled' if values['ret'] == '0' else 'handled'}"
        case "irq/softirq_entry" | "irq/softirq_exit" | "irq/softirq_raise":
            text = f"vec={values['vec']} [action={_softirq(record.values['vec'])}]"
        case _:
            return kernel_text(record, symbols)
    return f"{name}: {text}"


def _switch(record: Record) -> str:
    """Return the text of TRACE_EVENT(sched_switch); the format defines the letters of the states."""
    state, values = record.values["prev_state"], {key: show(value) for key, value in record.values.items()}
    letters, preempted_bit = _states(record.format.print_fmt if record.format else "")
    state_letters = [letter for bit, letter in letters if isinstance(state, int) and state & bit]
    plus = "+" if isinstance(state, int) and state & preempted_bit else ""
    return (
        f"prev_comm={values['prev_comm']} prev_pid={values['prev_pid']} prev_prio={values['prev_prio']} "
        f"prev_state={'|'.join(state_letters) or 'R'}{plus} ==> "
        f"next_comm={values['next_comm']} next_pid={values['next_pid']} next_prio={values['next_prio']}"
    )


@lru_cache(maxsize=16)
def _states(print_fmt: str) -> tuple[tuple[tuple[int, str], ...], int]:
    """Return the state letters by bit, and the bit of a preempted task (TASK_REPORT_MAX), one above them."""
    letters = tuple((int(bit, 16 if "x" in bit else 10), letter) for bit, letter in _FLAGS.findall(print_fmt))
    return letters, max((bit for bit, _ in letters), default=0) << 1


def _softirq(vector: Value) -> str:
    return SOFTIRQS[vector] if isinstance(vector, int) and 0 <= vector < len(SOFTIRQS) else show(vector)
