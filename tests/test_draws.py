"""Range, mean and independence of every draw."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from dfloader.augment import Augment
from dfloader.draws import GAIN, LINEAR, PIVOT, SHIFT, Draws, draw, signature

N = 20_000
ROWS = np.arange(N, dtype=np.int64)
EVERYTHING = Augment(
    flip_horizontal=True,
    flip_vertical=True,
    rotation=30,
    shift=(0.1, 0.2),
    zoom=(0.8, 1.1),
    shear=10,
    crop_scale=(0.2, 0.9),
    brightness=0.3,
    contrast=0.2,
    saturation=0.4,
    hue=0.1,
    channel_shift=12,
    erase=0.25,
    mixup=0.4,
)


def drawn(seed: int = 1, epoch: int = 0, **options: Any) -> Draws:
    return draw(Augment(**options), seed, epoch, ROWS)


def assert_uniform(values: npt.NDArray[Any], low: float, high: float) -> None:
    """Also says range and mean: a uniform sample of this size that is not, is found."""
    assert low <= values.min() and values.max() <= high
    assert stats.kstest(values, "uniform", args=(low, high - low)).pvalue > 1e-4


def test_rotation_is_uniform_clockwise_and_rigid() -> None:
    matrix = drawn(rotation=30).matrix
    assert_uniform(np.rad2deg(np.arctan2(matrix[:, 0, 1], matrix[:, 0, 0])), -30, 30)
    np.testing.assert_allclose(
        matrix[:, :, :2] @ matrix[:, :, :2].swapaxes(1, 2), np.broadcast_to(np.eye(2), (N, 2, 2)),
        atol=1e-12,
    )  # fmt: skip


def test_shift_is_uniform_in_fractions() -> None:
    matrix = drawn(shift=(0.1, 0.2)).matrix
    assert_uniform(matrix[:, 0, 2], -0.2, 0.2)
    assert_uniform(matrix[:, 1, 2], -0.1, 0.1)


def test_zoom_is_uniform_for_each_axis() -> None:
    matrix = drawn(zoom=(0.5, 1.5)).matrix
    assert_uniform(matrix[:, 0, 0], 0.5, 1.5)
    assert_uniform(matrix[:, 1, 1], 0.5, 1.5)
    assert abs(np.corrcoef(matrix[:, 0, 0], matrix[:, 1, 1])[0, 1]) < 0.03


def test_shear_is_uniform_in_degrees() -> None:
    matrix = drawn(shear=20).matrix
    assert_uniform(np.rad2deg(np.arcsin(-matrix[:, 1, 0])), -20, 20)


def test_half_the_rows_flip_and_independently() -> None:
    matrix = drawn(flip_horizontal=True, flip_vertical=True).matrix
    signs = np.stack([matrix[:, 0, 0], matrix[:, 1, 1]])
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert np.all(abs(signs.mean(axis=1)) < 0.03) and abs(np.mean(signs[0] * signs[1])) < 0.03


def test_crop_has_uniform_area_and_log_uniform_ratio() -> None:
    area, ratio, x, y = drawn(crop_scale=(0.08, 1), crop_ratio=(0.5, 2)).crop.T
    assert_uniform(area, 0.08, 1)
    assert_uniform(np.log(ratio), -np.log(2), np.log(2))
    assert_uniform(x, 0, 1)
    assert_uniform(y, 0, 1)


def test_brightness_contrast_and_shift_are_uniform() -> None:
    colour = drawn(brightness=0.3, channel_shift=9).colour
    assert_uniform(colour[:, GAIN], 0.7, 1.3)
    assert_uniform(colour[:, SHIFT], -9, 9)
    assert not colour[:, PIVOT].any()
    contrast = drawn(contrast=0.2).colour
    assert_uniform(contrast[:, GAIN], 0.8, 1.2)
    np.testing.assert_allclose(contrast[:, PIVOT], 1 - contrast[:, GAIN])


def test_hue_and_saturation_leave_grey_and_luma() -> None:
    linear = drawn(hue=0.5, saturation=0.9).colour[:, LINEAR].reshape(-1, 3, 3)
    np.testing.assert_allclose(linear.sum(axis=2), 1, atol=1e-9)
    luma = np.array([0.299, 0.587, 0.114])
    np.testing.assert_allclose(luma @ linear, np.broadcast_to(luma, (N, 3)), atol=1e-9)


def test_saturation_scales_the_distance_from_grey() -> None:
    linear = drawn(saturation=0.5).colour[:, LINEAR].reshape(-1, 3, 3)
    red = linear @ np.array([1.0, 0, 0])
    assert_uniform((red[:, 0] - 0.299) / (1 - 0.299), 0.5, 1.5)


def test_erase_has_its_probability_and_stays_inside() -> None:
    top, left, bottom, right = drawn(erase=0.3).erase.T
    area = (bottom - top) * (right - left)
    assert np.mean(area > 0) == pytest.approx(0.3, abs=0.015)
    assert_uniform(area[area > 0], 0.02, 0.33)
    assert min(top.min(), left.min()) >= 0 and max(bottom.max(), right.max()) <= 1


@pytest.mark.parametrize("alpha", [0.1, 0.4, 1.0, 3.0])
def test_mixing_follows_the_beta_distribution(alpha: float) -> None:
    kind, part, x, y, rank = drawn(mixup=alpha).mix.T
    assert stats.kstest(part, "beta", args=(alpha, alpha)).pvalue > 1e-4
    assert not kind.any()
    for place in (x, y, rank):
        assert_uniform(place, 0, 1)


def test_mixup_and_cutmix_share_the_rows() -> None:
    assert drawn(cutmix=1.0).mix[:, 0].all()
    both = drawn(mixup=0.2, cutmix=1.0).mix
    assert both[:, 0].mean() == pytest.approx(0.5, abs=0.015)
    cut = both[:, 0] == 1
    assert stats.kstest(both[cut, 1], "uniform").pvalue > 1e-4
    assert stats.kstest(both[~cut, 1], "beta", args=(0.2, 0.2)).pvalue > 1e-4


def table(draws: Draws) -> npt.NDArray[Any]:
    return np.concatenate([part.reshape(len(part), -1) for part in draws], axis=1)


def test_rows_and_epochs_and_seeds_are_independent() -> None:
    first = table(draw(EVERYTHING, 1, 0, ROWS))
    varied = first.std(axis=0) > 0
    for other in (
        first[1:],
        table(draw(EVERYTHING, 1, 1, ROWS)),
        table(draw(EVERYTHING, 2, 0, ROWS)),
    ):
        for a, b in zip(first[: len(other), varied].T, other[:, varied].T, strict=True):
            assert abs(np.corrcoef(a, b)[0, 1]) < 0.04
        assert not np.any(np.all(first[: len(other)] == other, axis=1))


def test_a_draw_is_pure_and_a_row_does_not_depend_on_the_others() -> None:
    some = np.array([17, 3, 17, 900])
    np.testing.assert_array_equal(
        table(draw(EVERYTHING, 1, 5, some)), table(draw(EVERYTHING, 1, 5, ROWS))[some]
    )


def test_one_option_does_not_change_what_another_draws() -> None:
    all_of_it = draw(EVERYTHING, 1, 0, ROWS)
    np.testing.assert_array_equal(drawn(crop_scale=(0.2, 0.9)).crop, all_of_it.crop)
    np.testing.assert_array_equal(drawn(erase=0.25).erase, all_of_it.erase)


def test_augments_own_seed_takes_the_place_of_the_loaders() -> None:
    own = draw(Augment(rotation=9, seed=5), 1, 0, ROWS).matrix
    np.testing.assert_array_equal(own, drawn(seed=5, rotation=9).matrix)


def test_signature_says_what_is_drawn() -> None:
    for augment in (EVERYTHING, Augment(), Augment(flip_vertical=True)):
        for said, part in zip(signature(augment), draw(augment, 1, 0, ROWS), strict=True):
            assert (said is None) == (part is None)
            assert said is None or (said.shape, said.dtype) == (part.shape[1:], part.dtype.name)
