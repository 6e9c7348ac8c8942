"""The words of the command line."""

import pytest

from tui.cli.args.fast_path import COMMANDS, parse_simple
from tui.cli.args.parser import parse


@pytest.mark.parametrize("argv", [["list"], ["-t", "lab", "list"], ["--target=lab", "list"], ["list", "-t", "lab"]])
def test_a_command_is_found_wherever_the_target_stands(argv):
    arguments = parse(argv)
    assert arguments.command == "list"
    assert arguments.target == ("auto" if argv == ["list"] else "lab")


@pytest.mark.parametrize("argv", [[], ["--target", "lab"], ["-t", "list"], ["x.pwr"]])
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


@pytest.mark.parametrize(
    "argv", [["--{}"], ["run", "x", "--limit", "{}"], ["check", "x", "--via", "{}"], ["{}", "--no"]]
)
def test_what_is_wrong_is_safe_for_a_terminal(argv, capsys):
    with pytest.raises(SystemExit) as end:
        parse([word.format("x\x1b]0;pwn\a\x9b31m\u202e\n\udc9by") for word in argv])
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert said.replace("\n", "").isprintable()
    assert all(word not in said.splitlines()[-1] for word in ("\x1b", "\a")) and said.count("error:") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as end:
        parse([command, "--help"])
    assert end.value.code == 0
    assert "exit status: 0 done, 1 refused" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--for", "nan"], "'nan' is not a time to wait"),
        (["--for", "inf"], "'inf' is not a time"),
        (["--for", "-1"], "'-1' is not a time"),
        (["--for", "0"], "'0' is not a time"),
        (["--for", "500ms"], "say seconds"),
        (["--count", "0"], "0 events are none"),
        (["--count", "-2"], "'-2' is not a number"),
        (["--count", "²"], "is not a number"),
    ],
)
@pytest.mark.parametrize("command", [["run", "f vfs_read"], ["record", "f vfs_read", "-o", "x.pwr"]])
def test_bounds_that_are_none_are_told_in_a_sentence(command, words, said, capsys):
    with pytest.raises(SystemExit) as end:
        parse([*command, *words])
    assert end.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", [["run"], ["check"], ["record", "-o", "x.pwr"]])
def test_an_empty_specification_is_none(command, capsys):
    with pytest.raises(SystemExit) as end:
        parse([*command, " "])
    assert end.value.code == 2
    assert "an empty specification" in capsys.readouterr().err


def test_bounds():
    arguments = parse(["run", "f vfs_read", "--for", "0.5s", "--count", "3"])
    assert (arguments.seconds, arguments.count) == (0.5, 3)
    assert parse(["list", "--limit", "0"]).limit == 0


def test_what_is_said_of_a_machine_is_said_of_this_one():
    assert parse(["doctor"]).target == parse(["clean"]).target == "local"
    assert parse(["-t", "auto", "doctor"]).target == parse(["clean", "-t", "auto"]).target == "auto"
    assert parse(["list"]).target == parse([]).target == "auto"


def test_the_lab_takes_no_other_target(capsys):
    with pytest.raises(SystemExit):
        parse(["lab", "--target", "ssh://x"])
    with pytest.raises(SystemExit):
        parse(["show", ""])
    assert "say a function or a type" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["FILE.pwr"], ["lab:6.12"], ["ssh://host"], ["local"], [""]])
def test_a_lone_target_is_read_as_the_parser_reads_it(words: list[str]) -> None:
    short = parse_simple(words)
    assert short is not None
    whole = vars(parse(words))
    assert vars(short).items() <= whole.items()
    assert not any(value for name, value in whole.items() if name not in vars(short))


@pytest.mark.parametrize("words", [["lab"], ["run", "f vfs_read"], ["--version"], ["-t", "lab"], ["a", "b"]])
def test_all_other_words_are_left_to_the_parser(words: list[str]) -> None:
    assert parse_simple(words) is None
