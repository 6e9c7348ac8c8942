"""The words of the command line."""

import pytest

from tui.cli.parser import COMMANDS, parse


@pytest.mark.parametrize("argv", [["list"], ["-t", "lab", "list"], ["--target=lab", "list"], ["list", "-t", "lab"]])
def test_a_command_is_found_wherever_the_target_stands(argv):
    arguments = parse(argv)
    assert arguments.command == "list"
    assert arguments.target == ("auto" if argv == ["list"] else "lab")


@pytest.mark.parametrize("argv", [[], ["--target", "lab"], ["-t", "list"], ["x.pwr"], ["-t", "lab", "x.pwr"]])
def test_without_a_command_the_application_starts(argv):
    assert parse(argv).command == "app"


def test_a_target_may_be_called_as_a_command_is():
    assert parse(["--target", "lab"]).target == "lab"
    assert parse(["-t", "lab", "lab", "--kernel", "6.12"]).kernel == "6.12"


@pytest.mark.parametrize(
    "argv", [["run"], ["show"], ["record", "f vfs_read"], ["list", "--limit", "-1"], ["--nonsense"]]
)
def test_what_is_wrong_ends_with_status_2(argv, capsys):
    with pytest.raises(SystemExit) as end:
        parse(argv)
    assert end.value.code == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as end:
        parse([command, "--help"])
    assert end.value.code == 0
    assert "exit status: 0 done, 1 refused" in capsys.readouterr().out
