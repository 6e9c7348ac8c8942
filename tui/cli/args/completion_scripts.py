"""Completion scripts for bash, zsh and fish, generated from the grammar of the command line.

All three scripts do the same: find the command of the line, skipping words that are values of options; then offer the
values of the last option, else options or words of that command. The names of presets, of functions and of events are
read from probewright at completion time, everything else is written into the script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from tui.cli.args.grammar import FILES, KNOWN, PRESETS, CommandWord, Option

_MARKERS: Final = (FILES, PRESETS, *KNOWN)
_LIST_KNOWN: Final = "command probewright completion names"
_LIST_PRESETS = "command probewright preset list 2>/dev/null | cut -d' ' -f1"


def bash(commands: Sequence[CommandWord]) -> str:
    """Return the script for bash 4 and newer; words with a colon are split where bash splits them."""
    return f"""# Completion of probewright for bash. In ~/.bashrc:  source <(probewright completion bash)
{_walk(commands)}
_probewright_offer() {{  # what: words, files, presets, functions, places, specs
    local -a found=()
    case $1 in
        {FILES}) mapfile -t found < <(compgen -f -- "$cur"); compopt -o filenames 2>/dev/null ;;
        {PRESETS}) mapfile -t found < <(compgen -W "$({_LIST_PRESETS})" -- "$cur") ;;
        {"|".join(KNOWN)}) mapfile -t found < <({_LIST_KNOWN} "$1" "$typed" 2>/dev/null) ;;
        *) mapfile -t found < <(compgen -W "$1" -- "$cur") ;;
    esac
    COMPREPLY+=("${{found[@]}}")
}}

_probewright() {{
    local IFS=$' \\t\\n' word glued='' cur typed prev at='' option=''
    local -a words=()
    COMPREPLY=()
    # bash cuts words at : and =, where they are in COMP_WORDBREAKS.
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD}}"; do
        if [[ ${{#words[@]}} -gt 0 && ( $word == [:=]* || $glued ) ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        [[ $word == *[:=] ]] && glued=1 || glued=''
    done
    cur=${{words[-1]-}}
    for word in "${{!words[@]}}"; do  # behind -- is another command
        if [[ ${{words[word]}} == -- && $word -lt $((${{#words[@]}} - 1)) ]]; then
            compopt -o filenames 2>/dev/null
            [[ $word -eq $((${{#words[@]}} - 2)) ]] && mapfile -t COMPREPLY < <(compgen -c -- "$cur") && return
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            return
        fi
    done
    [[ $cur == --*=* ]] && prev=${{cur%%=*}} cur=${{cur#*=}} || prev=''
    typed=${{cur#[\\"\\']}}  # behind an open quote
    for word in "${{words[@]:0:${{#words[@]}}-1}}"; do
        if [[ $option ]]; then option=''; continue; fi
        _probewright_takes "$at" "$word" && option=$word && continue
        _probewright_next "$at" "$word" && at=${{at:+$at }}$word
    done
    prev=${{prev:-$option}}
    if [[ $prev ]]; then
        case "$at:$prev" in
{_cases(commands, lambda one: _of_options(one, _offers))}
        esac
    elif [[ $cur == -* ]]; then
        case $at in
{_of_commands(commands, lambda one: [_offer(" ".join(_names(one)))])}
        esac
    else
        case $at in
{_of_commands(commands, lambda one: list(_offers_words(one)))}
        esac
    fi
    if [[ $cur == "$typed" && $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
        COMPREPLY=("${{COMPREPLY[@]#"${{cur%"${{cur##*:}}"}}"}}")
    fi
}}
complete -F _probewright probewright
"""


def zsh(commands: Sequence[CommandWord]) -> str:
    """Return the script for zsh; the help text of each option is shown beside the option."""
    return f"""#compdef probewright
# Completion of probewright for zsh: as a file _probewright in a folder of $fpath, or in ~/.zshrc, behind compinit:
#     source <(probewright completion zsh)
{_walk(commands)}
_probewright_offer() {{  # what: files, presets, functions, places, specs, words
    case $1 in
        {FILES}) _files ;;
        {PRESETS}) compadd -- $(_probewright_presets) ;;
        {"|".join(KNOWN)}) compadd -- ${{(f)"$({_LIST_KNOWN} $1 "${{(Q)PREFIX}}" 2>/dev/null)"}} ;;
        *) compadd -- ${{=1}} ;;
    esac
}}

_probewright_presets() {{
    {_LIST_PRESETS}
}}

_probewright() {{
    local at= option= word dash=${{words[(i)--]}}
    if (( dash < CURRENT )); then  # behind -- is another command
        words=("${{(@)words[dash+1,-1]}}")
        (( CURRENT -= dash ))
        _normal
        return
    fi
    for word in "${{(@)words[2,CURRENT-1]}}"; do
        if [[ -n $option ]]; then option=; continue; fi
        _probewright_takes "$at" "$word" && option=$word && continue
        _probewright_next "$at" "$word" && at=${{at:+$at }}$word
    done
    if [[ -z $option && $PREFIX == --*=* ]]; then
        option=${{PREFIX%%=*}}
        compset -P '*='
    fi
    if [[ -n $option ]]; then
        case "$at:$option" in
{_cases(commands, lambda one: _of_options(one, _offers))}
        esac
    elif [[ $PREFIX == -* ]]; then
        local -a options
        case $at in
{_of_commands(commands, lambda one: [f"options=({' '.join(map(_quote, _described(one)))})"])}
        esac
        _describe option options
    else
        case $at in
{_of_commands(commands, lambda one: list(_offers_words(one)))}
        esac
    fi
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _probewright "$@"
else
    compdef _probewright probewright
fi
"""


def fish(commands: Sequence[CommandWord]) -> str:
    """Return the script for fish 3 and newer."""
    lines: list[str] = []
    for one in commands:
        here = f"-n 'test (__probewright_at) = {_fish_word(' '.join(one.path))}'"
        for option in one.options:
            names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
            takes = [*_fish_values(option.values)] if option.takes else []
            if option.takes:
                takes.insert(0, "-r" if FILES in option.values else "-x")
            lines.append(" ".join(["complete -c probewright", here, *names, *takes, f"-d {_quote(option.help)}"]))
        lines += [
            f"complete -c probewright {here} -a {name} -d {_quote(_help_of(commands, (*one.path, name)))}"
            for name in one.commands
        ]
        for word in one.words:
            lines += [f"complete -c probewright {here} {value}" for value in _fish_values(word.values)]
            if FILES in word.values:
                lines.append(f"complete -c probewright {here} -F")
    rules = "\n".join(lines)
    return f"""# Completion of probewright for fish, to be kept as ~/.config/fish/completions/probewright.fish
function __probewright_presets
    {_LIST_PRESETS}
end

function __probewright_known
    {_LIST_KNOWN} $argv[1] (commandline -ct | string trim -l -c "'\\"") 2>/dev/null
end

function __probewright_at
    set -l at
    set -l option
    set -l words (commandline -opc)
    for word in $words[2..-1]
        if test -n "$option"
            set option
            continue
        end
        switch "$at:$word"
{_fish_takes(commands)}
                set option $word
{_fish_next(commands)}
                set at (string trim -- "$at $word")
        end
    end
    echo "$at"
end

complete -c probewright -f
complete -c probewright -n 'contains -- -- (commandline -opc)' -F -a '(__fish_complete_command)'
{rules}
"""


SCRIPTS: Final[dict[str, Callable[[Sequence[CommandWord]], str]]] = {"bash": bash, "zsh": zsh, "fish": fish}
"""Functions that write a script, by the name of the shell."""


# -- what bash and zsh write alike ---------------------------------------------------------------------------------


def _walk(commands: Sequence[CommandWord]) -> str:
    """Return shell functions that tell whether an option takes the next word, and whether a word is a command."""
    takes = [f"{_quote(' '.join(one.path))}:{name}" for one in commands for name in _taking(one)]
    following = [f"{_quote(' '.join(one.path))}:{name}" for one in commands for name in one.commands]
    return f"""_probewright_takes() {{
    case "$1:$2" in
        {"|".join(takes)}) return 0 ;;
    esac
    return 1
}}

_probewright_next() {{
    case "$1:$2" in
        {"|".join(following)}) return 0 ;;
    esac
    return 1
}}
"""


def _cases(
    commands: Sequence[CommandWord], lines_of: Callable[[CommandWord], Iterable[tuple[str, list[str]]]]
) -> str:
    return "\n".join(
        f"            {pattern}) {'; '.join(lines)} ;;"
        for one in commands
        for pattern, lines in lines_of(one)
        if lines
    )


def _of_options(command: CommandWord, lines: Callable[[Option], Iterator[str]]) -> list[tuple[str, list[str]]]:
    path = _quote(" ".join(command.path))
    return [("|".join(f"{path}:{name}" for name in option.names), list(lines(option))) for option in command.options]


def _of_commands(commands: Sequence[CommandWord], lines: Callable[[CommandWord], list[str]]) -> str:
    return "\n".join(
        f"            {_quote(' '.join(command.path))}) {'; '.join(script_lines)} ;;"
        for command in commands
        if (script_lines := lines(command))
    )


def _offers(option: Option) -> Iterator[str]:
    words = [value for value in option.values if value not in _MARKERS]
    if words:
        yield _offer(" ".join(words))
    yield from (_offer(value) for value in option.values if value in _MARKERS)


def _offers_words(command: CommandWord) -> Iterator[str]:
    if command.commands:
        yield _offer(" ".join(command.commands))
    yield from dict.fromkeys(offer for word in command.words for offer in _offers(word))


def _offer(values: str) -> str:
    return f"_probewright_offer {_quote(values)}"


def _described(command: CommandWord) -> list[str]:
    """Return options as `_describe` of zsh reads them: `--json:one JSON object a line`."""
    return [
        f"{name}:{option.help.replace(':', chr(92) + ':')}" for option in command.options for name in option.names
    ]


def _names(command: CommandWord) -> list[str]:
    return [name for option in command.options for name in option.names]


def _taking(command: CommandWord) -> list[str]:
    return [name for option in command.options if option.takes for name in option.names]


def _quote(text: str) -> str:
    """Quote our own help text, which has no backslash: fish would interpret one inside quotes."""
    return "'" + text.replace("'", "'\\''") + "'"


# -- fish ----------------------------------------------------------------------------------------------------------


def _fish_word(text: str) -> str:
    return f'"{text}"'


def _fish_values(values: Iterable[str]) -> Iterator[str]:
    values = tuple(values)
    words = [value for value in values if value not in _MARKERS]
    yield from (f"-a '(__probewright_known {value})'" for value in values if value in KNOWN)
    if words:
        yield f"-a '{' '.join(words)}'"
    if PRESETS in values:
        yield "-a '(__probewright_presets)'"


def _fish_takes(commands: Sequence[CommandWord]) -> str:
    words = [f"'{' '.join(command.path)}:{name}'" for command in commands for name in _taking(command)]
    return f"            case {' '.join(words)}"


def _fish_next(commands: Sequence[CommandWord]) -> str:
    words = [f"'{' '.join(command.path)}:{name}'" for command in commands for name in command.commands]
    return f"            case {' '.join(words)}"


def _help_of(commands: Sequence[CommandWord], path: tuple[str, ...]) -> str:
    return next(command.help for command in commands if command.path == path)
