"""Decoded array -> example, in NumPy and OpenCV. Imports spec, NumPy, OpenCV."""

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from dfloader.spec import ImageSpec

# Threads and processes are the loader's own: one image, one core.
cv2.setNumThreads(1)


def render(image: npt.NDArray[np.uint8], spec: ImageSpec, out: npt.NDArray[Any]) -> None:
    """Resize `image` (h, w, c) straight into `out` (target height, target width, c).

    A float result is resampled in float32, so that no rounding stands between the file and it.
    """
    if image.shape == out.shape:
        np.copyto(out, image)
    else:
        _RESIZE[spec.interpolation](image, out)
    if spec.rescale is not None:
        np.multiply(out, spec.rescale, out=out)


def nearest_index(source: Any, target: Any) -> Any:
    """Give the source pixel of each target pixel along an axis: floor((i + 1/2) source / target).

    In whole numbers (int64 arrays or tensors), so that every engine picks the same pixel: OpenCV
    and TensorFlow compute it in floating point and disagree at ties.

    Args:
        source: pixels along the source axis.
        target: the pixel numbers 0..n-1 of the target axis, followed by n.
    """
    return (2 * target[:-1] + 1) * source // (2 * target[-1])


def _bilinear(image: npt.NDArray[np.uint8], out: npt.NDArray[Any]) -> None:
    height, width, channels = out.shape
    view = out.reshape(height, width) if channels == 1 else out
    source = image if out.dtype == image.dtype else image.astype(out.dtype)
    cv2.resize(source, (width, height), dst=view, interpolation=cv2.INTER_LINEAR)


def _nearest(image: npt.NDArray[np.uint8], out: npt.NDArray[Any]) -> None:
    rows = nearest_index(image.shape[0], np.arange(out.shape[0] + 1))
    columns = nearest_index(image.shape[1], np.arange(out.shape[1] + 1))
    np.copyto(out, image[rows[:, None], columns])


_RESIZE = {"bilinear": _bilinear, "nearest": _nearest}
