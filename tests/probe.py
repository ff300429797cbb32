"""A loader that asks its workers questions; apart, because they import what it is in."""

import os
import sys
import time
from dataclasses import dataclass
from typing import Any

from dfloader.batch import Loader, Pixels
from dfloader.errors import DecodeError

NAMES = {"os": os, "sys": sys, "time": time}


@dataclass(frozen=True)
class Probe(Loader):
    """Fills the images with the answer to `question`, a Python expression."""

    question: str = ""

    def fill(self, epoch: int, rows: Any, pixels: Pixels) -> tuple[DecodeError, ...]:
        pixels["image"][...] = float(eval(self.question, NAMES) or 0)
        return ()
