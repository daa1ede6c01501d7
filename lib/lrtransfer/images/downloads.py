"""Data sets that must be downloaded first: pinned checksums, resumed downloads, arrays prepared once.

All files live in one folder, ``LRTRANSFER_DATA`` or else the user's cache folder: the archive as it came, and
beside it a folder of NumPy files that later starts map into memory instead of reading the archive again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lrtransfer.images.archives import DataUnavailable, read_cifar10, read_tiny_imagenet
from lrtransfer.images.dataset import Dataset
from lrtransfer.images.prepared import complaint, opened, prepare
from lrtransfer.images.transfers import VARIABLE, Source, complete, in_the_way, is_right, pooch_module, rejected

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

    Raises
    ------
    DataUnavailable
        for a user without a home directory, where the variable does not name a folder without it.
    """
    chosen = os.environ.get(VARIABLE)
    try:
        folder = Path(chosen).expanduser() if chosen else Path(pooch_module().os_cache("lrtransfer"))
    except RuntimeError:
        folder = Path("~")
    if folder.parts[:1] and folder.parts[0].startswith("~"):  # some versions leave it, and would make such a folder
        raise DataUnavailable(
            f"there is no home directory for the data sets: set the environment variable {VARIABLE} to a folder."
        )
    return folder


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
    pooch = pooch_module()
    path = folder / source.file
    if path.is_dir():
        raise in_the_way(source, path)
    if path.exists() and not is_right(source, path):
        raise rejected(source, path, path)
    store = pooch.create(
        path=folder, base_url="", registry={source.file: source.checksum}, urls={source.file: source.url}
    )

    def download(url: str, output_file: str | Path, _: Any) -> None:
        os.replace(complete(source, path, progress), output_file)

    log = pooch.get_logger()
    level = log.level
    log.setLevel("ERROR")  # it would write to stderr what the bar says already
    try:
        return Path(store.fetch(source.file, downloader=download))
    finally:
        log.setLevel(level)


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
        if (folder / f"{source.name}.lock").is_dir():
            raise IsADirectoryError(f"'{folder / source.name}.lock' is a folder")
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


def _filelock() -> Any:
    try:
        from filelock import FileLock, Timeout
    except ImportError as error:
        raise ImportError("downloading data sets needs filelock: pip install filelock") from error
    return FileLock, Timeout
