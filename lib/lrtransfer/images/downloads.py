"""Data sets that must be downloaded first: pinned checksums, resumed downloads, arrays prepared once.

All files live in one folder, ``LRTRANSFER_DATA`` or else the user's cache folder: the archive as it came, and
beside it a folder of NumPy files that later starts map into memory instead of reading the archive again.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from lrtransfer.images.archives import DataUnavailable, RawImages, read_cifar10, read_tiny_imagenet
from lrtransfer.images.dataset import Dataset
from lrtransfer.images.prepared import complaint, opened, prepare
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


SOURCES = {
    source.name: source
    for source in (
        Source(
            "cifar10",
            "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
            "cifar-10-python.tar.gz",
            "md5:c58f30108f718f92721af3b95e74349a",
            read_cifar10,
        ),
        Source(
            "tiny-imagenet",
            "http://cs231n.stanford.edu/tiny-imagenet-200.zip",
            "tiny-imagenet-200.zip",
            "md5:90528d7ca1a48142e341f4ef8d21d0de",
            read_tiny_imagenet,
        ),
    )
}


def data_folder() -> Path:
    """The folder of all downloads.

    Returns
    -------
    Path
        the environment variable ``LRTRANSFER_DATA``, else the user's cache folder.
    """
    chosen = os.environ.get(VARIABLE)
    return Path(chosen).expanduser() if chosen else Path(_pooch().os_cache("lrtransfer"))


def load_source(source: Source, folder: Path | None = None, *, progress: bool = True) -> Dataset:
    """The data set of a source, downloaded and prepared where that has not been done yet.

    A prepared folder that is incomplete or damaged (sizes, and blocks spread over each file, are compared with
    those recorded when it was written) is prepared again from the archive.

    Parameters
    ----------
    source
        what to load
    folder
        ``data_folder()`` by default
    progress
        bars on stdout

    Returns
    -------
    Dataset
        float32, every channel standardised by the training images' mean and deviation, mapped read-only from disk and
        so shared by processes.

    Raises
    ------
    DataUnavailable
        with a sentence that says what to do.
    """
    folder = data_folder() if folder is None else Path(folder)
    prepared = folder / source.name
    if complaint(prepared, source.checksum) is not None:
        with _only_one(folder, source, progress) as alone:
            trouble = complaint(prepared, source.checksum)  # another process may have finished it meanwhile
            if trouble is not None:
                if prepared.exists() and progress:
                    print(f"{prepared} is not usable ({trouble}); preparing it again from the archive.", flush=True)
                archive = _fetch(source, folder, progress)
                for left in folder.glob(f"{source.name}.building-*") if alone else ():
                    shutil.rmtree(left, ignore_errors=True)  # by a process that was killed
                prepare(source.read(archive, progress), source.checksum, prepared)
    return opened(prepared)


def fetch(source: Source, folder: Path | None = None, *, progress: bool = True) -> Path:
    """The source's archive on disk, its checksum verified; downloaded, or resumed, where it is not there yet.

    A file with a wrong checksum is renamed to end in ``.rejected`` and never read. One process downloads at a
    time, others wait.

    Parameters
    ----------
    source
        what to fetch
    folder
        ``data_folder()`` by default
    progress
        bars on stdout

    Returns
    -------
    Path
        the archive.

    Raises
    ------
    DataUnavailable
        with a sentence that says what to do.
    """
    folder = data_folder() if folder is None else Path(folder)
    with _only_one(folder, source, progress):
        return _fetch(source, folder, progress)


def _fetch(source: Source, folder: Path, progress: bool) -> Path:
    pooch = _pooch()
    path = folder / source.file
    if path.exists() and not _right(source, path):
        raise _reject(source, path, path)
    store = pooch.create(
        path=folder, base_url="", registry={source.file: source.checksum}, urls={source.file: source.url}
    )

    def download(url: str, output_file: str | Path, _: Any) -> None:
        os.replace(_complete(source, path, progress), output_file)

    log = pooch.get_logger()
    level = log.level
    log.setLevel("ERROR")  # it would write to stderr what the bar says already
    try:
        return Path(store.fetch(source.file, downloader=download))
    finally:
        log.setLevel(level)


def _complete(source: Source, path: Path, progress: bool) -> Path:
    """Download into a file that ends in ``.part``, going on where an earlier start or a lost connection stopped."""
    import requests
    import urllib3

    part = path.with_name(path.name + ".part")
    furthest, fruitless, mended = _size(part), 0, _size(part) > 0
    while True:
        try:
            whole, reason = _pull(source, part, progress), "the connection closed early"
            if whole and _right(source, part):
                return part
            if whole and not mended:
                raise _reject(source, part, path)
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
        if response.status_code == 416:
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


@contextmanager
def _only_one(folder: Path, source: Source, progress: bool) -> Iterator[bool]:
    """Hold the source's lock, which the system drops should the process die; False where there are no locks.

    Nothing false is read without it: an archive is taken by its checksum, arrays are written in a folder of the
    process's own, and both are put in place in one step. But two processes may then hinder each other's download.
    """
    FileLock, Timeout = _filelock()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / f"{source.name}.lock", thread_local=False)
        (folder / f"{source.name}.lock").touch()
    except OSError as error:
        raise DataUnavailable(
            f"{folder} cannot be written to ({error}). Set {VARIABLE} to a folder that can hold {source.name!r}."
        ) from error
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if progress:
                print(f"Waiting for another process that is getting {source.name!r} ...", flush=True)
            lock.acquire()
    except (OSError, NotImplementedError):  # some network and mounted drives
        yield False
        return
    with lock:
        lock.release()  # entering took it a second time
        yield True


def _checksum(source: Source, path: Path) -> str:
    kind = source.checksum.partition(":")[0]
    return f"{kind}:{_pooch().file_hash(str(path), alg=kind)}"


def _right(source: Source, path: Path) -> bool:
    return _checksum(source, path) == source.checksum.lower()


def _reject(source: Source, file: Path, path: Path) -> DataUnavailable:
    """Put a wrong file aside; the sentence about it."""
    kept = path.with_name(path.name + ".rejected")
    found = _checksum(source, file)
    os.replace(file, kept)
    return DataUnavailable(
        f"{source.file} is not the file it should be: its checksum is {found}, not {source.checksum}. It is kept "
        f"as {kept} and was not read. Start again to download it from {source.url}, or put the right file at {path}."
    )


def _unreachable(source: Source, path: Path, reason: str) -> DataUnavailable:
    return DataUnavailable(
        f"{source.name!r} could not be downloaded from {source.url} ({reason}). Start again to go on where it "
        f"stopped, or get {source.file} in another way and put it at {path} (checksum {source.checksum}). "
        f"The environment variable {VARIABLE} chooses the folder."
    )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _filelock() -> Any:
    try:
        from filelock import FileLock, Timeout
    except ImportError as error:
        raise ImportError("downloading data sets needs filelock: pip install filelock") from error
    return FileLock, Timeout


def _pooch() -> ModuleType:
    try:
        import pooch
    except ImportError as error:
        raise ImportError("downloading data sets needs pooch: pip install pooch") from error
    return pooch
