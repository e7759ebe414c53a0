"""Reads fields of a message whose type is not at hand.

The types of google.rpc come with other packages, in other versions; to have them here, too, would keep
programs from starting that have both.
"""

from __future__ import annotations

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("a varint of more than ten bytes")


def fields(data: bytes, number: int) -> list[bytes]:
    """All fields of this number that hold bytes; none where the message cannot be read."""
    found = []
    at = 0
    try:
        while at < len(data):
            tag, at = _varint(data, at)
            kind = tag & 7
            if kind == _VARINT:
                _, at = _varint(data, at)
            elif kind == _FIXED64:
                at += 8
            elif kind == _FIXED32:
                at += 4
            elif kind == _BYTES:
                size, at = _varint(data, at)
                if at + size > len(data):
                    return []
                if tag >> 3 == number:
                    found.append(data[at : at + size])
                at += size
            else:
                return []
    except (IndexError, ValueError):
        return []
    return found if at == len(data) else []
