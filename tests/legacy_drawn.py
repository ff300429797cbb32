"""Configurations of `flow_from_dataframe`, each drawn from its number, and files to read."""

import numpy as np
import pandas as pd
from keras.src.legacy.preprocessing import image as k3
from keras_preprocessing import image as kp
from PIL import Image
from tf_keras.preprocessing import image as tfk

GENERATORS = {
    "k3": k3.ImageDataGenerator,
    "kp": kp.ImageDataGenerator,
    "tfk": tfk.ImageDataGenerator,
}
GOOD = ("a.jpg", "b.jpg", "grey.jpg", "c.png", "grey.png", "d.bmp", "e.ppm", "f.tif", "UP.JPG")
ODD = ("cmyk.jpg", "alpha.png", "palette.png", "deep.png", "float.tif", "two.tif", "sub/g.jpg")
UNLISTED = ("g.gif", "h.webp", "missing.png", "folder.png", "noextpng")
BROKEN = ("html.jpg", "cut.jpg", "empty.png")


def write_pictures(folder):
    """Fill a folder with files of every kind, good and bad."""
    rng = np.random.default_rng(1)

    def picture(height, width, mode="RGB"):
        small = rng.integers(0, 256, (7, 6, 4), np.uint8)
        image = Image.fromarray(small).resize((width, height), 3)
        return image.convert(mode)

    (folder / "sub").mkdir()
    (folder / "folder.png").mkdir()
    for i, name in enumerate(("a.jpg", "b.jpg", "UP.JPG", "sub/g.jpg")):
        picture(30 + 7 * i, 41 - 5 * i).save(folder / name, quality=85)
    picture(32, 33, "L").save(folder / "grey.jpg")
    picture(24, 24, "CMYK").save(folder / "cmyk.jpg")
    for name, mode in (("c.png", "RGB"), ("grey.png", "L"), ("alpha.png", "RGBA")):
        picture(20, 31, mode).save(folder / name)
    picture(20, 31).quantize(20).save(folder / "palette.png")
    deep = rng.integers(0, 2**16, (20, 20), np.uint16)
    Image.fromarray(deep).save(folder / "deep.png")
    Image.fromarray(rng.random((20, 20), np.float32)).save(folder / "float.tif")
    picture(20, 22).save(folder / "two.tif", save_all=True, append_images=[picture(20, 22)])
    for name in ("d.bmp", "e.ppm", "f.tif", "g.gif", "h.webp"):
        picture(25, 26).save(folder / name)
    picture(20, 21).save(folder / "noextpng", format="PNG")
    (folder / "html.jpg").write_text("<html>not found</html>")
    (folder / "empty.png").touch()
    whole = (folder / "a.jpg").read_bytes()
    (folder / "cut.jpg").write_bytes(whole[: len(whole) // 2])


class Drawn:
    """One configuration, all of it drawn from its number."""

    def __init__(self, number, folder):
        self.number = number
        self.rng = np.random.default_rng([2024, number])
        self.folder = folder
        self.frame = self._frame()
        self.kind = self._pick(["k3"] * 6 + ["kp"] * 2 + ["tfk"] * 2 + ["none"])
        self.generator_words = self._generator_words()
        self.words = self._words()

    def _pick(self, values):
        return values[self.rng.integers(len(values))]

    def _sometimes(self, share):
        return self.rng.random() < share

    def _frame(self):
        n = self._pick([0, 1, 2, 5, 9, 13]) if self._sometimes(0.2) else 3 + self.rng.integers(9)
        pool = [*GOOD, *GOOD, *ODD]
        pool += UNLISTED if self._sometimes(0.3) else ()
        pool += BROKEN if self._sometimes(0.06) else ()
        names = [self._pick(pool) for _ in range(n)]
        if self._sometimes(0.15):
            names = [str(self.folder / name) if self._sometimes(0.5) else name for name in names]
        labels = [self._pick(["dog", "cat", "10", "9"]) for _ in range(n)]
        several = [
            self._pick([label, [label], (label, "cat"), [label, label], []]) for label in labels
        ]
        frame = pd.DataFrame(
            {
                "filename": names,
                "class": labels,
                "two": [self._pick(["yes", "no"]) for _ in range(n)],
                "several": pd.Series(several, dtype=object),
                "number": self.rng.integers(0, 9, n),
                "share": self.rng.random(n),
                "flag": self.rng.random(n) < 0.5,
                "nullable": pd.array(self.rng.integers(0, 9, n), dtype="Int64"),
                "kind": pd.Categorical(labels),
                "text": labels,
            }
        )
        if self._sometimes(0.5):
            frame.index = self.rng.permutation(n) + 5
        if self._sometimes(0.1):
            frame["filename"] = frame["filename"].astype(object)
            frame["class"] = frame["class"].astype(object)
        if n and self._sometimes(0.04):
            frame["class"] = frame["class"].astype(object)
            frame.iloc[-1, frame.columns.get_loc("class")] = self._pick([np.nan, None, 3])
        return frame

    def _generator_words(self):
        words = {}
        if self._sometimes(0.6):
            choices = {
                "rotation_range": [20, 180.0],
                "width_shift_range": [0.2, 3.0, 5, [-2, 0, 4], 1.5],
                "height_shift_range": [0.3, 2, [0.1, 0.2]],
                "shear_range": [10, 30.0],
                "zoom_range": [0.3, (0.8, 1.0), [1.0, 2.0]],
                "horizontal_flip": [True],
                "vertical_flip": [True],
                "channel_shift_range": [20, 50.0],
                "brightness_range": [(0.5, 1.5)],
                "fill_mode": ["constant", "reflect", "wrap"],
                "cval": [7.0],
                "interpolation_order": [0, 3],
            }
            rare = {
                "brightness_range": 0.1,
                "interpolation_order": 0.08,
                "channel_shift_range": 0.15,
            }
            words |= {
                word: self._pick(values)
                for word, values in choices.items()
                if self._sometimes(rare.get(word, 0.4))
            }
        also = {
            "rescale": [1 / 255, 2.0],
            "samplewise_center": [True],
            "samplewise_std_normalization": [True],
            "featurewise_center": [True],
            "featurewise_std_normalization": [True],
            "preprocessing_function": [negative, noisy, halved],
            "validation_split": [0.2, 0.5, 0.34],
            "data_format": ["channels_first"],
            "dtype": ["float64"],
        }
        words |= {w: self._pick(v) for w, v in also.items() if self._sometimes(0.15)}
        return words

    def _words(self):
        mode = self._pick(
            ["categorical", "binary", "sparse", "raw", "multi_output", "input", None] * 4
            + ["other", "wrong"]
        )
        words = {"class_mode": mode, "y_col": self._y_col(mode), "directory": str(self.folder)}
        words["seed"] = self._pick([None, 0, 7, 123])
        choices = {
            "target_size": [(16, 24), [24, 16], (20, 20), (33, 32)],
            "color_mode": ["grayscale", "rgba", "rgb", "cmyk"],
            "interpolation": ["bilinear", "bicubic", "lanczos", "box", "hamming", "cubic"],
            "shuffle": [False],
            "weight_col": ["share", "number", "nullable", "share", "flag"],
            "subset": ["training", "validation", "training", "validation", "test"],
            "validate_filenames": [False],
            "classes": [
                ["dog", "cat"],
                ["cat", "dog", "10", "9"],
                ["no", "yes"],
                ["9", "9", "cat"],
            ],
            "x_col": ["path", "number"],
            "has_ext": [True],
            "sort": [True],
            "drop_duplicates": [False],
            "follow_links": [True],
        }
        rare = {"x_col": 0.02, "has_ext": 0.04, "sort": 0.04, "drop_duplicates": 0.04}
        words |= {
            word: self._pick(values[:-1] if len(values) > 2 and self._sometimes(0.85) else values)
            for word, values in choices.items()
            if self._sometimes(rare.get(word, 0.35))
        }
        words.setdefault("target_size", (18, 22))
        words["batch_size"] = self._pick([1, 2, 3, 4, 32])
        return words

    def _y_col(self, mode):
        by_mode = {
            "categorical": ["class", "several", "kind", "several", "number", ["number", "share"]],
            "binary": ["two"] * 5 + ["class", "flag"],
            "sparse": ["class", "kind", "text", "number"],
            "raw": [
                "number",
                "share",
                "flag",
                "nullable",
                "class",
                "text",
                "kind",
                ["number", "share"],
            ],
            "multi_output": [["number", "share"], ["text", "number"], ["share"], "class"],
        }
        return self._pick(by_mode.get(mode, ["class"]))

    def generator(self):
        if self.kind == "none":
            return None
        made = GENERATORS[self.kind](**self.generator_words)
        if self.number % 3:
            channels = {"grayscale": 1, "rgba": 4}.get(self.words.get("color_mode"), 3)
            made.fit(np.random.default_rng(0).random(self._batch_shape(channels), np.float32) * 255)
        return made

    def _batch_shape(self, channels):
        size = tuple(self.words["target_size"])
        first = self.generator_words.get("data_format") == "channels_first"
        return (4, channels, *size) if first else (4, *size, channels)


def negative(x):
    return 255 - x


def noisy(x):
    return x + np.random.normal(size=x.shape)


def halved(x):
    x /= 2
    return x


def leave_out_what_the_originals_do_not_share(drawn):
    words = drawn.words
    if drawn.kind == "kp":
        words["classes"] = sorted(set(words.get("classes") or [])) or None
    if drawn.kind != "k3":
        words["class_mode"] = "raw" if words["class_mode"] == "other" else words["class_mode"]
        words["color_mode"] = words.get("color_mode", "rgb").replace("cmyk", "rgb")
        words.pop("sort", None)
    if drawn.kind == "none":  # the iterator itself, which takes no old words
        for word in ("subset", "has_ext", "drop_duplicates", "follow_links"):
            words.pop(word, None)
