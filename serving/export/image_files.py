"""Which files a served model takes as images; imported without TensorFlow, by commands too."""

FORMATS = "PNG, JPEG, WebP, BMP or GIF"
_STARTS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"BM", b"GIF87a", b"GIF89a")


def is_image(content: bytes) -> bool:
    """Tells by its first bytes whether a file is of a format that is decoded.

    >>> is_image(b"\\xff\\xd8\\xff\\xe0"), is_image(b"RIFF....WAVEfmt ")
    (True, False)
    """
    # A WAV file begins with RIFF too.
    is_webp = content[:4] == b"RIFF" and content[8:12] == b"WEBP"
    return is_webp or content.startswith(_STARTS)
