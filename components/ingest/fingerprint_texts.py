"""MinHash signatures of texts: two texts share each number with the share of words they share.

Texts are compared as sets of pairs of neighbouring words, in lower case and without punctuation. Of
NUM_HASHES random orders of all such pairs, a signature holds the first pair of the text in each, so
that the share of equal numbers estimates the Jaccard similarity of the two sets, with a standard
error of at most 0.5 / sqrt(NUM_HASHES): https://en.wikipedia.org/wiki/MinHash.

Legend: N texts, W words, S pairs of words, M hashes.
"""

import functools
import re
import zlib
from collections.abc import Sequence

import numpy as np

NUM_HASHES = 64

# Scripts that put no space between words (Thai to Khmer, kana, Chinese) count by characters.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_BATCH_PAIRS = 1 << 14
# Odd multipliers and offsets of the hash functions; any fixed ones do.
_FACTORS_M, _OFFSETS_M = (
    np.random.default_rng(seed).integers(0, 1 << 32, NUM_HASHES, np.uint32) | np.uint32(odd)
    for seed, odd in ((1, 1), (2, 0))
)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)


def split_words(text: str) -> list[str]:
    """Returns the words of a text in lower case, without punctuation.

    >>> split_words("It's GOOD, really.")
    ['it', 's', 'good', 'really']
    """
    return _WORD.findall(text.lower())


def minhash(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Returns the signatures (N, NUM_HASHES) uint16 and the numbers of words (N,) int32.

    A text without words has a signature of zeros.

    >>> signatures_NM, num_words_N = minhash(["a fine day", "A fine day!", "something else"])
    >>> (signatures_NM[0] == signatures_NM[1]).all(), num_words_N.tolist()
    (np.True_, [3, 3, 2])
    """
    words = [split_words(text) for text in texts]
    num_words_N = np.array([len(found) for found in words], np.int32)
    hashes_W = np.fromiter(
        (_word_hash(word) for found in words for word in found), np.uint64, int(num_words_N.sum())
    )
    return _signatures(hashes_W, num_words_N), num_words_N


@functools.lru_cache(1 << 16)
def _word_hash(word: str) -> int:
    return zlib.crc32(word.encode("utf-8", "surrogatepass"))


def _signatures(hashes_W: np.ndarray, num_words_N: np.ndarray) -> np.ndarray:
    signatures_NM = np.zeros((len(num_words_N), NUM_HASHES), np.uint16)
    rows = np.flatnonzero(num_words_N)
    ends = np.cumsum(num_words_N)[rows]
    starts = ends - num_words_N[rows]
    # The last word of a text is paired with nothing, so that a text of one word has a pair too.
    following_W = np.append(hashes_W[1:], np.zeros(min(1, len(hashes_W)), np.uint64))
    following_W[ends - 1] = 0
    pairs_S = _mix(hashes_W * _GOLDEN + following_W)
    for batch in np.split(np.arange(len(rows)), _batch_ends(ends)):
        if len(batch):
            pairs = pairs_S[starts[batch[0]] : ends[batch[-1]], None] * _FACTORS_M + _OFFSETS_M
            lowest = np.minimum.reduceat(pairs, starts[batch] - starts[batch[0]], axis=0)
            signatures_NM[rows[batch]] = lowest.astype(np.uint16)
    return signatures_NM


def _batch_ends(ends: np.ndarray) -> np.ndarray:
    """Returns after which texts to start a new batch, so that none is much above _BATCH_PAIRS."""
    return 1 + np.flatnonzero(np.diff(ends // _BATCH_PAIRS))


def _mix(values_S: np.ndarray) -> np.ndarray:
    """Returns 32 well mixed bits of each value, by the first rounds of SplitMix64."""
    mixed_S = (values_S ^ (values_S >> np.uint64(30))) * _MIX
    return (mixed_S ^ (mixed_S >> np.uint64(27))).astype(np.uint32)
