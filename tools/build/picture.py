"""Keep the README's picture equal to the figure of the executed chapter that it shows."""

from __future__ import annotations

from typing import Any

import execute

CHAPTER, FIGURE = "depth", "fig-depth-transfer-chain"
PICTURE = execute.ROOT / "book" / "_static" / "transfer.svg"


def find_figure(notebook: dict[str, Any], name: str) -> tuple[str, str]:
    """The SVG and the alternative text of the figure that a cell of an executed notebook names ``name``."""
    for cell in notebook["cells"]:
        meta = cell.get("metadata", {}).get("mystnb", {})
        if meta.get("figure", {}).get("name") == name:
            for output in cell["outputs"]:
                if svg := output.get("data", {}).get("image/svg+xml"):
                    return "".join(svg), meta["image"]["alt"]
    raise SystemExit(f"No executed figure is named {name!r}.")


def main() -> None:
    """Write the picture, or say that the chapter must be executed first."""
    try:
        svg, _ = find_figure(execute.executed_notebook(CHAPTER), FIGURE)
    except KeyError:
        raise SystemExit("The chapter has not been executed as it stands: run `make book` first.") from None
    PICTURE.write_text(svg, encoding="utf-8")
    print(PICTURE)


if __name__ == "__main__":
    main()
