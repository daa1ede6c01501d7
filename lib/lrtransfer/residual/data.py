"""Images that need no network: fixed splits, standardised, float32."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lrtransfer._check import choice


@dataclass(frozen=True)
class Dataset:
    """A labelled set of images, split once and for all; the arrays are read-only.

    ``train_x`` (train, D) and ``test_x`` (test, D): float32. ``train_y`` (train,) and ``test_y`` (test,):
    int64 labels 0 .. classes - 1.
    """

    train_x: NDArray[np.float32]
    train_y: NDArray[np.int64]
    test_x: NDArray[np.float32]
    test_y: NDArray[np.int64]
    classes: int


def _digits() -> Dataset:
    """The 1797 handwritten digits of scikit-learn: 8 x 8 pixels, 10 classes, 1197 to train, 600 to test."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise ImportError(
            "data = 'digits' needs scikit-learn, which carries the images: pip install scikit-learn"
        ) from error
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))  # the file is sorted by writer
    return _standardised(images[order], labels[order], held_out=600)


def _standardised(images: NDArray[np.float64], labels: NDArray[np.int64], held_out: int) -> Dataset:
    """Split off the last images and standardise every pixel by the training images' mean and deviation."""
    train = images[:-held_out]
    spread = train.std(axis=0)
    # Some corner pixels never change; they become zero instead of zero over zero.
    x = ((images - train.mean(axis=0)) / np.where(spread > 0, spread, 1.0)).astype(np.float32)
    y = labels.astype(np.int64)
    for array in (x, y):
        array.setflags(write=False)
    return Dataset(x[:-held_out], y[:-held_out], x[-held_out:], y[-held_out:], classes=int(y.max()) + 1)


_LOADERS: dict[str, Callable[[], Dataset]] = {"digits": _digits}

DATASETS = tuple(_LOADERS)


@cache
def _load(name: str) -> Dataset:
    return _LOADERS[name]()


def load(name: str) -> Dataset:
    """The data set of that name ("digits"); read once a process. ``ValueError`` for an unknown name."""
    return _load(choice("data", name, DATASETS))
