"""What holds for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_presets_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nor other configuration of who runs the tests; commands and applications that they start have none either."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield
