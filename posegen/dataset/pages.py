"""The headers of Parquet pages, read before Arrow does.

Arrow takes memory by what a page says of itself: how many bytes it unpacks to, how many values it holds. A few bytes can say
billions, and what the file's footer says need not agree. So each page header is read first: a struct in Thrift's compact
protocol, of which only what posegen writes is understood, and all else is refused.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Page", "pages"]

_DATA_PAGE, _PLAIN, _RLE = 0, 0, 3
_BOOLEANS, _NUMBER, _LONG_NUMBER, _BINARY, _STRUCT = (1, 2), 5, 6, 8, 12
_MOST_HEADER = 1 << 16
_MOST_NUMBER_BYTES = 10
_DEEPEST = 2  # a page, its data, their statistics


class Page(NamedTuple):
    """What a page says of itself: bytes that it unpacks to, and values that it holds."""

    bytes: int
    values: int


def pages(data: memoryview) -> list[Page]:
    """List the pages of a column.

    Parameters
    ----------
    data : memoryview
        All bytes of the column.

    Raises
    ------
    ValueError
        If they are not data pages, one after another, as posegen writes them.
    """
    found, position = [], 0
    while position < len(data):
        page, stored, start = _page(data, position)
        found.append(page)
        position = start + stored
        if position > len(data):
            msg = "a page reaches beyond its column"
            raise ValueError(msg)
    return found


def _page(data: memoryview, position: int) -> tuple[Page, int, int]:
    """Read a page's header: what it says, how many bytes are stored behind it, and where these begin."""
    reader = _Reader(data[position : position + _MOST_HEADER])
    header = reader.struct(0)
    kind, unpacked, stored, body = (header.get(field) for field in (1, 2, 3, 5))
    if kind != _DATA_PAGE or not isinstance(body, dict) or header.keys() - {1, 2, 3, 4, 5}:
        msg = "a page is not a plain data page"
        raise ValueError(msg)
    values, *encodings = (body.get(field) for field in (1, 2, 3, 4))
    if encodings[0] not in (_PLAIN, _RLE) or encodings[1:] != [_RLE, _RLE]:
        msg = "a page is encoded in another way than posegen encodes"
        raise ValueError(msg)
    page = Page(_natural(unpacked), _natural(values))
    return page, _natural(stored), position + reader.position


def _natural(number: object) -> int:
    if not isinstance(number, int) or number < 0:
        msg = "a page says of itself that it holds less than nothing"
        raise ValueError(msg)
    return number


class _Reader:
    """Reads Thrift's compact protocol."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.position = 0

    def struct(self, depth: int) -> dict[int, object]:
        """Read a struct: its numbers of 32 bits and its structs, by the numbers of their fields; all else is None."""
        fields: dict[int, object] = {}
        field = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            if not step or depth > _DEEPEST:
                msg = "a page header is not as posegen writes it"
                raise ValueError(msg)
            field += step
            fields[field] = self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> object:
        if kind in _BOOLEANS:
            return None
        if kind in (_NUMBER, _LONG_NUMBER):
            number = self._number()
            return (number >> 1) ^ -(number & 1) if kind == _NUMBER else None
        if kind == _BINARY:
            self._skip(self._number())
            return None
        if kind == _STRUCT:
            return self.struct(depth + 1)
        msg = "a page header is not as posegen writes it"
        raise ValueError(msg)

    def _number(self) -> int:
        value = 0
        for i in range(_MOST_NUMBER_BYTES):
            byte = self._byte()
            value |= (byte & 127) << 7 * i
            if byte < 128:
                return value
        msg = "a page header has a number without end"
        raise ValueError(msg)

    def _byte(self) -> int:
        self._skip(1)
        return self.data[self.position - 1]

    def _skip(self, count: int) -> None:
        self.position += count
        if self.position > len(self.data):
            msg = "a page header has no end"
            raise ValueError(msg)
