"""The laws hold for a transcript that is the last of a long line of forks, each with a segment of its own."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def short_segments() -> Iterator[None]:
    """Let forks share their parent's segments, however short these are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("quire.state.log._SMALL", 2)
        yield
