"""Keywords are dealt out, and refused with a hint."""

import pytest

from dfloader.spec import ImageSpec, OrderSpec, parse


def test_keywords_reach_their_spec() -> None:
    said = parse(8, {"target_size": [32, 48], "class_mode": "sparse", "seed": 5}, fresh_seed=1)
    assert said.image.target_size == (32, 48)
    assert said.frame.class_mode == "sparse"
    assert (said.order.batch_size, said.order.seed) == (8, 5)


def test_no_seed_takes_the_fresh_one() -> None:
    assert parse(8, {}, fresh_seed=77).order.seed == 77
    assert parse(8, {"seed": None}, fresh_seed=77).order.seed == 77


def test_unknown_keyword_names_the_nearest() -> None:
    with pytest.raises(TypeError, match="'batchsize'"):
        parse(8, {"batchsize": 3}, fresh_seed=1)
    with pytest.raises(
        TypeError, match=r"unknown keyword 'colour_mode'. Did you mean 'color_mode'"
    ):
        parse(8, {"colour_mode": "rgb"}, fresh_seed=1)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"color_mode": "rbg"}, "color_mode='rbg' is not one of .*Did you mean 'rgb'"),
        ({"class_mode": "multi"}, "class_mode='multi' is not one of"),
        ({"target_size": 64}, r"target_size=64 is not \(height, width\)"),
        ({"target_size": (64, 0)}, "positive whole numbers"),
        ({"dtype": "uint8", "rescale": 0.5}, "rescale=0.5 needs dtype='float32'"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_a_bad_value_is_named(keywords: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(8, keywords, fresh_seed=1)


@pytest.mark.parametrize("size", [0, -1, 2.5, True])
def test_batch_size_is_a_positive_whole_number(size: object) -> None:
    with pytest.raises(ValueError, match="batch_size"):
        parse(size, {}, fresh_seed=1)  # type: ignore[arg-type]


def test_batches_of_an_epoch_round_up_or_drop_the_rest() -> None:
    assert OrderSpec(batch_size=4, seed=0).batches(9) == 3
    assert OrderSpec(batch_size=4, seed=0, drop_remainder=True).batches(9) == 2


def test_image_signature_says_shape_and_dtype() -> None:
    said = ImageSpec(target_size=(3, 5), color_mode="grayscale", dtype="uint8").signature()
    assert said == ((3, 5, 1), "uint8")
