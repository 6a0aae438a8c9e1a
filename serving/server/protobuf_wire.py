"""The few parts of protobuf's wire format that are written by hand where speed matters."""


def varint(value: int) -> bytes:
    """Returns an integer as protobuf writes it; a negative one as 64 bits.

    >>> varint(300).hex(), len(varint(-1))
    ('ac02', 10)
    """
    value &= 0xFFFF_FFFF_FFFF_FFFF
    if value < 0x80:
        return _ONE_BYTE[value]
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def field(number: int, contents: bytes) -> bytes:
    """Returns a field of bytes, text, a message or packed numbers; field numbers below 16 only.

    >>> field(2, b"ab").hex()
    '12026162'
    """
    return _ONE_BYTE[number << 3 | 2] + varint(len(contents)) + contents


_ONE_BYTE = [bytes([value]) for value in range(0x80)]
