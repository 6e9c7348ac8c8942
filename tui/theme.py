"""Colour theme for terminals with 16 colours: only colours that every terminal draws clearly apart."""

from __future__ import annotations

from textual.theme import Theme

_BLACK, _BLUE, _CYAN, _GREY, _WHITE = "#000000", "#0000aa", "#00aaaa", "#aaaaaa", "#ffffff"
_RED, _GREEN, _YELLOW, _SKY = "#ff5555", "#55ff55", "#ffff55", "#55ffff"

SIXTEEN = Theme(
    name="sixteen",
    primary=_CYAN,
    secondary=_SKY,
    warning=_YELLOW,
    error=_RED,
    success=_GREEN,
    accent=_YELLOW,
    foreground=_WHITE,
    background=_BLACK,
    surface=_BLACK,
    panel=_BLUE,
    variables={
        "text": _WHITE,
        "text-muted": _GREY,
        "text-primary": _SKY,
        "text-accent": _YELLOW,
        "text-success": _GREEN,
        "text-warning": _YELLOW,
        "text-secondary": _SKY,
        "text-error": _RED,
        "block-cursor-foreground": _BLACK,
        "block-cursor-background": _CYAN,
        "block-cursor-blurred-foreground": _WHITE,
        "block-cursor-blurred-background": _BLUE,
        "scrollbar": _GREY,
        "scrollbar-hover": _WHITE,
        "scrollbar-active": _WHITE,
        "scrollbar-background": _BLACK,
        "scrollbar-background-hover": _BLACK,
        "scrollbar-background-active": _BLACK,
        "scrollbar-corner-color": _BLACK,
    },
)
