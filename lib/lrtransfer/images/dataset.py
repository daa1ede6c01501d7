"""A labelled set of images, whatever it came from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Dataset:
    """A labelled set of images, split once and for all; the arrays are read-only.

    ``train_x`` (train, D) and ``test_x`` (test, D): float32. ``train_y`` (train,) and ``test_y`` (test,):
    int64 labels 0 .. classes - 1. ``shape`` (height, width, channels): every row is an image flattened with the
    channel last, so ``x.reshape(-1, *shape)`` gives the images and D is height * width * channels.

    The images are NumPy arrays, for downloaded sets mapped from disk. Those of a folder ("imagenet",
    ``image_folder``) are ``archives.FolderImages``: ``len``, ``shape``, ``dtype``, ``x[rows]`` and
    ``np.asarray(x)`` as for an array, decoded when asked for.
    """

    train_x: NDArray[np.float32]
    train_y: NDArray[np.int64]
    test_x: NDArray[np.float32]
    test_y: NDArray[np.int64]
    classes: int
    shape: tuple[int, int, int]


def channel_statistics(images: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean and deviation of every channel over images (n, H, W, C) of bytes, exact by counting values, (C,) each."""
    counts = np.zeros((images.shape[-1], 256))
    for i in range(0, len(images), 1000):
        for channel, row in enumerate(counts):
            row += np.bincount(images[i : i + 1000, ..., channel].ravel(), minlength=256)
    share, values = counts / counts.sum(axis=1, keepdims=True), np.arange(256.0)
    mean = share @ values
    deviation = np.sqrt((share * (values - mean[:, None]) ** 2).sum(axis=1))
    return mean.astype(np.float32), np.where(deviation > 0, deviation, 1.0).astype(np.float32)
