"""The scripts of a text beyond plain Latin, told by their pages of Unicode, as weights for the estimate."""

BLOCK = 1 << 14
"""Characters looked at in one go; longer texts are added up from blocks."""

UNITS = 2 * BLOCK
"""Units of UTF-16 that a block may have."""

# First page, last page, script. Later rows win, so that a narrow range can be cut out of a wide one.
_PAGES = (
    (0x01, 0x02, "latin"),
    (0x03, 0x1F, "other"),
    (0x04, 0x04, "cyrillic"),
    (0x06, 0x07, "arabic"),
    (0x1E, 0x1E, "latin"),
    (0x20, 0x2F, "symbol"),
    (0x30, 0x33, "kana"),
    (0x34, 0x9F, "han"),
    (0xA0, 0xD7, "hangul"),
    (0xF9, 0xFA, "han"),
    (0xFB, 0xFE, "arabic"),
    (0xFF, 0xFF, "kana"),
)
_BITS = {
    name: 1 << bit
    for bit, name in enumerate(("latin", "cyrillic", "arabic", "other", "symbol", "kana", "han", "hangul"))
}
# Tokens by which a character of the script differs from one of plain Latin, and a pair of them once more.
_WEIGHTS = {
    "latin": (0.133, 0.0),
    "cyrillic": (-0.869, 0.145),
    "arabic": (-1.477, 0.977),
    "other": (-1.189, 0.677),
    "symbol": (0.600, -0.800),
    "kana": (-0.381, 0.0),
    "han": (-0.130, 0.0),
    "hangul": (-0.266, -0.324),
}


def _script_table() -> bytes:
    table = bytearray(256)
    for first, last, script in _PAGES:
        table[first : last + 1] = bytes((_BITS[script],)) * (last - first + 1)
    return bytes(table)


_SCRIPTS = _script_table()
_FIRST_PAGE = bytes((0xFF,)) + bytes(255)
_MASKS = tuple(
    (int.from_bytes(bytes((_BITS[script],)) * UNITS, "little"), single, pair)
    for script, (single, pair) in _WEIGHTS.items()
)
_LATIN = _MASKS[0][0]


def scripts_and_letters(wide: bytes) -> tuple[int, int, int]:
    """For a text in UTF-16: the script of each unit, which are on the first page, which extend Latin."""
    pages = wide[1::2]
    scripts = int.from_bytes(pages.translate(_SCRIPTS), "little")
    return scripts, int.from_bytes(pages.translate(_FIRST_PAGE), "little"), scripts & _LATIN


def script_weight(scripts: int) -> float:
    """What the scripts add to an estimate that took all characters for plain Latin."""
    pairs = scripts & (scripts >> 8)
    weight = 0.0
    for mask, single, pair in _MASKS:
        found = (scripts & mask).bit_count()
        if found:
            weight += single * found + (pair * (pairs & mask).bit_count() if pair else 0.0)
    return weight
