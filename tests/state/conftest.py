"""The laws hold for a transcript in one piece and for one that is the last of a long line of forks."""

from collections.abc import Iterator

import pytest

from tests.state import chains


@pytest.fixture(scope="module", params=[False, True], ids=["whole", "chained"])
def lineage(request: pytest.FixtureRequest) -> Iterator[None]:
    """Play histories in one transcript, or handed on from fork to fork, each in a segment of its own."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param:
            patch.setattr("quire.state.log._SMALL", 2)
            patch.setattr(chains, "handed_on", chains.handed_on_with_a_stray_parent)
        yield
