"""The ledger: the claims of all chapters, read off their executed notebooks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lrtransfer.page.claims import MEDIA_TYPE, OPEN, statements
from lrtransfer.page.findings import FINDING_TYPE, found


def recorded(notebook: Mapping[str, Any], media_type: str = MEDIA_TYPE) -> list[dict[str, Any]]:
    """The claims, or the findings, that an executed notebook carries in its outputs.

    Parameters
    ----------
    notebook
        nbformat 4, as a mapping
    media_type
        ``MEDIA_TYPE`` for claims, ``FINDING_TYPE`` for findings

    Returns
    -------
    list of dict
        what ``as_dict`` gave, in order.
    """
    return [
        output["data"][media_type]
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if media_type in output.get("data", {})
    ]


def _collect(pages: Mapping[str, Mapping[str, Any]], media_type: str, kind: str) -> dict[str, dict[str, Any]]:
    """The records of all pages by id, each with where it stands."""
    gathered: dict[str, dict[str, Any]] = {}
    for address, notebook in pages.items():
        for entry in recorded(notebook, media_type):
            id = entry["id"]
            what = f"{kind.capitalize()} {id!r}"
            if id in gathered:
                raise ValueError(f"{what} is stated twice ({gathered[id]['where']} and {address}): state it once.")
            if Path(address).stem != entry["chapter"]:
                raise ValueError(f"{what} belongs to the chapter {entry['chapter']!r}, not to {address}.")
            gathered[id] = entry | {"where": f"{address}#{kind}-{id.replace('.', '-')}"}
    return gathered


def assemble(pages: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One entry for every id of claims.csv, from the executed notebooks of the chapters.

    Parameters
    ----------
    pages
        address of the page (``"book/depth.html"``) -> its executed notebook

    Returns
    -------
    list of dict
        with id, chapter, seed_label, claim, verdict, measured, expected, tolerance, relation, correction, checks and
        where (page and anchor), in the order of claims.csv. An id that no page states is "open" with empty
        measurements.

    Raises
    ------
    ValueError
        when a claim is stated twice or by a chapter other than its own.
    """
    stated = _collect(pages, MEDIA_TYPE, "claim")
    empty: dict[str, Any] = {
        "verdict": OPEN,
        "measured": None,
        "expected": None,
        "tolerance": None,
        "relation": None,
        "correction": "",
        "checks": [],
        "where": None,
    }
    return [
        {
            "id": s.id,
            "chapter": s.chapter,
            "seed_label": s.seed_label,
            "claim": s.claim,
            **stated.get(s.id, empty),
        }
        for s in statements().values()
    ]


def assemble_findings(pages: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One entry for every id of findings.csv, from the executed notebooks of the chapters.

    Parameters
    ----------
    pages
        as in ``assemble``

    Returns
    -------
    list of dict
        with id, chapter, sentence, outcome, checks and where, in the order of findings.csv. An id that no page states
        is "open", without checks.

    Raises
    ------
    ValueError
        as ``assemble`` does.
    """
    stated = _collect(pages, FINDING_TYPE, "finding")
    empty: dict[str, Any] = {"outcome": OPEN, "checks": [], "where": None}
    return [
        {"id": f.id, "chapter": f.chapter, "sentence": f.sentence, **stated.get(f.id, empty)} for f in found().values()
    ]


def last_build(start: Path | None = None) -> list[dict[str, Any]]:
    """The ledger of the last build: ``_build/html/claims.json`` of a folder or one above it.

    Parameters
    ----------
    start
        where to begin; the current folder by default

    Returns
    -------
    list of dict
        as ``assemble`` gives them.

    Raises
    ------
    FileNotFoundError
        with the command to run when there is none.
    ValueError
        naming the file when it does not hold the claims.
    """
    start = Path.cwd() if start is None else start
    for folder in (start, *start.parents):
        path = folder / "_build" / "html" / "claims.json"
        if path.is_file():
            try:
                rows = json.loads(path.read_text(encoding="utf-8"))
            except ValueError as error:  # not JSON, or not UTF-8
                raise ValueError(f"{path} cannot be read ({error}): run `make book` again.") from None
            if not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
                raise ValueError(f"{path} is not a list of claims: run `make book` again.")
            for number, row in enumerate(rows, start=1):
                for key in ("id", "chapter", "verdict", "where"):
                    if not isinstance(row.get(key, 0), (str, type(None)) if key == "where" else str):
                        raise ValueError(f"{path}: claim {number} has no {key!r}: run `make book` again.")
            return rows
    raise FileNotFoundError(
        f"No built book (_build/html/claims.json) in {start} or above it: run `make book` in the repository first."
    )
