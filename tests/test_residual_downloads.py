"""Downloads against a server on this machine that drops, lies, cannot resume or is not there; archives that are bad."""

import hashlib
import http.server
import io
import os
import pickle
import re
import signal
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lrtransfer.residual import archives, downloads
from lrtransfer.residual import data as data_module
from lrtransfer.residual.archives import DataUnavailable, read_cifar10, read_tiny_imagenet
from lrtransfer.residual.downloads import SOURCES, Source, data_folder, fetch, load_source


class Server(http.server.ThreadingHTTPServer):
    """Serves one file; ``ranges``: whether it can resume; ``drops``: bytes after which each next answer breaks off."""

    daemon_threads = True

    def __init__(self, content):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.ranges, self.drops, self.pace, self.status = content, True, [], 0.0, None
        self.asked = []  # the Range header of every request
        self.url = f"http://127.0.0.1:{self.server_address[1]}/set.archive"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        s = self.server
        wanted = self.headers.get("Range")
        s.asked.append(wanted)
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and s.ranges else 0
        if s.status:
            self.send_error(s.status)
            return
        if start >= len(s.content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(s.content)}")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(s.content) - 1}/{len(s.content)}")
        self.send_header("Content-Length", str(len(s.content) - start))
        self.end_headers()
        body = s.content[start:]
        body = body[: s.drops.pop(0)] if s.drops else body
        for i in range(0, len(body), 20_000):
            self.wfile.write(body[i : i + 20_000])
            time.sleep(s.pace)

    def log_message(self, *arguments):
        pass


def old_pickle(x, y):
    """A batch as Python 2 and NumPy 1 wrote it, opcode by opcode: module names and 0/1 flags of that time."""

    def text(value):  # SHORT_BINSTRING or BINSTRING: Python 2's str
        return (b"U" + bytes([len(value)]) if len(value) < 256 else b"T" + len(value).to_bytes(4, "little")) + value

    def whole(value):
        return b"J" + int(value).to_bytes(4, "little", signed=True)

    dtype = b"cnumpy\ndtype\n" + text(b"u1") + whole(0) + whole(1) + b"\x87R"
    dtype += b"(" + whole(3) + text(b"|") + b"NNN" + whole(-1) + whole(-1) + whole(0) + b"tb"
    array = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n" + whole(0) + b"\x85" + text(b"b") + b"\x87R"
    array += (
        b"(" + whole(1) + whole(x.shape[0]) + whole(x.shape[1]) + b"\x86" + dtype + b"\x89" + text(x.tobytes()) + b"tb"
    )
    labels = b"](" + b"".join(whole(label) for label in y) + b"e"
    return b"\x80\x02}(" + text(b"data") + array + text(b"labels") + labels + b"u."


def tar_of(members):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def cifar_batches(images=12):
    random = np.random.default_rng(0)
    names = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
    return {
        name: (random.integers(0, 256, (images, 3072), dtype=np.uint8), random.integers(0, 10, images))
        for name in names
    }


@pytest.fixture(scope="module")
def batches():
    return cifar_batches()


@pytest.fixture(scope="module")
def archive(batches):
    """A small cifar-10-python.tar.gz, about 220 kB: a dozen blocks of a download."""
    members = {"cifar-10-batches-py/batches.meta": b"not read"}
    members |= {f"cifar-10-batches-py/{name}": old_pickle(*batch) for name, batch in batches.items()}
    return tar_of(members)


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
    block = downloads._CHUNK
    assert 100_000 - block < starts[0] <= 100_000 and starts == sorted(starts)
    assert starts[-1] > 190_000 - 4 * block


def test_a_later_start_goes_on_where_the_last_one_stopped(source, server, archive, tmp_path):
    server.drops = [90_000, 0, 0, 0]
    with pytest.raises(DataUnavailable, match="Start again to go on where it stopped"):
        fetch(source, tmp_path, progress=False)
    part = (tmp_path / "small.tar.gz.part").read_bytes()
    assert len(part) > 90_000 - downloads._CHUNK and archive.startswith(part)
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
    whole = {part: np.array(getattr(load_source(source, tmp_path, progress=False), part)) for part in downloads._PARTS}
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
from lrtransfer.residual.archives import read_cifar10
from lrtransfer.residual.downloads import Source, load_source
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
    data_module._load.cache_clear()
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


# Archives


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_batches_pickled_by_python_3_are_read_too(protocol, batches, tmp_path):
    members = {
        f"cifar-10-batches-py/{name}": pickle.dumps({b"data": x, b"labels": y.tolist()}, protocol=protocol)
        for name, (x, y) in batches.items()
    }
    (tmp_path / "c.tar.gz").write_bytes(tar_of(members))
    raw = read_cifar10(tmp_path / "c.tar.gz", show=False)
    x, _ = batches["data_batch_3"]
    assert raw.train_x.shape == (60, 32, 32, 3)
    assert raw.train_x[24 + 5, 7, 9, 2] == x[5, 2048 + 7 * 32 + 9]  # blue plane, row 7, column 9


class Malicious:
    def __reduce__(self):
        return (os.system, ("touch was-run",))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (pickle.dumps({b"data": Malicious()}), "system is not allowed"),
        (pickle.dumps({b"data": np.array([print], dtype=object), b"labels": [0]}), "not allowed"),
        (pickle.dumps({b"data": np.zeros((1, 3072)), b"labels": [0]}), "not allowed"),
        (pickle.dumps({b"data": np.zeros((1, 3072), np.uint8), b"labels": [10]}), "a batch of shape"),
        (pickle.dumps({b"data": np.zeros((2, 3072), np.uint8), b"labels": [1]}), "a batch of shape"),
        (pickle.dumps([1, 2]), "cannot be read"),
        (b"", "cannot be read"),
    ],
    ids=["code", "objects", "floats", "label", "lengths", "list", "empty"],
)
def test_pickles_that_hold_anything_else_are_refused(content, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.tar.gz").write_bytes(tar_of({"cifar-10-batches-py/data_batch_1": content}))
    with pytest.raises(DataUnavailable, match=words):
        read_cifar10(tmp_path / "c.tar.gz", show=False)
    assert files(tmp_path) == {"c.tar.gz"}


def test_incomplete_archives_are_named(archive, batches, tmp_path):
    path = tmp_path / "c.tar.gz"
    path.write_bytes(tar_of({"x/data_batch_1": old_pickle(*batches["data_batch_1"])}))
    with pytest.raises(DataUnavailable, match=r"lacks data_batch_2, .*test_batch"):
        read_cifar10(path, show=False)
    path.write_bytes(archive[: len(archive) // 2])
    with pytest.raises(DataUnavailable, match="cannot be read as a CIFAR-10 archive"):
        read_cifar10(path, show=False)
    with pytest.raises(DataUnavailable, match="cannot be read as a Tiny ImageNet archive"):
        read_tiny_imagenet(path, show=False)


OUTSIDE = ["/etc/passwd", "../up", "a/../../up", "C:\\up", "a\\..\\..\\up", "\\\\host\\up"]


@pytest.mark.parametrize("name", OUTSIDE)
def test_names_that_leave_the_folder_are_refused(name, tmp_path):
    (tmp_path / "c.tar.gz").write_bytes(tar_of({name: b""}))
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as packed:
        packed.writestr(name, b"")
    for read, file in ((read_cifar10, "c.tar.gz"), (read_tiny_imagenet, "t.zip")):
        with pytest.raises(DataUnavailable, match="points outside"):
            read(tmp_path / file, False)
    assert archives.check_member("a/b..c/d", tmp_path) == "a/b..c/d"


def picture(colour):
    packed = io.BytesIO()
    Image.new("L" if isinstance(colour, int) else "RGB", (64, 64), colour).save(packed, "JPEG", quality=95)
    return packed.getvalue()


def tiny_imagenet(path, *, without=()):
    """The layout of tiny-imagenet-200.zip with three classes listed out of order; classes differ in brightness."""
    ids = ["n03", "n01", "n02"]
    members = {"wnids.txt": "\n".join(ids) + "\n"}
    for k, wnid in enumerate(sorted(ids)):
        for i in range(6):
            grey = 60 * k + 10 * i
            members[f"train/{wnid}/images/{wnid}_{i}.JPEG"] = picture(grey if i == 0 else (grey, grey, grey))
        members[f"train/{wnid}/{wnid}_boxes.txt"] = "x\n"
        members[f"val/images/val_{k}.JPEG"] = picture((60 * k + 5,) * 3)
    lines = [f"val_{k}.JPEG\t{wnid}\t0\t0\t9\t9" for k, wnid in enumerate(sorted(ids))]
    members["val/val_annotations.txt"] = "\n".join(lines) + "\n"
    members["test/images/test_0.JPEG"] = picture((1, 2, 3))
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in members.items():
            if name not in without:
                packed.writestr("tiny-imagenet-200/" + name, content)


def test_tiny_imagenet_is_read(tmp_path):
    tiny_imagenet(tmp_path / "t.zip")
    raw = read_tiny_imagenet(tmp_path / "t.zip", show=False)
    assert raw.train_x.shape == (18, 64, 64, 3) and raw.test_x.shape == (3, 64, 64, 3) and raw.classes == 3
    # JPEG keeps a flat grey to a level or so; the classes are 60 apart, the images of one 10.
    levels = raw.train_x.mean(axis=(1, 2, 3))
    np.testing.assert_allclose(np.sort(levels), [60 * k + 10 * i for k in range(3) for i in range(6)], atol=2)
    np.testing.assert_array_equal(raw.train_y, (levels + 5) // 60)
    np.testing.assert_array_equal(raw.test_y, (raw.test_x.mean(axis=(1, 2, 3)) + 5) // 60)
    assert (np.diff(raw.train_y) < 0).any()  # shuffled
    again = read_tiny_imagenet(tmp_path / "t.zip", show=False)
    np.testing.assert_array_equal(again.train_x, raw.train_x)


@pytest.mark.parametrize("name", ["wnids.txt", "val/val_annotations.txt", "val/images/val_1.JPEG"])
def test_a_tiny_imagenet_that_lacks_something_is_refused(name, tmp_path):
    tiny_imagenet(tmp_path / "t.zip", without=[name])
    with pytest.raises(DataUnavailable, match="cannot be read as a Tiny ImageNet archive"):
        read_tiny_imagenet(tmp_path / "t.zip", show=False)
