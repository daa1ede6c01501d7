"""Archives of images: what is read out of them, and what is refused."""

import io
import os
import pickle
import zipfile

import numpy as np
import pytest
from PIL import Image
from small_archives import cifar_archive, cifar_batches, old_pickle, tar_of

from lrtransfer.images import archives
from lrtransfer.images.archives import DataUnavailable, read_cifar10, read_tiny_imagenet


@pytest.fixture(scope="module")
def batches():
    return cifar_batches()


@pytest.fixture(scope="module")
def archive(batches):
    return cifar_archive(batches)


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


def test_every_picture_and_label_of_an_archive_comes_back(archive, batches, tmp_path):
    (tmp_path / "c.tar.gz").write_bytes(archive)
    raw = read_cifar10(tmp_path / "c.tar.gz", show=False)
    training = [batches[f"data_batch_{k}"] for k in range(1, 6)]
    for kept, labels, parts in (
        (raw.train_x, raw.train_y, training),
        (raw.test_x, raw.test_y, [batches["test_batch"]]),
    ):
        planes = np.concatenate([x for x, _ in parts]).reshape(-1, 3, 32, 32)  # red, green, blue, each row by row
        np.testing.assert_array_equal(kept, planes.transpose(0, 2, 3, 1))
        np.testing.assert_array_equal(labels, np.concatenate([y for _, y in parts]))


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
    assert [path.name for path in tmp_path.iterdir()] == ["c.tar.gz"]


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
