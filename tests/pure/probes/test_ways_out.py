"""Each error that a kernel has a name for is said in plain words, with a way out."""

import pytest

from probes.facts.errors_table import FILTER_MESSAGES, HIST_MESSAGES, MESSAGES, NO_MATCH, SYNTH_MESSAGES
from probes.rules.messages.error_remedies import WAYS_OUT

OURS = {NO_MATCH, "unknown_filter_field"}
KERNELS = {**HIST_MESSAGES, **SYNTH_MESSAGES, **FILTER_MESSAGES, **MESSAGES}


@pytest.mark.parametrize("code", sorted(KERNELS))
def test_an_error_has_its_way_out(code):
    assert WAYS_OUT[code]
    assert WAYS_OUT[code].rstrip(".").lower() != KERNELS[code].rstrip(".").lower()


def test_nothing_is_said_of_errors_that_there_are_not():
    assert set(WAYS_OUT) == {*KERNELS, *OURS}
