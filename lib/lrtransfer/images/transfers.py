"""One archive over the network: resumed where it stopped, taken only if its checksum is right."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from lrtransfer.images.archives import DataUnavailable, RawImages
from lrtransfer.sweeps.progress import Bar

VARIABLE = "LRTRANSFER_DATA"
CHUNK = 16 * 1024  # what a broken connection may lose


@dataclass(frozen=True)
class Source:
    """Where a data set comes from.

    Attributes
    ----------
    name
        what settings call it
    url, file
        the archive's address and its name on disk
    checksum
        as pooch writes them, "md5:..." or "sha256:..."
    read
        archive and whether to show progress in, images out; only called once the checksum is right
    pause
        seconds before another try, times the tries
    """

    name: str
    url: str
    file: str
    checksum: str
    read: Callable[[Path, bool], RawImages]
    pause: float = field(default=2.0, compare=False)


def complete(source: Source, path: Path, progress: bool) -> Path:
    """Download into a file that ends in ``.part``, going on where an earlier start or a lost connection stopped.

    Parameters
    ----------
    source
        what to download
    path
        where the archive will lie
    progress
        whether a bar is shown

    Returns
    -------
    Path
        of the part file, whole and with the right checksum.

    Raises
    ------
    DataUnavailable
        where the server refuses, three tries bring nothing new, or the checksum is wrong.
    """
    import requests
    import urllib3

    part = path.with_name(path.name + ".part")
    if part.is_dir():
        raise in_the_way(source, part)
    furthest, fruitless, mended = _size(part), 0, _size(part) > 0
    while True:
        try:
            whole, reason = _pull(source, part, progress), "the connection closed early"
            if whole and is_right(source, part):
                return part
            if whole and not mended:
                raise rejected(source, part, path)
            if whole:  # pieces that do not fit together: once more, in one piece
                part.unlink()
                furthest, mended = 0, False
                continue
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            status = getattr(getattr(error, "response", None), "status_code", 0)
            if 400 <= status < 500:
                raise _unreachable(source, path, str(error)) from error
            lost = isinstance(error, requests.ConnectionError)
            reason = "no connection" if lost else f"{type(error).__name__}: {error}"
        size = _size(part)
        fruitless = 0 if size > furthest else fruitless + 1
        furthest, mended = max(size, furthest), mended or size > 0
        if fruitless == 3:
            raise _unreachable(source, path, reason)
        time.sleep(source.pause * (1 + fruitless))


def _pull(source: Source, part: Path, progress: bool) -> bool:
    """One request, appended to what is there (or instead of it, if the server cannot resume); True if all came."""
    import requests

    have = _size(part)
    # Bytes as they lie on the server: the checksum is theirs.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with requests.get(source.url, headers=headers, stream=True, timeout=(15, 60)) as response:
        span = response.headers.get("Content-Range", "")  # "bytes 100-999/1000", or "bytes */1000" with status 416
        if response.status_code == 416 and have:  # of a request for all there is, it is an error like any other
            if span == f"bytes */{have}":
                return True
            part.unlink()
            return False
        response.raise_for_status()
        if response.status_code == 206 and not span.startswith(f"bytes {have}-"):
            part.unlink()
            return False
        if response.status_code != 206:
            have = 0
        length = response.headers.get("Content-Length")
        total = have + int(length) if length else None
        with (
            part.open("ab" if have else "wb") as file,
            Bar(f"Downloading {source.file}", total, unit="B", start=have, show=progress) as bar,
        ):
            for block in response.raw.stream(CHUNK, decode_content=False):
                file.write(block)
                bar.update(len(block))
    return total is None or _size(part) == total


def _checksum(source: Source, path: Path) -> str:
    kind = source.checksum.partition(":")[0]
    return f"{kind}:{pooch_module().file_hash(str(path), alg=kind)}"


def is_right(source: Source, path: Path) -> bool:
    """Whether a file has the checksum that its source pins.

    Parameters
    ----------
    source
        with the checksum
    path
        of the file

    Returns
    -------
    bool
    """
    return _checksum(source, path) == source.checksum.lower()


def rejected(source: Source, file: Path, path: Path) -> DataUnavailable:
    """Put a wrong file aside.

    Parameters
    ----------
    source
        what it should be
    file
        the wrong one
    path
        where the right one belongs

    Returns
    -------
    DataUnavailable
        the sentence about it, to be raised.
    """
    kept = path.with_name(path.name + ".rejected")
    found = _checksum(source, file)
    os.replace(file, kept)
    return DataUnavailable(
        f"{source.file} is not the file it should be: its checksum is {found}, not {source.checksum}. It is kept "
        f"as {kept} and was not read. Start again to download it from {source.url}, or put the right file at {path}."
    )


def in_the_way(source: Source, folder: Path) -> DataUnavailable:
    """What to say of a folder where a file belongs.

    Parameters
    ----------
    source
        whose file it is
    folder
        the folder

    Returns
    -------
    DataUnavailable
        to be raised.
    """
    return DataUnavailable(f"{folder} is a folder, where a file of {source.name!r} belongs: move it away.")


def _unreachable(source: Source, path: Path, reason: str) -> DataUnavailable:
    return DataUnavailable(
        f"{source.name!r} could not be downloaded from {source.url} ({reason}). Start again to go on where it "
        f"stopped, or get {source.file} in another way and put it at {path} (checksum {source.checksum}). "
        f"The environment variable {VARIABLE} chooses the folder."
    )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def pooch_module() -> ModuleType:
    """The library that fetches and checks files.

    Returns
    -------
    module
        pooch.

    Raises
    ------
    ImportError
        that says how to install it.
    """
    try:
        import pooch
    except ImportError as error:
        raise ImportError("downloading data sets needs pooch: pip install pooch") from error
    return pooch
