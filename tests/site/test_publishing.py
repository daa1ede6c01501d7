"""Publishing: a fork's site is the fork's, notebooks know where they come from, and what is missing is said."""

from __future__ import annotations

import json
import subprocess
import xml.etree.ElementTree as ET

import pytest
from bs4 import BeautifulSoup

import execute
import notebooks
import preview
import publish_check
import publishing
import repository

FORK = "https://github.com/someone/their-fork"


@pytest.mark.parametrize(
    ("address", "site"),
    [
        (FORK, "https://someone.github.io/their-fork/"),
        ("https://github.com/Some-One/Some-One.github.io", "https://some-one.github.io/"),
        ("https://gitlab.com/a/b", ""),
        ("", ""),
    ],
)
def test_where_a_site_is_served(address, site):
    assert publishing.site_address(address) == site


def test_a_run_on_github_is_of_its_own_repository_whatever_the_files_say(tmp_path, monkeypatch):
    (tmp_path / "_config.yml").write_text("repository:\n  url: https://github.com/upstream/book\n")
    assert repository.address(tmp_path) == "https://github.com/upstream/book"
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", "someone/their-fork")
    monkeypatch.setenv("GITHUB_SHA", "abc123")
    assert (repository.address(tmp_path), repository.revision(tmp_path)) == (FORK, "abc123")
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://git.corp.internal")
    assert repository.address(tmp_path) == "https://github.com/upstream/book"


def test_a_published_notebook_installs_its_own_repository_at_its_own_revision():
    source = "\n".join(notebooks.install_cell("").splitlines())
    text = json.dumps({"cells": [{"source": source}]})
    cell = json.loads(publishing.with_address(text, FORK, "abc123"))["cells"][0]["source"]
    assert f'REPOSITORY = "{FORK}"' in cell and 'REVISION = "abc123"' in cell
    assert cell.replace(FORK, "").replace("abc123", "") == source  # and nothing else changes
    names = {}
    exec(cell.split("if importlib")[0], names)
    assert names["REPOSITORY"] == FORK
    assert 'git+{REPOSITORY}" + (f"@{REVISION}" if REVISION else "")' in cell


def test_colab_opens_the_published_branch():
    wanted = "https://colab.research.google.com/github/someone/their-fork/blob/gh-pages/notebooks/depth.ipynb"
    assert publishing.colab_address(FORK, "depth") == wanted
    assert publishing.colab_address("https://gitlab.com/a/b", "depth") == publishing.colab_address("", "depth") == ""


def test_the_map_robots_and_the_page_for_lost_readers():
    site = publishing.site_address(FORK)
    places = [e.text for e in ET.fromstring(publishing.sitemap(["", "book/a&b.html"], site)).iter() if e.text]
    assert places == [site, f"{site}book/a&b.html"]
    assert publishing.robots(site).endswith(f"Sitemap: {site}sitemap.xml\n") and "Sitemap" not in publishing.robots("")
    for where, root in ((site, "/their-fork/"), ("", "/")):
        page = BeautifulSoup(publishing.not_found(where, [("book/x.html", "X & Y")]), "html.parser")
        assert [a["href"] for a in page.find_all("a")] == [root, f"{root}search.html", f"{root}book/x.html"]
        assert page.title and page.html["lang"] == "en"


def test_a_description_is_the_first_paragraph_in_words():
    body = (
        "<p>Short.</p><p>In <b>bold</b> words, with <span>more</span> than sixty characters in them &amp; a half.</p>"
    )
    assert publishing.description(body) == "In bold words, with more than sixty characters in them & a half."
    long = f"<p>{'word ' * 80}</p>"
    assert publishing.description(long).endswith("word …") and len(publishing.description(long)) <= 200
    tags = publishing.preview_tags('A "title"', "words", "https://x.org/", "p.html")
    assert 'content="A &quot;title&quot;"' in tags and 'og:image" content="https://x.org/_static/preview.png"' in tags
    assert "og:image" not in publishing.preview_tags("A", "words", "", "p.html")


def test_the_preview_is_a_picture_of_the_size_that_previews_have(tmp_path):
    preview.draw(tmp_path / "p.png")
    head = (tmp_path / "p.png").read_bytes()[:24]
    assert head[1:4] == b"PNG" and (int.from_bytes(head[16:20]), int.from_bytes(head[20:24])) == (1200, 630)


@pytest.fixture
def built(tmp_path):
    """A small site as the build leaves it, of a fork."""
    site = tmp_path / "html"
    for folder in ("book", "notebooks"):
        (site / folder).mkdir(parents=True)
    for name in (*publish_check.FILES, "sitemap.xml"):
        (site / name).touch()
    made = {"repository": FORK, "revision": "abc", "site": publishing.site_address(FORK), "preset": "book"}
    (site / "build.json").write_text(json.dumps(made))
    cell = json.dumps({"cells": [{"source": [notebooks.install_cell("")]}]})
    (site / "notebooks" / "depth.ipynb").write_text(publishing.with_address(cell, FORK, "abc"))
    (site / "book" / "depth.html").write_text(f'<a href="{publishing.colab_address(FORK, "depth")}">')
    return site


def test_nothing_keeps_a_whole_site_from_being_published(built):
    assert publish_check.problems(built) == []


def record(site, **changes):
    made = json.loads((site / "build.json").read_text()) | changes
    (site / "build.json").write_text(json.dumps(made))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda site: (site / "404.html").unlink(), "has no 404.html: run make book"),
        (lambda site: (site / "sitemap.xml").unlink(), "no sitemap.xml"),
        (lambda site: (site / "book" / "depth.html").write_text("<p>"), "depth.html opens nothing in Colab"),
        (lambda site: record(site, repository="https://github.com/up/stream"), "depth.ipynb does not know"),
        (lambda site: record(site, repository=""), "no public address"),
        (lambda site: record(site, revision=""), "revision that was built is unknown"),
        (lambda site: record(site, preset="smoke"), "numbers mean nothing"),
    ],
)
def test_what_is_missing_is_said(built, change, sentence):
    change(built)
    assert any(sentence in problem for problem in publish_check.problems(built))


def test_pushing_makes_one_commit_of_the_site_and_touches_nothing_else(built, tmp_path, monkeypatch):
    def git(*words, at=tmp_path / "clone"):
        return subprocess.run(["git", "-C", at, *words], check=True, capture_output=True, text=True).stdout.strip()

    subprocess.run(["git", "init", "--quiet", "--bare", tmp_path / "origin"], check=True)
    subprocess.run(["git", "init", "--quiet", tmp_path / "clone"], check=True)
    git("config", "user.name", "A"), git("config", "user.email", "a@example.org")
    (tmp_path / "clone" / ".gitignore").write_text("*.ipynb\n")
    git("add", "."), git("commit", "--quiet", "-m", "one"), git("remote", "add", "origin", tmp_path / "origin")
    monkeypatch.setattr(publish_check, "ROOT", tmp_path / "clone")
    for _ in range(2):
        publish_check.push(built)
    files = git("ls-tree", "-r", "--name-only", "gh-pages", at=tmp_path / "origin").splitlines()
    assert sorted(files) == sorted(str(p.relative_to(built)) for p in built.rglob("*") if p.is_file())
    assert git("rev-list", "--count", "gh-pages", at=tmp_path / "origin") == "1"
    assert git("status", "--porcelain") == ""


# The built site


def test_every_page_says_what_it_is_about(site):
    said = {}
    for name, _ in execute.toc_entries():
        page = BeautifulSoup((site / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
        said[name] = page.find("meta", attrs={"name": "description"})["content"]
        assert page.find("meta", property="og:title")["content"] and len(said[name]) > 60, name
        assert "\\" not in said[name] and "<" not in said[name]
    assert len(set(said.values())) == len(said)


def test_a_site_without_an_address_has_no_launch_button_and_says_so(site):
    made = json.loads((site / "build.json").read_text(encoding="utf-8"))
    page = (site / "book" / "depth.html").read_text(encoding="utf-8")
    assert ("colab.research.google.com" in page) == made["repository"].startswith("https://github.com/")
    first = json.loads((site / "notebooks" / "depth.ipynb").read_text(encoding="utf-8"))["cells"][0]["source"]
    assert f'REPOSITORY = "{made["repository"]}"' in "".join(first)
    assert bool(made["repository"]) or any("no public address" in text for text in publish_check.problems(site))
    assert (site / "404.html").is_file() and (site / "robots.txt").is_file()
    assert (site / "sitemap.xml").is_file() == bool(made["site"])
