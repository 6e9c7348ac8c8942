"""`make docs`: write the pages that are generated from the application's own tables into `docs/`."""

from __future__ import annotations

from pathlib import Path

from tui.docs.pages import PAGES

FOLDER = Path(__file__).parents[2] / "docs"

if __name__ == "__main__":
    for name, made in PAGES.items():
        (FOLDER / name).write_text(made(), encoding="utf-8")
        print(f"docs/{name}")
