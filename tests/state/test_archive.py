"""A transcript that is opened from an outline, page by page, is the transcript that was read whole."""

from collections.abc import Iterator, Sequence

import msgspec
import pytest

from quire.items import Item, Mask, Message
from quire.state import Outline, Page, Transcript, archived, reopened
from quire.testing.plain import FourCharacters
from tests.counting import held_by


@pytest.fixture(scope="module", autouse=True)
def short_pages() -> Iterator[None]:
    """Let a page have four items."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("log", "transcript", "archive", "cut"):
            patch.setattr(f"quire.state.{module}.PAGE", 4)
        yield


class Kept:
    """Outlines and pages as bytes, and the items: what a store would keep."""

    def __init__(self) -> None:
        self.pages: dict[int, bytes] = {}
        self.all: list[Item] = []
        self.outline = b""
        self.start = self.read = 0

    def keep(self, transcript: Transcript, start: int = 0) -> None:
        before = msgspec.msgpack.decode(self.outline, type=Outline) if self.outline else None
        outline, pages = archived(transcript, start, before)
        self.outline, self.start = msgspec.msgpack.encode(outline), start
        self.pages |= {number: msgspec.msgpack.encode(page) for number, page in pages.items()}
        self.all = transcript.recorded(start)

    def reopened(self, before: Transcript | None = None) -> Transcript:
        return reopened(msgspec.msgpack.decode(self.outline, type=Outline), self, before)

    def page(self, number: int) -> Page:
        return msgspec.msgpack.decode(self.pages[number], type=Page)

    def items(self, positions: Sequence[int]) -> list[Item]:
        self.read += len(positions)
        return [self.all[position - self.start] for position in positions]


def test_what_was_loaded_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quire.state.archive.MAX_ITEMS", 8)
    whole, kept = Transcript(Message("user", f"message {n}", id=f"{n:03}") for n in range(800)), Kept()
    whole.append(Mask("005", "[cleared]"))
    whole.view.tokens(FourCharacters())
    kept.keep(whole)
    lazy = kept.reopened()
    before = held_by(lazy)[0]
    for at in range(0, len(whole), 5):
        assert lazy.view[at : at + 5] == whole.view[at : at + 5] and len(lazy.at(at)) == at
        assert lazy.view.counted_before(at, FourCharacters()) == whole.view.counted_before(
            at, FourCharacters()
        )
    assert held_by(lazy)[0] < before + 800
    kept.read = 0
    assert lazy.view[:3] == lazy.view[:3] == whole.view[:3] and kept.read == 3
