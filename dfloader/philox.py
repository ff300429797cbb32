"""NumPy's Philox for many rows at once. Imports NumPy only.

Philox4x64-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) is a pure
function of key and counter. `numpy.random.Philox` computes it for one counter at a time, at about
10 microseconds an object; here it is arithmetic on whole columns of counters. Block b of a row is
what ``Philox(key=key, counter=(b, 0, row, purpose))`` gives first, which a test holds it to.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

WORDS = 4  # 64-bit words in a block

_ROUNDS = 10
# Counters at once: each temporary stays below the size from which malloc maps fresh pages.
_PIECE = 4096
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_FACTORS = np.array([[0xD2E7470EE14C6C93], [0xCA5A826395121157]], np.uint64)
_HIGH_FACTORS, _LOW_FACTORS = _FACTORS >> _HALF, _FACTORS & _LOW
_KEY_STEPS = np.array([[0x9E3779B97F4A7C15], [0xBB67AE8584CAA73B]], np.uint64)


def generator(key: Sequence[int], row: int, purpose: int) -> np.random.Generator:
    """Give the generator of a row, whose stream no other row or purpose shares."""
    counter = np.array([0, 0, row, purpose], np.uint64)
    return np.random.Generator(np.random.Philox(key=np.array(key, np.uint64), counter=counter))


def uniforms(
    key: Sequence[int], rows: npt.NDArray[np.int64], blocks: int, purpose: int
) -> npt.NDArray[np.float64]:
    """Draw numbers in [0, 1) for each row, float64 (rows, 4 * blocks)."""
    words = raw(key, rows, blocks, purpose)
    fractions: npt.NDArray[np.float64] = (words >> np.uint64(11)) * np.float64(2.0**-53)
    return fractions


def raw(key: Sequence[int], rows: npt.NDArray[np.int64], blocks: int, purpose: int) -> Words:
    """Draw 64-bit words for each row, uint64 (rows, 4 * blocks)."""
    counter = np.zeros((WORDS, len(rows), blocks), np.uint64)
    # NumPy steps the counter before it computes a block, so that its first block is number 1.
    counter[0] = np.arange(1, blocks + 1, dtype=np.uint64)
    counter[2] = rows.astype(np.uint64)[:, None]
    counter[3] = purpose
    flat, words = counter.reshape(WORDS, -1), np.empty((len(rows) * blocks, WORDS), np.uint64)
    for start in range(0, len(words), _PIECE):
        piece = slice(start, start + _PIECE)
        words[piece] = _philox(flat[:, piece], np.array(key, np.uint64)).T
    return words.reshape(len(rows), blocks * WORDS)


def _philox(counter: Words, key: Words) -> Words:
    """Turn counters (4, n) into the block of each, (4, n)."""
    even, odd, key = counter[0::2], counter[1::2], key[:, None]
    with np.errstate(over="ignore"):  # keys and products wrap, as they should
        for _ in range(_ROUNDS):
            high, low = _products(even)
            even, odd = high[::-1] ^ odd ^ key, low[::-1]
            key = key + _KEY_STEPS
    return np.stack([even[0], odd[0], even[1], odd[1]])


def _products(a: Words) -> tuple[Words, Words]:
    """Give the high and low words of the 128-bit products with the two multipliers."""
    high, low = a >> _HALF, a & _LOW
    middle = high * _LOW_FACTORS + ((low * _LOW_FACTORS) >> _HALF)
    cross = low * _HIGH_FACTORS + (middle & _LOW)
    return high * _HIGH_FACTORS + (middle >> _HALF) + (cross >> _HALF), a * _FACTORS
