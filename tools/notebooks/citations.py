"""The bibliography as plain text: "Author et al. (2026)" in a sentence, a linked list at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pybtex.database import Entry, parse_file
from pybtex.richtext import Text


def read(files: list[Path]) -> dict[str, Entry]:
    """The entries of the .bib files by key."""
    return {key: entry for file in files for key, entry in parse_file(str(file)).entries.items()}


def authors_and_year(entry: Entry) -> tuple[str, str]:
    """The short name of a source: last names, shortened to "et al." from three authors on, and the year."""
    last = [_names(person.prelast_names + person.last_names) for person in _people(entry)]
    names = " and ".join(last) if len(last) < 3 else f"{last[0]} et al."
    return names, entry.fields.get("year", "n.d.")


def reference(entry: Entry) -> str:
    """One line of the list of references, in Markdown."""
    people = [_names(p.first_names + p.middle_names + p.prelast_names + p.last_names) for p in _people(entry)]
    names = people[0] if len(people) == 1 else f"{', '.join(people[:-1])} and {people[-1]}"
    place = _text(entry, "journal") or _text(entry, "booktitle")
    eprint, doi, url = (entry.fields.get(name, "") for name in ("eprint", "doi", "url"))
    if doi:
        link = f"[doi:{doi}](https://doi.org/{doi})"
    elif eprint or "arxiv.org/abs/" in url:
        eprint = eprint or url.rpartition("/")[2]
        link = f"[arXiv:{eprint}](https://arxiv.org/abs/{eprint})"
    else:
        link = f"<{url}>" if url else ""
    parts = [f"{names} ({entry.fields.get('year', 'n.d.')})", f"*{_text(entry, 'title')}*", place, link]
    return "- " + ". ".join(part for part in parts if part) + "."


def _people(entry: Entry) -> list[Any]:
    people = entry.persons.get("author") or entry.persons.get("editor")
    if not people:
        raise ValueError(f"references: {entry.key} has no author")
    return list(people)


def _names(names: list[str]) -> str:
    return " ".join(_plain(name) for name in names)


def _text(entry: Entry, name: str) -> str:
    return _plain(entry.fields.get(name, ""))


def _plain(latex: str) -> str:
    return str(Text.from_latex(latex))
