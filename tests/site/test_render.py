"""What the rendering remembers of pages that did not change, and when it must not."""

from __future__ import annotations

import json

import pytest

import render


@pytest.fixture
def repository(tmp_path):
    """The files that a digest is taken of, in small."""
    for name in ("tools/build/extensions", "lib/lrtransfer", "book/_static", "results/one", "kept"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("_config.yml", "_toc.yml", "requirements.txt", "book/references.bib", "lib/lrtransfer/rates.py"):
        (tmp_path / name).write_text("one")
    (tmp_path / "tools/build/extensions/term_index.py").write_text("one")
    (tmp_path / "kept/depth.ipynb").write_text(notebook("plot()", "figure"))
    (tmp_path / "book/depth.md").write_text("words")
    return tmp_path


def notebook(source: str, output: str) -> str:
    cell = {"cell_type": "code", "source": source, "outputs": [{"text": output}]}
    return json.dumps({"cells": [{"cell_type": "markdown", "source": "words"}, cell]})


def keep(repository) -> None:
    """Leave a parsed page."""
    (render.parsed(repository, repository / "kept") / "page").touch()


def kept(repository) -> bool:
    """Whether it is still there."""
    return (render.parsed(repository, repository / "kept") / "page").exists()


def test_what_was_read_is_kept_while_only_words_change(repository):
    keep(repository)
    (repository / "book/depth.md").write_text("other words")
    (repository / "results/one/record.json").write_text("{}")  # a page that reads it has other outputs
    assert kept(repository)


@pytest.mark.parametrize(
    "name",
    [
        "_config.yml",
        "_toc.yml",
        "requirements.txt",
        "book/references.bib",
        "lib/lrtransfer/rates.py",
        "lib/lrtransfer/new.py",
        "tools/build/extensions/term_index.py",
    ],
)
def test_what_was_read_is_thrown_away_where_anything_that_pages_are_made_of_changed(repository, name):
    keep(repository)
    (repository / name).write_text("two")
    assert not kept(repository)
    keep(repository)
    (repository / name).unlink()
    assert not kept(repository)


def test_other_outputs_throw_it_away_and_other_words_between_the_cells_do_not(repository):
    keep(repository)
    page = repository / "kept/depth.ipynb"
    page.write_text(notebook("plot()", "figure").replace("words", "other words"))
    assert kept(repository)
    page.write_text(notebook("plot()", "another figure"))
    assert not kept(repository)
