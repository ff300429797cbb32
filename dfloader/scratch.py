"""Memory that a thread keeps from image to image. Imports NumPy only.

The first touch of fresh memory costs about as much as decoding into it, so what an image needs on
its way into the batch lies in blocks that are kept: one for each thread and purpose.
"""

import math
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

# Larger blocks are given back at once: 12 megapixels of RGB are 36 MB.
KEPT_BYTES = 64 * 2**20

_blocks = threading.local()


def borrow(purpose: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Give an array of unspecified values, valid until this thread borrows for `purpose` again."""
    wanted = np.dtype(dtype)
    size = math.prod(shape) * wanted.itemsize
    block = _blocks.__dict__.get(purpose)
    if block is None or block.nbytes < size:
        block = np.empty(size, np.uint8)
        if size <= KEPT_BYTES:
            _blocks.__dict__[purpose] = block
    return block[:size].view(wanted).reshape(shape)
