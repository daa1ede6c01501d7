"""The text: split, drawn, hidden."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from small_transformer import WORDS, spelled  # noqa: E402

from lrtransfer.stages.transformer import text  # noqa: E402


def test_the_topics_are_split_once_without_repetition():
    topics = text.topics()
    whole = spelled(topics, np.concatenate([topics.train, topics.held_out]))
    assert abs(len(topics.held_out) / len(whole) - text.HELD_OUT) < 1 / len(whole)
    evened = [" ".join(paragraph.split()) for paragraph in whole.split("\n\n")]
    kept = [paragraph for paragraph in evened if paragraph]
    assert len(set(kept)) == len(kept) and len(kept) > 1000
    assert topics.train.max() < topics.mask == topics.vocabulary - 1
    assert text.topics() is topics and not topics.train.flags.writeable


def test_split_numbers_characters_in_order():
    split = text.split_text("banana🐍", held_out=0.3)
    assert split.characters == "abn🐍"
    assert spelled(split, split.train) == "banan" and spelled(split, split.held_out) == "a🐍"
    assert spelled(split, [0, split.mask]) == "a\u2588"


def test_batches_belong_to_seed_and_part():
    def draw(**changes):
        return text.masked_batches(WORDS.train, 5, 4, 10, **{"seed": 3, "part": 0} | changes)

    first, again = draw(), draw()
    np.testing.assert_array_equal(first.tokens, again.tokens)
    np.testing.assert_array_equal(first.hidden, again.hidden)
    for other in (draw(seed=4), draw(part=1)):
        assert not np.array_equal(first.hidden, other.hidden) and not np.array_equal(first.tokens, other.tokens)


def test_windows_come_from_the_text_and_a_fixed_share_is_hidden():
    batches = text.masked_batches(WORDS.train, 6, 4, 10, seed=0)
    assert batches.tokens.shape == (6, 4, 10) and batches.hidden.shape == (6, 6)  # 0.15 * 40 = 6
    whole = spelled(WORDS, WORDS.train)
    assert all(spelled(WORDS, window) in whole for window in batches.tokens.reshape(-1, 10))
    assert all(len(set(row)) == 6 and 0 <= min(row) and max(row) < 40 for row in batches.hidden.tolist())
    # Every place is equally often hidden: 2000 draws of 6 among 40 give 300 a place, standard deviation 16.
    hidden = text.masked_batches(WORDS.train, 2000, 4, 10, seed=5).hidden
    counts = np.bincount(hidden.reshape(-1), minlength=40)
    assert np.abs(counts - 300).max() < 5 * np.sqrt(2000 * 0.15 * 0.85)


def test_a_last_check_hides_every_place_once():
    rows = text.final_batches(WORDS.held_out, 7, mask=0.3)
    windows = len(WORDS.held_out) // 7
    assert rows.tokens.shape == (4, windows, 7)  # 1 / 0.3 rounded up
    np.testing.assert_array_equal(rows.tokens[2].reshape(-1), WORDS.held_out[: windows * 7])
    places = np.sort(rows.hidden.reshape(-1))
    assert len(set(places.tolist())) == places.size > windows * 7 - 4 and (np.diff(rows.hidden) > 0).all()
    part = text.final_batches(WORDS.held_out, 7, mask=0.3, share=0.5)
    np.testing.assert_array_equal(part.hidden, rows.hidden[:2])
    assert len(text.final_batches(WORDS.held_out, 7, mask=0.3, share=0.01).hidden) == 1
