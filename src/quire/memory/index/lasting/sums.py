"""Bytes with their sum: what a disk gives back is told from what was written."""

from zlib import crc32

_TAKES = 4
_BEGIN = 0x51756978
"""Not nothing, so that zeros are not the sum of zeros."""


def summed(data: bytes) -> bytes:
    """Bytes as they are kept."""
    return data + crc32(data, _BEGIN).to_bytes(_TAKES, "big")


def unsummed(kept: bytes) -> memoryview:
    """Bytes as they were; `ValueError` where they are not what was kept."""
    data = memoryview(kept)
    if crc32(data[:-_TAKES], _BEGIN) != int.from_bytes(data[-_TAKES:], "big"):
        raise ValueError("what was kept has another sum")
    return data[:-_TAKES]
