"""Keep the README's picture equal to the figure of the executed chapter that it shows."""

from __future__ import annotations

import sys
from pathlib import Path

import execute

sys.path.insert(0, str(Path(__file__).with_name("extensions")))
import key_figures

CHAPTER, FIGURE = "depth", "fig-depth-transfer-chain"
PICTURE = execute.ROOT / "book" / "_static" / "transfer.svg"


def main() -> None:
    """Write the picture, or say that the chapter must be executed first."""
    try:
        svg, _ = key_figures.find_figure(execute.executed_notebook(CHAPTER), FIGURE)
    except KeyError:
        raise SystemExit("The chapter has not been executed as it stands: run `make book` first.") from None
    PICTURE.write_text(svg, encoding="utf-8")
    print(PICTURE)


if __name__ == "__main__":
    main()
