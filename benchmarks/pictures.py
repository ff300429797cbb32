"""Pictures to measure with: scikit-image's own photographs, as small files and as of a camera."""

import io

import numpy as np
import numpy.typing as npt
import skimage.data
from PIL import Image

SMALL = (375, 500)
LARGE = (3000, 4000)  # 12 megapixels
QUALITY = 90
NOISE = 6  # levels, standard deviation: gives 12 megapixels the size of a camera's file, 2.7 MB

Pixels = npt.NDArray[np.uint8]


def photographs() -> dict[str, Pixels]:
    """Give colour photographs in their own resolution, cut to 4:3."""
    whole = {
        "astronaut": skimage.data.astronaut(),
        "chelsea": skimage.data.chelsea(),
        "coffee": skimage.data.coffee(),
        "hubble": skimage.data.hubble_deep_field(),
        "motorcycle": skimage.data.stereo_motorcycle()[0],
        "retina": skimage.data.retina(),
        "rocket": skimage.data.rocket(),
    }
    return {name: _cut(image) for name, image in whole.items()}


def small(image: Pixels) -> bytes:
    """Give the JPEG of 500 x 375 pixels."""
    return _jpeg(_resized(image, SMALL))


def small_noisy(image: Pixels) -> bytes:
    """Give a JPEG of 500 x 375 pixels with the 90 kB that such photographs of cameras have."""
    return _jpeg(_noisy(_resized(image, SMALL)), QUALITY + 5)


def large(image: Pixels) -> bytes:
    """Give the JPEG of 12 megapixels: enlarged, with a camera's noise in place of detail."""
    return _jpeg(_noisy(_resized(image, LARGE)))


def _noisy(image: Pixels) -> Pixels:
    noise = np.random.default_rng(0).normal(0, NOISE, image.shape).astype(np.float32)
    return np.clip(np.rint(noise + image), 0, 255).astype(np.uint8)


def _cut(image: Pixels) -> Pixels:
    height, width = image.shape[:2]
    rows, columns = min(height, width * 3 // 4), min(width, height * 4 // 3)
    top, left = (height - rows) // 2, (width - columns) // 2
    return image[top : top + rows, left : left + columns]


def _resized(image: Pixels, size: tuple[int, int]) -> Pixels:
    return np.asarray(Image.fromarray(image).resize(size[::-1], Image.Resampling.LANCZOS))


def _jpeg(image: Pixels, quality: int = QUALITY) -> bytes:
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=quality)
    return file.getvalue()
