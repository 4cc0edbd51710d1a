"""The formulas by which providers turn the size of an image into tokens. Their figures are in `media`."""

from functools import cache
from math import ceil, floor, sqrt

import msgspec

from quire.errors import WrongType
from quire.items import Image
from quire.tokens.numbers import number, whole
from quire.tokens.pictures import size_of

USUAL_SIZE = (1024, 1024)
"""Width and height of an image that does not say."""

_CHARGED = ("base", "each", "auto", "high", "low")  # these may be nothing; sizes are divided by the others


class _Figures(msgspec.Struct, frozen=True):
    """Figures of a provider, checked when they are put together."""

    def __post_init__(self) -> None:
        for name, where, wanted in _kinds_of_figures(type(self)):
            figure = getattr(self, name)
            if wanted is float:
                number(figure, where, least=0)
            elif wanted is int:
                whole(figure, where, least=0 if name in _CHARGED else 1)
            elif not isinstance(figure, wanted):
                raise WrongType(f"{where} is {wanted.__name__}, not {type(figure).__name__}")


@cache
def _kinds_of_figures(kind: type[_Figures]) -> list[tuple[str, str, type]]:
    return [(f.name, f"{kind.__name__}.{f.name}", f.type) for f in msgspec.structs.fields(kind)]


class Budgeted(_Figures, frozen=True):
    """Limits that an image is shrunk to: the longest side in pixels, and how many patches may cover it."""

    side: int
    patches: int


class Tiles(_Figures, frozen=True):
    """A base and so much for each tile, once the image fits a square and its short side is brought down."""

    base: int
    each: int
    tile: int = 512
    square: int = 2048
    short_side: int = 768

    def tokens(self, width: float, height: float, detail: str) -> int:
        """Tokens of an image of this size."""
        if detail == "low":
            return self.base
        width, height = _within(width, height, self.square)
        scale = min(1.0, self.short_side / min(width, height))
        return self.base + self.each * _pieces(width * scale, height * scale, self.tile)


class Patches(_Figures, frozen=True):
    """Patches of 32 pixels times a factor; what exceeds the budget of its detail is shrunk to fit it."""

    factor: float
    auto: Budgeted
    high: Budgeted
    low: Budgeted = Budgeted(512, 256)
    patch: int = 32

    def tokens(self, width: float, height: float, detail: str) -> int:
        """Tokens of an image of this size."""
        budget = {"low": self.low, "high": self.high}.get(detail, self.auto)
        width, height = _within(width, height, budget.side)
        if _pieces(width, height, self.patch) > budget.patches:
            scale = sqrt(self.patch**2 * budget.patches / (width * height))
            across, down = width * scale / self.patch, height * scale / self.patch
            whole = min(floor(across) / across, floor(down) / down) or 1.0
            width, height = width * scale * whole, height * scale * whole
        return round(min(_pieces(width, height, self.patch), budget.patches) * self.factor)


class Grid(_Figures, frozen=True):
    """One token for each cell of 28 pixels, once the image is the largest that keeps within both limits."""

    limits: Budgeted
    cell: int = 28

    def tokens(self, width: float, height: float, detail: str) -> int:
        """Tokens of an image of this size."""
        long, short = max(width, height), min(width, height)
        if not self._fits(long, short):
            long, short = self._largest(long, short)
        return self._cells(long) * self._cells(short)

    def _largest(self, long: float, short: float) -> tuple[float, float]:
        ratio, fits, too_long = short / long, 1, ceil(long)
        while too_long - fits > 1:
            middle = (fits + too_long) // 2
            fits, too_long = (middle, too_long) if self._fits(middle, middle * ratio) else (fits, middle)
        return fits, max(1.0, round(fits * ratio))

    def _fits(self, long: float, short: float) -> bool:
        cells = self._cells(long)
        return cells * self.cell <= self.limits.side and cells * self._cells(short) <= self.limits.patches

    def _cells(self, side: float) -> int:
        return max(1, ceil(round(side) / self.cell))


class Crops(_Figures, frozen=True):
    """The same for each crop: a small image is one, a larger one is cut by two thirds of its short side.

    One that is larger than a square is first brought down to it.
    """

    each: int
    small: int = 384
    least: int = 256
    most: int = 768
    square: int = 3072

    def tokens(self, width: float, height: float, detail: str) -> int:
        """Tokens of an image of this size."""
        if max(width, height) <= self.small:
            return self.each
        width, height = _within(width, height, self.square)
        unit = min(self.most, max(self.least, floor(min(width, height) / 1.5)))
        return self.each * _pieces(width, height, unit)


class Levels(_Figures, frozen=True):
    """A fixed figure for each level of detail, whatever the size."""

    auto: int
    high: int
    low: int

    def tokens(self, width: float, height: float, detail: str) -> int:
        """Tokens of an image of this size."""
        return {"low": self.low, "high": self.high}.get(detail, self.auto)


Formula = Tiles | Patches | Grid | Crops | Levels


def image_tokens(image: Image, formula: Formula) -> int:
    """Tokens of an image by its own size, by the size its bytes tell, or else by the usual size."""
    if image.width and image.height:
        return formula.tokens(image.width, image.height, image.detail)
    width, height = size_of(image.data or b"") or USUAL_SIZE
    return formula.tokens(width, height, image.detail)


def _pieces(width: float, height: float, piece: int) -> int:
    """How many squares cover an image."""
    # A hair less, so that 44.000000001 are 44; a hair alone is still one.
    columns, rows = (max(1, ceil(side / piece - 1e-6)) for side in (width, height))
    return columns * rows


def _within(width: float, height: float, side: int) -> tuple[float, float]:
    scale = min(1.0, side / max(width, height))
    return width * scale, height * scale
