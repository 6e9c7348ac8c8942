"""`probewright doctor` of a recording, and how sizes of files are said."""

import pytest

from foreign.count_text import size_text
from kernel.connection.open_target import shipped_recording
from tui.__main__ import main


def test_nothing_is_to_be_mended_on_a_machine_that_is_not_there(capsys):
    assert main(["doctor", "--target", str(shipped_recording())]) == 3
    told = capsys.readouterr().out
    assert "- whether the kernel is locked down cannot be seen\n" in told
    assert "mount -t" not in told and "apt-get" not in told


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (12_345, "12.3 kB"),
        (999_940, "999.9 kB"),
        (999_960, "1.0 MB"),
        (45_600_000, "45.6 MB"),
    ],
)
def test_a_small_file_is_not_said_to_be_empty(number, text):
    assert size_text(number) == text
