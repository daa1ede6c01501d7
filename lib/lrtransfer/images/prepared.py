"""Folders of prepared images: standardised float32 arrays as NumPy files, and a note of what they should be.

Each belongs to an archive, named by its ``checksum``; one of another archive, incomplete or damaged is not used.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lrtransfer.images.archives import RawImages
from lrtransfer.images.dataset import Dataset, channel_statistics

PARTS = ("train_x", "train_y", "test_x", "test_y")
_FORMAT = 1  # another number makes old folders be prepared again


def opened(prepared: Path) -> Dataset:
    """The data set in a prepared folder.

    Parameters
    ----------
    prepared
        the folder, without a ``complaint``

    Returns
    -------
    Dataset
        images mapped read-only from disk.
    """
    note = json.loads((prepared / "complete.json").read_text())
    train_x, train_y, test_x, test_y = (
        np.load(prepared / f"{part}.npy", mmap_mode="r" if part.endswith("x") else None) for part in PARTS
    )
    for labels in (train_y, test_y):
        labels.setflags(write=False)
    height, width, channels = note["shape"]
    return Dataset(train_x, train_y, test_x, test_y, classes=note["classes"], shape=(height, width, channels))


def prepare(raw: RawImages, checksum: str, prepared: Path) -> None:
    """Write the arrays beside their final place, then put them there in one step.

    Parameters
    ----------
    raw
        the images as read
    checksum
        of the archive they are from
    prepared
        the folder to be; one that is there is replaced
    """
    building = prepared.with_name(f"{prepared.name}.building-{uuid.uuid4().hex}")
    building.mkdir()
    mean, deviation = channel_statistics(raw.train_x)
    for name in ("train", "test"):
        images: NDArray[np.uint8] = getattr(raw, f"{name}_x")  # (images, H, W, C)
        flat = (len(images), images[0].size)
        out = np.lib.format.open_memmap(building / f"{name}_x.npy", mode="w+", dtype=np.float32, shape=flat)
        for i in range(0, len(images), 1000):
            out[i : i + 1000] = ((images[i : i + 1000] - mean) / deviation).reshape(-1, flat[1])
        out.flush()
        del out
        np.save(building / f"{name}_y.npy", getattr(raw, f"{name}_y"))
    files = {f"{part}.npy": _fingerprint(building / f"{part}.npy") for part in PARTS}
    note = {"format": _FORMAT, "archive": checksum, "classes": raw.classes, "shape": raw.train_x.shape[1:]}
    (building / "complete.json").write_text(json.dumps(note | {"files": files}))
    if prepared.is_dir():
        shutil.rmtree(prepared)
    else:
        prepared.unlink(missing_ok=True)  # a file where the folder belongs
    try:
        building.rename(prepared)
    except OSError:  # without a lock, another process may have been quicker
        if complaint(prepared, checksum) is not None:
            raise
        shutil.rmtree(building)


def complaint(prepared: Path, checksum: str) -> str | None:
    """What is wrong with a prepared folder; reads blocks of it only, so that a start is quick.

    Parameters
    ----------
    prepared
        the folder
    checksum
        of the archive it should be from

    Returns
    -------
    str or None
        a few words, or None where nothing is.
    """
    try:
        note = json.loads((prepared / "complete.json").read_text())
        if (note["format"], note["archive"]) != (_FORMAT, checksum):
            return "it was made from another archive or by another version"
        for name in (f"{part}.npy" for part in PARTS):
            if note["files"][name] != _fingerprint(prepared / name):
                return f"{name} is damaged"
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is missing"
    except (OSError, ValueError, KeyError, TypeError):
        return "complete.json is damaged"
    return None


def _fingerprint(path: Path, blocks: int = 64, length: int = 4096) -> list[Any]:
    """Size in bytes and SHA-256 of blocks spread evenly from the first byte to the last."""
    size, digest = path.stat().st_size, hashlib.sha256()
    with path.open("rb") as file:
        for i in range(blocks):
            file.seek(max(0, size - length) * i // (blocks - 1))
            digest.update(file.read(length))
    return [size, digest.hexdigest()]
