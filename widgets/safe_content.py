"""Foreign text for widgets that take `Content`; apart from `widgets.safe_text`, as that needs no screen."""

from __future__ import annotations

from textual.content import Content

from widgets.safe_text import safe


def safe_content(raw: bytes | str, style: str = "") -> Content:
    """Return foreign text for a widget that takes `Content`; markup in it is not interpreted."""
    return Content.styled(safe(raw), style)
