"""Text for masked-language modelling that needs no network: the documentation topics inside CPython.

``topics`` is the text, split once for all; ``masked_batches`` draws training windows and masks from a seed.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lrtransfer.numerics.arguments import MOST_SEED, count, finite, one, positive, refuse

HELD_OUT = 0.1
MASK = 0.15  # the share of positions to predict, BERT's


@dataclass(frozen=True)
class Text:
    """A text as character numbers: ``train`` (N,), ``held_out`` (M,), and the ``characters`` they number.

    Character k is ``characters[k]``; the number after the last, ``mask``, stands for a masked position, so there
    are ``vocabulary`` = len(characters) + 1 symbols.
    """

    train: NDArray[np.int64]
    held_out: NDArray[np.int64]
    characters: str

    @property
    def mask(self) -> int:
        """The number of the mask symbol."""
        return len(self.characters)

    @property
    def vocabulary(self) -> int:
        """How many symbols there are, the mask included."""
        return len(self.characters) + 1


@dataclass(frozen=True)
class MaskedBatches:
    """Windows and what is hidden in them, one row a step.

    ``tokens`` (steps, batch, length): the text. ``hidden`` (steps, m): the masked positions, counted through
    the batch row by row, increasing; m = round(mask * batch * length), at least one.
    """

    tokens: NDArray[np.int64]
    hidden: NDArray[np.int64]


@lru_cache(maxsize=1)
def topics() -> Text:
    """The documentation topics that ship with CPython (``pydoc_data.topics``), about 0.37 million characters.

    Many topics repeat parts of others, so every paragraph is kept only where it comes first in alphabetical
    order of the topics: before this a fifth of the text was repetition, and in a held-out tenth 8% of the windows
    of 64 characters stood word for word in the rest; after it, 0.3%. The last tenth of what is left is held out.
    The text belongs to the Python version: so do losses measured on it, by a little.

    Raises ``ModuleNotFoundError`` on an installation without the standard library's documentation topics.
    """
    try:
        from pydoc_data.topics import topics as pages
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "This Python lacks pydoc_data.topics, the text to train on; Python's own builds and conda's have it."
        ) from None
    first: dict[str, str] = {}  # paragraph with its spaces evened out: as it stands
    for title in sorted(pages):
        for paragraph in pages[title].split("\n\n"):
            if evened := " ".join(paragraph.split()):
                first.setdefault(evened, paragraph)
    return split_text("\n\n".join(first.values()))


@lru_cache(maxsize=1)
def topics_digest() -> str:
    """A name for the text that this Python has: equal for equal characters and an equal split."""
    text = topics()
    return hashlib.sha256(text.train.tobytes() + text.held_out.tobytes()).hexdigest()[:16]


def split_text(text: str, *, held_out: float = HELD_OUT) -> Text:
    """Number the characters of a text and hold out its last part, a share ``held_out`` in (0, 1).

    Characters are numbered in the order of their code points. ``ValueError`` for a share outside (0, 1) or a text
    too short to leave both parts a character.
    """
    share = one("held_out", positive("held_out", held_out))
    if not isinstance(text, str) or len(text) < 2:
        raise refuse("text", text, "a string of at least two characters")
    cut = len(text) - round(share * len(text))
    if not 0 < cut < len(text):
        raise refuse("held_out", held_out, "a share between 0 and 1 that leaves both parts a character")
    points = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
    characters, numbers = np.unique(points, return_inverse=True)
    numbers = numbers.astype(np.int64)
    numbers.setflags(write=False)  # shared by all who call topics()
    return Text(numbers[:cut], numbers[cut:], "".join(map(chr, characters)))


def masked_batches(
    text: NDArray[np.int64],
    steps: int,
    batch: int,
    length: int,
    *,
    seed: int,
    part: int = 0,
    mask: float = MASK,
) -> MaskedBatches:
    """Random windows of a text with random positions hidden, the same for equal arguments.

    ``text``: character numbers (N,). ``steps``, ``batch``, ``length``: the shape of the draw, length at most N.
    ``seed``, ``part``: whole numbers from 0; the parts of one seed (the stages of a run) are independent.
    ``mask``: the share of positions hidden, in (0, 1]; every batch hides the same number of them.

    Unlike BERT's recipe every hidden character is replaced by the mask symbol, none left in place or swapped.
    Returns ``MaskedBatches``. Raises ``ValueError`` naming the argument.
    """
    steps = count("steps", steps)
    batch, length = count("batch", batch, minimum=1), count("length", length, minimum=1)
    seed, part = count("seed", seed, maximum=MOST_SEED), count("part", part, maximum=2**32 - 1)
    share = one("mask", finite("mask", mask, minimum=0.0))
    if not 0 < share <= 1:
        raise refuse("mask", mask, "a share above 0 and at most 1")
    if length > len(text):
        raise refuse("length", length, f"at most the {len(text)} characters of the text")
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, part)))
    places = batch * length
    hide = max(1, round(share * places))
    starts = random.integers(0, len(text) - length + 1, (steps, batch))
    tokens = text[starts[..., None] + np.arange(length)]  # (steps, batch, length)
    hidden = np.empty((steps, hide), dtype=np.int64)
    for t in range(steps):  # a step at a time: all at once would hold steps * places doubles
        hidden[t] = np.sort(random.permutation(places)[:hide])
    return MaskedBatches(tokens, hidden)


def held_out_batch(text: NDArray[np.int64], windows: int, length: int, *, mask: float = MASK) -> MaskedBatches:
    """Evenly spaced windows of a held-out text with fixed masks, as one batch: the same for every run.

    Raises ``ValueError`` where ``windows`` windows of ``length`` characters do not fit side by side.
    """
    windows, length = count("windows", windows, minimum=1), count("length", length, minimum=1)
    if windows * length > len(text):
        raise refuse("windows", windows, f"at most {len(text) // length}, what fits into the held-out text")
    drawn = masked_batches(text, 1, windows, length, seed=0, part=2**32 - 1, mask=mask)  # for the masks alone
    starts = np.linspace(0, len(text) - length, windows).astype(np.int64)
    return MaskedBatches(text[starts[:, None] + np.arange(length)][None], drawn.hidden)


def final_batches(text: NDArray[np.int64], length: int, *, mask: float = MASK, share: float = 1.0) -> MaskedBatches:
    """The held-out text in windows side by side, places of it each hidden in one of the rows: for a last check.

    A loss on one draw of masks carries the luck of that draw. Here the places are dealt at random, but the same for
    every run, into k = ceil(1 / mask) rows of one size: the mean of the rows' losses is that over all places. Of these
    rows the first round(share k) are used, one at least. What does not fill a window at the end, or a row, is left
    out: fewer than ``length`` and than k places.

    Returns ``MaskedBatches``, each row with all windows. Raises ``ValueError`` naming the argument, and where no window
    or row fits.
    """
    length, part = count("length", length, minimum=1), one("mask", positive("mask", mask))
    used = one("share", positive("share", share))
    if used > 1 or part > 1:
        raise refuse("mask and share", (mask, share), "above 0 and at most 1")
    windows, rows = len(text) // length, math.ceil(1 / part)
    places = windows * length
    if not windows:
        raise refuse("length", length, f"at most the {len(text)} characters of the text")
    if places < rows:
        raise refuse("mask", mask, f"at least 1 / {places}, one place of those held out")
    dealt = np.random.default_rng(0).permutation(places)[: places // rows * rows].reshape(rows, -1)
    dealt = np.sort(dealt[: max(1, round(used * rows))], axis=1)
    return MaskedBatches(np.broadcast_to(text[:places].reshape(windows, length), (len(dealt), windows, length)), dealt)
