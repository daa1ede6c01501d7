"""Image sets in the form their makers hand them out: CIFAR's tar and Tiny ImageNet's zip.

Archives are read in place and never unpacked, so no file name inside them can reach the disk; names that would
leave the folder are refused all the same, because no honest archive has them.
"""

from __future__ import annotations

import io
import pickle
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from lrtransfer.sweeps.progress import Bar


class DataUnavailable(RuntimeError):
    """A data set could not be had; the message says what was tried and what to do."""


@dataclass(frozen=True)
class RawImages:
    """An image set as read.

    Attributes
    ----------
    train_x, test_x
        uint8 (images, H, W, C)
    train_y, test_y
        int64 (images,), labels 0 .. classes - 1
    classes
        how many there are
    """

    train_x: NDArray[np.uint8]
    train_y: NDArray[np.int64]
    test_x: NDArray[np.uint8]
    test_y: NDArray[np.int64]
    classes: int


def check_member(name: str, archive: Path) -> str:
    """The name of an archive's member, checked.

    Parameters
    ----------
    name
        of the member
    archive
        the file, for the sentence of the error

    Returns
    -------
    str
        the name.

    Raises
    ------
    DataUnavailable
        where unpacking it would leave the folder.
    """
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    if posix.is_absolute() or windows.drive or windows.root or ".." in windows.parts:
        raise DataUnavailable(f"{archive} is refused: its member {name!r} points outside the archive's own folder.")
    return name


class _ArraysOnly(pickle.Unpickler):
    """Builds NumPy arrays of bytes out of plain containers, and nothing else: a pickle can otherwise run code."""

    def find_class(self, module: str, name: str) -> Any:
        if module in ("numpy.core.multiarray", "numpy._core.multiarray") and name == "_reconstruct":
            return np.empty(0).__reduce__()[0]
        if module == "numpy" and name == "ndarray":
            return np.ndarray
        if module == "numpy" and name == "dtype":
            return _uint8
        if module == "_codecs" and name == "encode":  # how Python 3 writes bytes for Python 2
            return _latin1
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed here")


def _uint8(kind: str | bytes, *flags: object) -> np.dtype[Any]:
    """dtype("u1"), the only one allowed; its flags (align, copy) say nothing about single bytes."""
    if kind not in ("u1", b"u1"):
        raise pickle.UnpicklingError(f"arrays of type {kind!r} are not allowed here")
    return np.dtype(np.uint8)


def _latin1(text: str, encoding: str) -> bytes:
    return text.encode("latin-1")


def read_cifar10(path: Path, show: bool = True) -> RawImages:
    """CIFAR-10 out of cifar-10-python.tar.gz: batches 1 to 5 to train, the test batch to test, in their order.

    Every batch is a pickled dictionary whose b"data" (images, 3072) holds the red, green and blue planes of each
    image and b"labels" their classes. Only containers and byte arrays are unpickled.

    Parameters
    ----------
    path
        the archive
    show
        whether a bar shows the progress

    Returns
    -------
    RawImages
        50000 and 10000 of 32 x 32 x 3, in 10 classes.

    Raises
    ------
    DataUnavailable
        for an archive that cannot be read or lacks a batch.
    """
    wanted = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
    found: dict[str, tuple[NDArray[np.uint8], NDArray[np.int64]]] = {}
    try:
        with tarfile.open(path, "r:gz") as archive, Bar("Reading CIFAR-10", 6, unit=" files", show=show) as bar:
            for member in archive:
                name = PurePosixPath(check_member(member.name, path)).name
                handle = archive.extractfile(member) if member.isfile() and name in wanted else None
                if handle is not None:
                    found[name] = _cifar_batch(handle)
                    bar.update(1)
    except (tarfile.TarError, EOFError, pickle.UnpicklingError, KeyError, ValueError, TypeError) as error:
        raise _unreadable(path, "a CIFAR-10 archive", error) from error
    lacking = [name for name in wanted if name not in found]
    if lacking:
        raise _unreadable(path, "a CIFAR-10 archive", f"it lacks {', '.join(lacking)}")
    x, y = (np.concatenate(parts) for parts in zip(*(found[name] for name in wanted[:5]), strict=True))
    return RawImages(x, y, *found["test_batch"], classes=10)


def _cifar_batch(handle: IO[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    batch = _ArraysOnly(handle, encoding="bytes").load()
    x, y = batch[b"data"], np.asarray(batch[b"labels"], dtype=np.int64)
    if x.dtype != np.uint8 or x.shape != (len(y), 3072) or not ((y >= 0) & (y < 10)).all():
        raise ValueError(f"a batch of shape {x.shape} with {len(y)} labels")
    return np.ascontiguousarray(x.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)), y  # (images, 32, 32, 3)


def read_tiny_imagenet(path: Path, show: bool = True) -> RawImages:
    """Tiny ImageNet out of tiny-imagenet-200.zip: its train folders to train, its validation images to test.

    Classes are numbered by their WordNet ids in sorted order. Both parts are shuffled once and for all, since the
    archive is sorted by class. The unlabelled test images are left where they are. While it reads, all images are
    in memory as bytes (1.35 GB for the real set).

    Parameters
    ----------
    path
        the archive
    show
        whether a bar shows the progress

    Returns
    -------
    RawImages
        100000 and 10000 of 64 x 64 x 3, in 200 classes.

    Raises
    ------
    DataUnavailable
        for an archive that cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = [check_member(name, path) for name in archive.namelist()]
            root = next(name for name in names if name.endswith("/wnids.txt"))[: -len("wnids.txt")]
            ids = sorted(archive.read(root + "wnids.txt").decode().split())
            label = {wnid: i for i, wnid in enumerate(ids)}
            train = sorted(name for name in names if name.startswith(root + "train/") and name.endswith(".JPEG"))
            lines = archive.read(root + "val/val_annotations.txt").decode().splitlines()
            val = sorted(tuple(line.split("\t")[:2]) for line in lines if line.strip())
            pairs = [(name, label[PurePosixPath(name).parts[2]]) for name in train]
            held_out = [(f"{root}val/images/{name}", label[wnid]) for name, wnid in val]
            with Bar("Reading Tiny ImageNet", len(pairs) + len(held_out), unit=" images", show=show) as bar:
                parts = [_zipped_images(archive, part, bar.update) for part in (pairs, held_out)]
    except (zipfile.BadZipFile, EOFError, KeyError, ValueError, StopIteration, OSError) as error:
        raise _unreadable(path, "a Tiny ImageNet archive", error) from error
    return RawImages(*parts[0], *parts[1], classes=len(ids))


def _zipped_images(
    archive: zipfile.ZipFile, pairs: Sequence[tuple[str, int]], advance: Callable[[int], Any]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    from PIL import Image

    if not pairs:
        raise ValueError("no images")
    pairs = [pairs[i] for i in np.random.default_rng(0).permutation(len(pairs))]
    images: NDArray[np.uint8] | None = None
    for i, (name, _) in enumerate(pairs):
        with Image.open(io.BytesIO(archive.read(name))) as image:
            pixels = np.asarray(image.convert("RGB"))  # some of the photographs are grey
        if images is None:
            images = np.empty((len(pairs), *pixels.shape), np.uint8)
        images[i] = pixels
        advance(1)
    assert images is not None
    return images, np.array([y for _, y in pairs], np.int64)


def _unreadable(path: Path, what: str, reason: object) -> DataUnavailable:
    return DataUnavailable(f"{path} cannot be read as {what} ({reason}). Delete it and start again.")
