"""The ledger: the claims of all chapters, read off their executed notebooks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lrtransfer.page.claims import MEDIA_TYPE, OPEN, statements


def recorded(notebook: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The claims that an executed notebook carries in its outputs.

    Parameters
    ----------
    notebook
        nbformat 4, as a mapping

    Returns
    -------
    list of dict
        what ``Claim.as_dict`` gave, in order.
    """
    return [
        output["data"][MEDIA_TYPE]
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if MEDIA_TYPE in output.get("data", {})
    ]


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
    found: dict[str, dict[str, Any]] = {}
    for address, notebook in pages.items():
        for entry in recorded(notebook):
            id = entry["id"]
            if id in found:
                raise ValueError(f"Claim {id!r} is stated twice ({found[id]['where']} and {address}): state it once.")
            if Path(address).stem != entry["chapter"]:
                raise ValueError(f"Claim {id!r} belongs to the chapter {entry['chapter']!r}, not to {address}.")
            found[id] = entry | {"where": f"{address}#claim-{id.replace('.', '-')}"}
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
            **found.get(s.id, empty),
        }
        for s in statements().values()
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
            if not (isinstance(rows, list) and all(isinstance(row, dict) and "id" in row for row in rows)):
                raise ValueError(f"{path} is not a list of claims: run `make book` again.")
            return rows
    raise FileNotFoundError(
        f"No built book (_build/html/claims.json) in {start} or above it: run `make book` in the repository first."
    )
