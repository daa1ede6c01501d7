"""Small archives of images for tests, packed as the makers of the data sets did."""

import io
import tarfile

import numpy as np


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


def cifar_archive(batches):
    """A small cifar-10-python.tar.gz, about 220 kB: a dozen blocks of a download."""
    members = {"cifar-10-batches-py/batches.meta": b"not read"}
    members |= {f"cifar-10-batches-py/{name}": old_pickle(*batch) for name, batch in batches.items()}
    return tar_of(members)
