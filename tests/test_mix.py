"""mixup and cutmix: pictures, labels, weights and masks of one batch."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dfloader import Augment, DataFrameSequence
from dfloader.draws import draw
from dfloader.mix import mixing_of

OPTIONS: dict[str, Any] = {"target_size": (24, 32), "seed": 3, "workers": 0}


def pair(df: pd.DataFrame, augment: Augment, **options: Any) -> tuple[Any, Any]:
    """Give the mixed batch and the same one unmixed."""
    said = {**OPTIONS, **options}
    return (
        DataFrameSequence(df, 20, augment=augment, **said)[0],
        DataFrameSequence(df, 20, **said)[0],
    )


def mixing(df: pd.DataFrame, augment: Augment) -> Any:
    rows = DataFrameSequence(df, 20, **OPTIONS).rows(0)
    return mixing_of(draw(augment, 3, 0, rows).mix, 24, 32)


def test_mixup_blends_pictures_and_labels_by_one_share(df: pd.DataFrame) -> None:
    augment = Augment(mixup=0.8)
    (x, y), (x0, y0) = pair(df, augment)
    mixed = mixing(df, augment)
    share = mixed.share.astype(np.float32)
    blend = share[:, None, None, None]
    np.testing.assert_allclose(x, blend * x0 + (1 - blend) * x0[mixed.partner], atol=1e-4)
    np.testing.assert_allclose(
        y, share[:, None] * y0 + (1 - share[:, None]) * y0[mixed.partner], atol=1e-6
    )
    np.testing.assert_allclose(y.sum(axis=1), 1, atol=1e-6)
    assert sorted(mixed.partner) == list(range(20)) and len(set(share.tolist())) == 20


def test_cutmix_pastes_whole_pixels_and_counts_them(df: pd.DataFrame) -> None:
    augment = Augment(cutmix=1.0)
    (x, y), (x0, y0) = pair(df, augment)
    mixed = mixing(df, augment)
    for i in range(20):
        pasted = np.zeros((24, 32), bool)
        top, left, bottom, right = (edge[i] for edge in mixed.box)
        pasted[top:bottom, left:right] = True
        np.testing.assert_array_equal(x[i][~pasted], x0[i][~pasted])
        np.testing.assert_array_equal(x[i][pasted], x0[mixed.partner[i]][pasted])
        assert mixed.share[i] == pytest.approx(1 - pasted.mean())
        share = np.float32(1 - pasted.mean())
        np.testing.assert_allclose(
            y[i], share * y0[i] + (1 - share) * y0[mixed.partner[i]], atol=1e-6
        )
    assert mixed.box[2].max() <= 24 and mixed.box[3].max() <= 32


def test_both_in_one_batch(df: pd.DataFrame) -> None:
    augment = Augment(mixup=0.4, cutmix=1.0)
    mixed = mixing(df, augment)
    assert 0 < mixed.cut.sum() < 20
    (x, y), (x0, _) = pair(df, augment)
    for i in np.flatnonzero(mixed.cut):
        same = (x[i] == x0[i]).all(axis=2) | (x[i] == x0[mixed.partner[i]]).all(axis=2)
        assert same.all()
    np.testing.assert_allclose(y.sum(axis=1), 1, atol=1e-6)


def test_bytes_are_rounded_once(df: pd.DataFrame) -> None:
    floats, _ = pair(df, Augment(mixup=0.8), target_size=(24, 32), interpolation="nearest")
    whole, _ = pair(
        df, Augment(mixup=0.8), target_size=(24, 32), interpolation="nearest", dtype="uint8"
    )
    np.testing.assert_array_equal(whole[0], np.rint(floats[0]))


def test_weights_mix_as_labels_do(df: pd.DataFrame) -> None:
    df["weight"] = np.arange(20) / 4
    augment = Augment(mixup=0.8)
    (_, _, w), (_, _, w0) = pair(df, augment, weight_col="weight")
    mixed = mixing(df, augment)
    np.testing.assert_allclose(w, mixed.share * w0 + (1 - mixed.share) * w0[mixed.partner], 1e-5)


def test_several_outputs_and_inputs_as_targets_mix(df: pd.DataFrame) -> None:
    augment = Augment(mixup=0.8)
    (_, y), (_, y0) = pair(
        df, augment, y_col=None, class_mode={"class": "categorical", "size": "raw"}
    )
    mixed = mixing(df, augment)
    assert set(y) == set(y0)
    np.testing.assert_allclose(
        y["size"], mixed.share * y0["size"] + (1 - mixed.share) * y0["size"][mixed.partner], 1e-5
    )
    x, target = pair(df, augment, class_mode="input")[0]
    np.testing.assert_array_equal(x, target)


@pytest.mark.parametrize("options", [{"cutmix": 1.0}, {"mixup": 0.2}])
def test_whole_numbers_cannot_be_mixed(df: pd.DataFrame, options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"(mixup|cutmix) mixes labels.*class_mode='categorical'"):
        DataFrameSequence(df, augment=Augment(**options), class_mode="sparse")


def test_each_worker_count_mixes_alike(df: pd.DataFrame) -> None:
    options: dict[str, Any] = {**OPTIONS, "augment": Augment(mixup=0.4, cutmix=1.0, rotation=20)}
    inline = list(DataFrameSequence(df, 6, **options))
    options["workers"] = 3
    for processes in (False, True):
        with DataFrameSequence(df, 6, use_multiprocessing=processes, **options) as seq:
            for ours, theirs in zip(inline, seq, strict=True):
                np.testing.assert_array_equal(ours[0], theirs[0])
                np.testing.assert_array_equal(ours[1], theirs[1])


def test_eval_does_not_mix(df: pd.DataFrame) -> None:
    seq = DataFrameSequence(df, 20, augment=Augment(mixup=1.0), **OPTIONS)
    assert set(np.unique(seq.eval()[0][1])) == {0.0, 1.0}
