"""The rule for letters, on a clock of its own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui.app.typed_ahead import PAUSE, KeyRoute, TypedAhead, may_follow

SOON, LATER = PAUSE / 4, PAUSE * 2


class Typist:
    """Presses keys at times that a test chooses."""

    def __init__(self) -> None:
        self.now = 100.0
        self.rule = TypedAhead(lambda: self.now)

    def press(self, key: str, after: float = SOON, *, in_text: bool = False, careful: str = "cdD") -> KeyRoute:
        self.now += after
        character = key if len(key) == 1 else {"enter": "\r"}.get(key)
        return self.rule.route(self.rule.stroke(key, character), in_text=in_text, careful=key in careful)

    def fates(self, keys: str, **how: bool) -> list[KeyRoute]:
        return [self.press(key, **how) for key in keys]


def test_one_letter_is_a_command_and_letters_in_a_text_line_are_text():
    typist = Typist()
    assert typist.press("c", LATER) is KeyRoute.GIVE
    assert typist.fates("dodcd", in_text=True) == [KeyRoute.GIVE] * 5


def test_a_careful_command_does_not_count_within_a_word_nor_does_what_follows():
    typist = Typist()
    assert typist.fates("x3") == [KeyRoute.GIVE] * 2
    assert typist.fates("cx3") == [KeyRoute.DROP] * 3
    assert typist.press("enter") is KeyRoute.DROP
    assert typist.press("x", LATER) is KeyRoute.GIVE
    assert typist.press("enter") is KeyRoute.GIVE
    assert typist.press("c") is KeyRoute.GIVE


def test_a_key_that_is_no_letter_ends_a_word():
    typist = Typist()
    assert typist.fates("ec") == [KeyRoute.GIVE, KeyRoute.DROP]
    assert typist.press("home") is KeyRoute.GIVE
    assert typist.press("d") is KeyRoute.GIVE


def test_letters_wait_for_what_is_under_way_and_for_a_pause_after_it():
    typist = Typist()
    typist.rule.begins("arming")
    assert typist.fates("do") == [KeyRoute.HOLD] * 2
    assert typist.press("v", LATER) is KeyRoute.HOLD
    assert typist.press("v", in_text=True) is KeyRoute.GIVE
    assert typist.press("f3") is KeyRoute.GIVE
    typist.rule.ends("arming")
    assert typist.fates("sys") == [KeyRoute.HOLD] * 3
    assert typist.press("c", LATER) is KeyRoute.GIVE


def test_a_screen_that_escape_leads_back_to_is_known():
    typist = Typist()
    typist.press("escape", LATER)
    typist.rule.place_changed()
    assert typist.press("f") is KeyRoute.GIVE
    typist.press("escape", LATER)
    typist.rule.place_changed()
    typist.rule.place_changed()  # a question came by itself
    assert typist.press("y") is KeyRoute.HOLD
    typist.rule.begins("arming")
    typist.press("escape", LATER)
    typist.rule.ends("arming")
    assert typist.press("x") is KeyRoute.HOLD


def test_enter_answers_nothing_that_came_by_a_letter_just_now():
    typist = Typist()
    assert typist.press("o", LATER) is KeyRoute.GIVE
    typist.rule.place_changed()
    assert typist.press("s") is KeyRoute.HOLD
    assert typist.press("enter") is KeyRoute.DROP
    assert typist.press("enter", LATER) is KeyRoute.GIVE


def test_text_behind_a_function_key_is_whole_with_its_enter():
    typist = Typist()
    assert typist.press("f2", LATER) is KeyRoute.GIVE
    typist.rule.place_changed()
    assert typist.fates("vfs_read", in_text=True) == [KeyRoute.GIVE] * 8
    assert typist.press("enter", in_text=True) is KeyRoute.GIVE


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*"cdDwxe3 _:", "f2", "enter", "escape", "change", "begin", "end"]),
            st.sampled_from([0.0, SOON, LATER]),
            st.booleans(),
        )
    )
)
def test_whatever_is_pressed_no_letter_is_a_command_too_soon(presses):
    typist = Typist()
    changed, last, pending, word, escaped = None, None, False, False, False
    for key, after, in_text in presses:
        typist.now += after
        if key == "change":
            typist.rule.place_changed()
            changed = changed if escaped and not pending else typist.now  # Escape leads to a screen that is known
            escaped = False
        elif key in ("begin", "end"):
            getattr(typist.rule, f"{key}s")("x")
            changed = typist.now if pending and key == "end" else changed
            pending = key == "begin"
        else:
            fate = typist.press(key, 0, in_text=in_text)
            escaped = key == "escape"
            if len(key) == 1 and fate is KeyRoute.GIVE and not in_text:
                assert not pending
                assert changed is None or typist.now - changed >= PAUSE
                assert not (key in "cdD" and last is not None and typist.now - last < PAUSE and word)
            if len(key) == 1 and in_text:
                assert fate is KeyRoute.GIVE
            if len(key) == 1:
                last, word = typist.now, key.isalnum() or key == "_"
            elif key != "enter":
                last = changed = None
            elif fate is KeyRoute.GIVE:
                last = None


def test_letters_typed_ahead_are_commands_where_none_of_their_word_destroys_and_one_alone_may_ask():
    typist = Typist()
    names = {"s": "view", "x": "view", "slash": "search", "c": "clear", "o": "export", "D": "disarm_all"}

    def may(keys: str, *, asked: bool = True) -> bool:
        strokes = [typist.rule.stroke({"/": "slash"}.get(key, key), key) for key in keys]
        return may_follow(strokes, lambda key: names.get(key, "why_not" if key == "w" else ""), asked=asked)

    assert all(may(keys) for keys in ("s", "sx", "/vfs", "o", "w"))
    assert not any(may(keys) for keys in ("c", "D", "sc", "so", "ow", "sw", "s_", "v", "\r"))
    assert not may("s", asked=False)
