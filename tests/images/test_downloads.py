"""Downloads against a server on this machine that drops, lies, cannot resume or is not there; archives that are bad."""

import hashlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_archives import cifar_archive, cifar_batches
from small_server import Server

from lrtransfer.images import catalogue as data_module
from lrtransfer.images import downloads
from lrtransfer.images.archives import DataUnavailable, read_cifar10
from lrtransfer.images.downloads import SOURCES, data_folder, fetch, load_source
from lrtransfer.images.prepared import PARTS
from lrtransfer.images.transfers import CHUNK, Source


@pytest.fixture(scope="module")
def batches():
    return cifar_batches()


@pytest.fixture(scope="module")
def archive(batches):
    return cifar_archive(batches)


@pytest.fixture
def server(archive):
    with Server(archive) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def source(server, archive):
    checksum = "md5:" + hashlib.md5(archive).hexdigest()
    return Source("small", server.url, "small.tar.gz", checksum, read_cifar10, pause=0.0)


def files(folder):
    return {path.name for path in folder.iterdir()}


def expected(batches):
    """Standardised images, by the definition: planes to pixels, float64."""
    x = np.concatenate([x for x, _ in batches.values()]).astype(float)
    pixels = np.stack([x[:, :1024], x[:, 1024:2048], x[:, 2048:]], axis=-1)  # (images, 1024, 3)
    train = pixels[: -len(batches["test_batch"][1])]
    return ((pixels - train.mean(axis=(0, 1))) / train.std(axis=(0, 1))).reshape(len(x), -1)


def test_downloaded_prepared_and_quick_the_second_time(source, server, batches, tmp_path, capfd):
    data = load_source(source, tmp_path)
    assert data.shape == (32, 32, 3) and data.classes == 10
    assert data.train_x.shape == (60, 3072) and data.test_x.shape == (12, 3072)
    wanted = expected(batches)
    # Entries up to 1.8 in float32, from bytes less a float32 mean: two roundings of 2^-24 of 255, over 74.
    np.testing.assert_allclose(np.concatenate([data.train_x, data.test_x]), wanted, atol=1e-6)
    labels = np.concatenate([y for _, y in batches.values()])
    np.testing.assert_array_equal(np.concatenate([data.train_y, data.test_y]), labels)
    assert data.train_x.dtype == np.float32 and data.train_y.dtype == np.int64
    for array in (data.train_x, data.train_y, data.test_x, data.test_y):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
    shown = capfd.readouterr()
    assert "small.tar.gz" in shown.out and "100%" in shown.out and shown.err == ""
    assert files(tmp_path) == {"small.tar.gz", "small", "small.lock"}

    unreadable = replace(source, read=None, url="http://127.0.0.1:9/")
    again = load_source(unreadable, tmp_path)  # neither server nor archive is asked
    assert isinstance(again.train_x, np.memmap)
    np.testing.assert_array_equal(again.train_x, data.train_x)
    assert server.asked == [None] and capfd.readouterr() == ("", "")


def test_lost_connections_are_resumed(source, server, archive, tmp_path):
    server.drops = [100_000, 50_000, 10_000, 30_000]
    assert fetch(source, tmp_path, progress=False).read_bytes() == archive
    starts = [int(asked[6:-1]) for asked in server.asked[1:]]
    assert server.asked[0] is None and len(starts) == 4
    # What was sent is kept but for less than a block; a loss before anything came is asked for again.
    block = CHUNK
    assert 100_000 - block < starts[0] <= 100_000 and starts == sorted(starts)
    assert starts[-1] > 190_000 - 4 * block


def test_a_later_start_goes_on_where_the_last_one_stopped(source, server, archive, tmp_path):
    server.drops = [90_000, 0, 0, 0]
    with pytest.raises(DataUnavailable, match="Start again to go on where it stopped"):
        fetch(source, tmp_path, progress=False)
    part = (tmp_path / "small.tar.gz.part").read_bytes()
    assert len(part) > 90_000 - CHUNK and archive.startswith(part)
    assert fetch(source, tmp_path, progress=False).read_bytes() == archive
    assert server.asked[-1] == f"bytes={len(part)}-"
    assert "small.tar.gz.part" not in files(tmp_path)


def test_a_server_that_cannot_resume_starts_over(source, server, archive, tmp_path):
    server.ranges, server.drops = False, [100_000, 150_000]
    assert fetch(source, tmp_path, progress=False).read_bytes() == archive
    assert len(server.asked) == 3 and server.asked[2] is not None  # it was asked to resume, and did not


def test_a_server_that_always_breaks_off_at_the_same_place_is_given_up(source, server, tmp_path):
    server.ranges, server.drops = False, [100_000] * 50
    with pytest.raises(DataUnavailable, match="could not be downloaded"):
        fetch(source, tmp_path, progress=False)
    assert len(server.asked) < 10


@pytest.mark.parametrize("left", [b"something else" * 3000, b"x" * 10_000_000], ids=["pieces", "too long"])
def test_leftovers_that_do_not_fit_are_dropped(left, source, server, archive, tmp_path):
    (tmp_path / "small.tar.gz.part").write_bytes(left)
    assert fetch(source, tmp_path, progress=False).read_bytes() == archive
    assert len(server.asked) == 2


def test_a_complete_leftover_is_taken(source, server, archive, tmp_path):
    (tmp_path / "small.tar.gz.part").write_bytes(archive)
    assert fetch(source, tmp_path, progress=False).read_bytes() == archive


def test_a_wrong_checksum_is_refused_and_the_file_kept_aside(source, server, archive, tmp_path):
    server.content = archive[:-1] + b"?"
    read = []
    with pytest.raises(DataUnavailable) as refused:
        load_source(replace(source, read=lambda *_: read.append(1)), tmp_path, progress=False)
    wrong = "md5:" + hashlib.md5(server.content).hexdigest()
    for words in (wrong, source.checksum, str(tmp_path / "small.tar.gz.rejected"), "was not read", source.url):
        assert words in str(refused.value)
    assert files(tmp_path) == {"small.tar.gz.rejected", "small.lock"} and not read
    assert (tmp_path / "small.tar.gz.rejected").read_bytes() == server.content
    server.content = archive  # put right
    assert load_source(source, tmp_path, progress=False).classes == 10


def test_a_wrong_file_put_there_by_hand_is_refused(source, server, archive, tmp_path):
    (tmp_path / "small.tar.gz").write_bytes(archive[:1000])
    with pytest.raises(DataUnavailable, match="is not the file it should be"):
        fetch(source, tmp_path, progress=False)
    assert (tmp_path / "small.tar.gz.rejected").read_bytes() == archive[:1000] and server.asked == []


def test_no_network_says_what_to_do_and_a_file_put_there_by_hand_will_do(source, server, archive, tmp_path):
    server.shutdown()
    server.server_close()
    with pytest.raises(DataUnavailable) as refused:
        load_source(source, tmp_path, progress=False)
    for words in ("no connection", source.url, str(tmp_path / "small.tar.gz"), source.checksum, "LRTRANSFER_DATA"):
        assert words in str(refused.value)
    (tmp_path / "small.tar.gz").write_bytes(archive)
    assert load_source(source, tmp_path, progress=False).train_x.shape == (60, 3072)


@pytest.mark.parametrize(("status", "requests"), [(404, 1), (503, 3)])
def test_a_server_that_refuses_is_named(status, requests, source, server, tmp_path):
    server.status = status
    with pytest.raises(DataUnavailable, match=f"{status}"):
        fetch(source, tmp_path, progress=False)
    assert len(server.asked) == requests  # a missing page stays missing; a busy server is asked again


def damage_truncate(folder):
    with (folder / "train_x.npy").open("r+b") as file:
        file.truncate(5000)


def damage_zeros(folder):
    path = folder / "test_x.npy"
    path.write_bytes(b"\0" * path.stat().st_size)


def damage_missing(folder):
    (folder / "train_y.npy").unlink()


def damage_note(folder):
    (folder / "complete.json").write_text("{")


def damage_half(folder):
    """As a process leaves it that was killed while it wrote."""
    folder.rename(folder.with_name("small.building-0"))
    (folder.with_name("small.building-0") / "complete.json").unlink()


@pytest.mark.parametrize("damage", [damage_truncate, damage_zeros, damage_missing, damage_note, damage_half])
def test_a_damaged_cache_is_noticed_and_prepared_again(damage, source, server, tmp_path, capfd):
    whole = {part: np.array(getattr(load_source(source, tmp_path, progress=False), part)) for part in PARTS}
    damage(tmp_path / "small")
    data = load_source(source, tmp_path)
    for part, array in whole.items():
        np.testing.assert_array_equal(getattr(data, part), array)
    assert server.asked == [None]  # from the archive, not from the network
    assert ("is not usable" in capfd.readouterr().out) == (damage is not damage_half)
    assert files(tmp_path) == {"small.tar.gz", "small", "small.lock"}


def test_a_cache_of_another_archive_is_not_taken(source, server, archive, tmp_path):
    load_source(source, tmp_path, progress=False)
    (tmp_path / "small.tar.gz").unlink()
    other = "sha256:" + hashlib.sha256(archive).hexdigest()  # as good as another archive, to who compares checksums
    load_source(replace(source, checksum=other), tmp_path, progress=False)
    assert len(server.asked) == 2


CHILD = """
import sys, hashlib, numpy as np
from pathlib import Path
from lrtransfer.images.archives import read_cifar10
from lrtransfer.images.downloads import load_source
from lrtransfer.images.transfers import Source
url, checksum, folder = sys.argv[1:]
data = load_source(Source("small", url, "small.tar.gz", checksum, read_cifar10, pause=0.0), Path(folder))
print("sum", hashlib.md5(np.ascontiguousarray(data.train_x)).hexdigest())
"""


def start(source, folder):
    environment = os.environ | {"PYTHONPATH": str(Path(downloads.__file__).parents[2]), "PYTHONWARNINGS": "error"}
    command = [sys.executable, "-c", CHILD, source.url, source.checksum, str(folder)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_processes_that_start_at_once_download_once(source, server, tmp_path):
    server.pace = 0.05  # about half a second for the file
    children = [start(source, tmp_path) for _ in range(2)]
    outputs = [child.communicate(timeout=60) for child in children]
    assert [child.returncode for child in children] == [0, 0], outputs
    sums = {re.search("sum (.*)", out).group(1) for out, _ in outputs}
    assert len(sums) == 1 and server.asked == [None]
    assert files(tmp_path) == {"small.tar.gz", "small", "small.lock"}


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_killed_download_is_resumed_and_its_lock_is_free(source, server, archive, tmp_path):
    server.pace = 0.2
    child = start(source, tmp_path)
    part = tmp_path / "small.tar.gz.part"
    deadline = time.monotonic() + 30
    while not (part.exists() and part.stat().st_size > 30_000):
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    server.pace = 0.0
    assert fetch(source, tmp_path, progress=False).read_bytes() == archive
    assert server.asked[0] is None and server.asked[1].startswith("bytes=")


def test_a_drive_without_locks_will_do(source, server, archive, tmp_path, monkeypatch):
    import fcntl

    def unsupported(*_):
        raise OSError("no locks on this drive")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    assert load_source(source, tmp_path, progress=False).classes == 10


def test_the_environment_variable_chooses_the_folder(source, server, tmp_path, monkeypatch):
    chosen = tmp_path / "deep" / "er"
    monkeypatch.setenv("LRTRANSFER_DATA", str(chosen))
    monkeypatch.setitem(downloads.SOURCES, "cifar10", replace(source, name="cifar10"))
    data_module.loaded.cache_clear()
    first = data_module.load("cifar10")
    assert data_module.load("cifar10") is first and server.asked == [None]
    assert files(chosen) == {"small.tar.gz", "cifar10", "cifar10.lock"}
    monkeypatch.setenv("LRTRANSFER_DATA", "~/somewhere")
    assert data_folder() == Path.home() / "somewhere"
    monkeypatch.delenv("LRTRANSFER_DATA")
    assert data_folder().name == "lrtransfer"
    (tmp_path / "file").write_text("")
    with pytest.raises(DataUnavailable, match="Set LRTRANSFER_DATA to a folder"):
        load_source(source, tmp_path / "file" / "below")


def test_without_tqdm_a_line_is_printed(source, server, tmp_path, monkeypatch, capfd):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    load_source(source, tmp_path)
    assert "Downloading small.tar.gz ...\n" in capfd.readouterr().out


def test_checksums_are_pinned():
    assert SOURCES["cifar10"].file == "cifar-10-python.tar.gz"
    assert SOURCES["cifar10"].checksum == "md5:c58f30108f718f92721af3b95e74349a"
    assert SOURCES["tiny-imagenet"].file == "tiny-imagenet-200.zip"
    assert SOURCES["tiny-imagenet"].checksum == "md5:90528d7ca1a48142e341f4ef8d21d0de"
    assert set(SOURCES) < set(data_module.DATASETS)


def test_a_server_that_answers_416_to_a_request_for_everything_is_told_by_that(source, server, tmp_path):
    server.status = 416
    with pytest.raises(DataUnavailable, match=r"could not be downloaded from .*416"):
        fetch(source, tmp_path, progress=False)
    assert len(server.asked) == 1


@pytest.mark.parametrize("name", ["small.tar.gz", "small.tar.gz.part", "small.lock"])
def test_a_folder_where_a_file_belongs_is_named(name, source, tmp_path):
    (tmp_path / name).mkdir()
    with pytest.raises(DataUnavailable, match=rf"{re.escape(name)}'? is a folder"):
        load_source(source, tmp_path, progress=False)
    assert (tmp_path / name).is_dir()


def test_a_file_where_the_prepared_folder_belongs_is_replaced(source, tmp_path):
    (tmp_path / "small").write_text("not a folder")
    assert load_source(source, tmp_path, progress=False).classes == 10
