"""What images, recordings and documents cost, provider by provider, as data. The formulas are in `images`.

Checked against the providers' guides or public quotations of them: the tiles and patches of OpenAI, the grid
and both tiers of Anthropic, the crops and levels of Gemini. Not confirmed: OpenAI's rate for recordings, its
patches of low detail, the square that Gemini brings images down to before it crops them, and the figures for
a page but for Gemini's.
"""

import msgspec

from quire.errors import WrongType
from quire.items import Audio, File, Image
from quire.tokens.images import Budgeted, Crops, Formula, Grid, Levels, Patches, Tiles, image_tokens
from quire.tokens.numbers import named, number, whole

BYTES_PER_SECOND = 16_000
"""What a recording of unknown length is taken to hold: compressed speech at 128 kbit/s."""

BYTES_PER_PAGE = 50_000
"""What a document of unknown length is taken to hold."""

USUAL_SECONDS = 30
USUAL_PAGES = 10
"""For media that are given by address alone and do not say how long they are."""

MOST_SECONDS = 34_200
MOST_PAGES = 1000
"""The longest that any provider takes in a request. What claims to be longer is not believed."""


class Media(msgspec.Struct, frozen=True, kw_only=True):
    """How one family of models charges for media.

    `second` is None where recordings are not taken; then only the transcript counts.
    """

    name: str
    image: Formula
    second: float | None
    page: int

    def __post_init__(self) -> None:
        named(self.name, "Media.name")
        if not isinstance(self.image, Formula):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"Media.image is a formula for images, not {type(self.image).__name__}")
        if self.second is not None:
            number(self.second, "Media.second", least=0)
        whole(self.page, "Media.page", least=0)


_FITTED = Budgeted(2048, 1536)
_LARGER = Budgeted(2048, 2500)
_OPENAI_SECOND = 10.0
_OPENAI_PAGE = 1300
_GEMINI_SECOND = 32.0


def _openai(name: str, image: Formula) -> Media:
    return Media(name=name, image=image, second=_OPENAI_SECOND, page=_OPENAI_PAGE)


MEDIA: dict[str, Media] = {
    media.name: media
    for media in (
        _openai("gpt-4o", Tiles(85, 170)),
        _openai("gpt-4o-mini", Tiles(2833, 5667)),
        _openai("o1", Tiles(75, 150)),
        _openai("gpt-5", Tiles(70, 140)),
        _openai("patches-1.62", Patches(1.62, _FITTED, _FITTED)),
        _openai("patches-2.46", Patches(2.46, _FITTED, _FITTED)),
        _openai("patches-1.72", Patches(1.72, _FITTED, _FITTED)),
        _openai("gpt-5.2", Patches(1.2, _FITTED, _FITTED)),
        _openai("gpt-5.4", Patches(1.2, _LARGER, _LARGER)),
        _openai("gpt-5.5", Patches(1.2, Budgeted(6000, 10_000), _LARGER)),
        _openai("gpt-5.6", Patches(1.2, Budgeted(65_535, 30_000), _LARGER)),
        Media(name="claude", image=Grid(Budgeted(1568, 1568)), second=None, page=3600),
        Media(name="claude-high", image=Grid(Budgeted(2576, 4784)), second=None, page=6800),
        Media(name="gemini-2", image=Crops(258), second=_GEMINI_SECOND, page=258),
        Media(name="gemini-3", image=Levels(auto=1120, high=1120, low=280), second=_GEMINI_SECOND, page=560),
    )
}


def media_tokens(part: Image | Audio | File, media: Media) -> int:
    """Tokens of one part that is not text; a transcript is text and is counted as such by the caller."""
    if not isinstance(media, Media):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"expected Media, such as MEDIA['claude'], not {type(media).__name__}")
    if isinstance(part, Image):
        return image_tokens(part, media.image)
    if isinstance(part, Audio):
        return 0 if media.second is None else round(media.second * _seconds(part))
    if isinstance(part, File):  # pyright: ignore[reportUnnecessaryIsInstance]
        return media.page * _pages(part)
    raise WrongType(f"expected an image, a recording or a file, not {type(part).__name__}")


def _seconds(audio: Audio) -> float:
    if audio.seconds is not None:
        return min(audio.seconds, MOST_SECONDS)
    return USUAL_SECONDS if audio.data is None else max(1.0, len(audio.data) / BYTES_PER_SECOND)


def _pages(file: File) -> int:
    return min(_claimed_pages(file), MOST_PAGES)


def _claimed_pages(file: File) -> int:
    if file.pages is not None:
        return file.pages
    if file.data is None:
        return USUAL_PAGES
    stated = file.data.count(b"/Type /Page") - file.data.count(b"/Type /Pages")
    return stated if stated > 0 else max(1, round(len(file.data) / BYTES_PER_PAGE))
