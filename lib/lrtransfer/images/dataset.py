"""A labelled set of images, whatever it came from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Dataset:
    """A labelled set of images, split once and for all; the arrays are read-only.

    The images are NumPy arrays, for downloaded sets mapped from disk. Those of a folder ("imagenet",
    ``image_folder``) are ``folders.FolderImages``: ``len``, ``shape``, ``dtype``, ``x[rows]`` and
    ``np.asarray(x)`` as for an array, decoded when asked for.

    Attributes
    ----------
    train_x, test_x
        (train, D) and (test, D), float32
    train_y, test_y
        (train,) and (test,), int64 labels 0 .. classes - 1
    classes
        how many there are
    shape
        (height, width, channels): every row is an image flattened with the channel last, so ``x.reshape(-1, *shape)``
        gives the images and D is height * width * channels
    """

    train_x: NDArray[np.float32]
    train_y: NDArray[np.int64]
    test_x: NDArray[np.float32]
    test_y: NDArray[np.int64]
    classes: int
    shape: tuple[int, int, int]


def channel_statistics(images: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean and deviation of every channel over images of bytes, exact by counting values.

    Parameters
    ----------
    images
        (n, H, W, C), uint8

    Returns
    -------
    mean, deviation : ndarray
        (C,) each, float32; a deviation of 0 is given as 1.
    """
    counts = np.zeros((images.shape[-1], 256))
    for i in range(0, len(images), 1000):
        for channel, row in enumerate(counts):
            row += np.bincount(images[i : i + 1000, ..., channel].ravel(), minlength=256)
    share, values = counts / counts.sum(axis=1, keepdims=True), np.arange(256.0)
    mean = share @ values
    deviation = np.sqrt((share * (values - mean[:, None]) ** 2).sum(axis=1))
    return mean.astype(np.float32), np.where(deviation > 0, deviation, 1.0).astype(np.float32)
