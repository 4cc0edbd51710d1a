"""Versions that came after the table are taken for the newest of their line that came before them."""

import pytest

from quire.providers import check
from quire.providers.anthropic.abilities import abilities_of

NEWER = {
    "claude-opus-4-9": "claude-opus-4-8",
    "us.anthropic.claude-opus-4-9-v1:0": "us.anthropic.claude-opus-4-8-v1:0",
    "claude-opus-5-9": "claude-opus-5-5",
    "claude-opus-5-1": "claude-opus-5",
    "claude-sonnet-4-9": "claude-sonnet-4-6",
    "claude-sonnet-4-5-20250929": "claude-sonnet-4",
    "claude-opus-4-20250514": "claude-opus-4",
}


@pytest.mark.parametrize("model", NEWER)
def test_a_newer_version_is_as_able_as_the_one_before(model: str) -> None:
    assert abilities_of(model) == abilities_of(NEWER[model])


def test_the_check_knows_it_too() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    history = [{"role": "user", "content": [image] * 101}]
    assert check(history, "anthropic", model="claude-opus-4-9") == []
    assert [fault.rule for fault in check(history, "anthropic", model="claude-opus-4-1")] == ["image_count"]
