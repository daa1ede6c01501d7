"""Photographs in class folders, as ImageNet is usually unpacked: decoded when asked for, never all at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lrtransfer.images.archives import DataUnavailable


class FolderImages:
    """Photographs in a folder, decoded when asked for: behaves like a read-only float32 array (images, D).

    ``images[rows]`` with a whole number, a slice or an array of whole numbers or booleans decodes those images:
    the shorter side scaled to ``size``, the middle square cut out, every channel standardised, flattened with the
    channel last, D = 3 size^2. ``np.asarray(images)`` decodes all of them, 4 D bytes an image. Nothing decoded is kept.

    Parameters
    ----------
    paths
        the files, one an image
    size
        pixels of a side
    mean, deviation
        of every channel, (3,) or one number: what is subtracted from a pixel's bytes, and what the rest is divided by
    """

    ndim = 2
    dtype = np.dtype(np.float32)

    def __init__(
        self,
        paths: Sequence[str | os.PathLike[str]],
        size: int,
        mean: NDArray[np.floating] | float,
        deviation: NDArray[np.floating] | float,
    ) -> None:
        self.paths, self.size = tuple(os.fspath(path) for path in paths), size  # Path objects would take more memory
        self.mean, self.deviation = np.float32(mean), np.float32(deviation)
        self.shape = (len(self.paths), 3 * size * size)

    def __len__(self) -> int:
        return len(self.paths)

    def pixels(self, row: int) -> NDArray[np.uint8]:
        """One image as it looks.

        Parameters
        ----------
        row
            which of the paths

        Returns
        -------
        ndarray
            (size, size, 3) uint8.

        Raises
        ------
        DataUnavailable
            naming a file that cannot be read.
        """
        from PIL import Image

        try:
            with Image.open(self.paths[row]) as image:
                image.draft("RGB", (2 * self.size, 2 * self.size))  # JPEGs decode at a fraction of their size
                width, height = image.size
                side = min(width, height)
                left, top = (width - side) // 2, (height - side) // 2
                square = image.crop((left, top, left + side, top + side)).convert("RGB")
                small = square.resize((self.size, self.size), Image.Resampling.BILINEAR)
                return np.asarray(small)
        except OSError as error:
            raise DataUnavailable(f"{self.paths[row]} cannot be read as an image ({error}).") from error

    def __getitem__(self, rows: Any) -> NDArray[np.float32]:
        chosen = np.arange(len(self))[rows]
        out = np.empty((chosen.size, self.shape[1]), np.float32)
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:  # Pillow decodes without holding the interpreter
            for i, pixels in enumerate(pool.map(self.pixels, chosen.ravel().tolist())):
                out[i] = ((pixels - self.mean) / self.deviation).ravel()
        return out.reshape(*chosen.shape, self.shape[1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("images in a folder cannot be had without a copy: they are decoded when asked for.")
        return self[:].astype(dtype or np.float32, copy=False)


def class_folders(folder: Path) -> tuple[list[tuple[str, int]], list[tuple[str, int]], int]:
    """Images of a folder by class, shuffled once and for all.

    Parameters
    ----------
    folder
        with ``train/CLASS/*`` and ``val/CLASS/*``, or ``CLASS/*`` alone, of which every tenth image of a class in order
        of name is held out

    Returns
    -------
    train, test : list of tuple
        (path, label) each; classes are numbered in sorted order of their names
    classes : int
        how many there are.

    Raises
    ------
    DataUnavailable
        for fewer than two classes, and where a part has no images.
    """
    if (folder / "train").is_dir() and (folder / "val").is_dir():
        names = _classes(folder / "train")
        train = [(path, y) for y, name in enumerate(names) for path in _pictures(folder / "train" / name)]
        test = [(path, y) for y, name in enumerate(names) for path in _pictures(folder / "val" / name)]
    else:
        names, train, test = _classes(folder), [], []
        for y, name in enumerate(names):
            for i, path in enumerate(_pictures(folder / name)):
                (test if i % 10 == 9 else train).append((path, y))
    if len(names) < 2 or not train or not test:
        raise DataUnavailable(
            f"{folder} holds {len(names)} class folders with {len(train)} images to train and {len(test)} to test. "
            "It should hold train/CLASS/IMAGE and val/CLASS/IMAGE, or CLASS/IMAGE with ten images a class or more."
        )
    train, test = ([part[i] for i in np.random.default_rng(0).permutation(len(part))] for part in (train, test))
    return train, test, len(names)


def _classes(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def _pictures(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    kinds = (".jpeg", ".jpg", ".png", ".bmp", ".webp")
    with os.scandir(folder) as entries:
        return sorted(entry.path for entry in entries if entry.name.lower().endswith(kinds) and entry.name[0] != ".")
