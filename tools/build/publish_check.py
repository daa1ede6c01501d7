"""Say what keeps the built site from being published, a sentence each, and fail if there is anything.

python tools/build/publish_check.py            the site in _build/html
python tools/build/publish_check.py --push     and, where nothing is wrong, put it on the branch gh-pages
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import publishing

ROOT = Path(__file__).resolve().parents[2]
LIMIT, LARGEST = 1_000_000_000, 100_000_000  # bytes: of a site on GitHub Pages, and of a file in a repository there
FILES = ("index.html", "404.html", "robots.txt", ".nojekyll", "claims.json", "findings.json", "build.json")


def problems(site: Path) -> list[str]:
    """What is wrong with a built site, a sentence each."""
    missing = [name for name in FILES if not (site / name).is_file()]
    if missing:
        return [f"{site} has no {', '.join(missing)}: run make book first."]
    made = json.loads((site / "build.json").read_text(encoding="utf-8"))
    return [*_of_the_build(made), *_of_the_pages(site, made), *_of_the_files(site)]


def _of_the_build(made: dict[str, str]) -> list[str]:
    found = []
    if not made["repository"]:
        found.append(
            "The repository has no public address: push it to a public host and build in a clone of that, or set "
            "repository.url in _config.yml. Until then pages have no launch buttons."
        )
    if made["preset"] == "smoke":
        found.append("The site was built with the preset smoke, whose numbers mean nothing: run make book without it.")
    if made["repository"] and not made["revision"]:
        found.append("The revision that was built is unknown: build in a git clone, so that notebooks install that.")
    return found


def _of_the_pages(site: Path, made: dict[str, str]) -> list[str]:
    if not made["repository"]:
        return []
    found = [] if not made["site"] or (site / "sitemap.xml").is_file() else ["There is no sitemap.xml: run make book."]
    for notebook in sorted((site / "notebooks").glob("*.ipynb")):
        first = "".join(json.loads(notebook.read_text(encoding="utf-8"))["cells"][0]["source"])
        if f'REPOSITORY = "{made["repository"]}"' not in first:
            found.append(f"notebooks/{notebook.name} does not know the repository {made['repository']}.")
        page = site / "book" / f"{notebook.stem}.html"
        wanted = publishing.colab_address(made["repository"], notebook.stem)
        links = set(re.findall(r'href="(https://colab[^"]+)"', page.read_text(encoding="utf-8")))
        if wanted and links != {wanted}:
            found.append(f"book/{page.name} opens {', '.join(sorted(links)) or 'nothing'} in Colab, not {wanted}.")
    return found


def _of_the_files(site: Path) -> list[str]:
    sizes = {path: path.stat().st_size for path in site.rglob("*") if path.is_file()}
    found = [
        f"{path.relative_to(site)} has {size} bytes, more than a file may."
        for path, size in sizes.items()
        if size > LARGEST
    ]
    if sum(sizes.values()) > LIMIT:
        found.append(f"The site has {sum(sizes.values())} bytes, more than GitHub Pages serves.")
    return found


def push(site: Path, remote: str = "origin") -> str:
    """Put the site on the branch of the published pages, as one commit without a history; returns the commit.

    The working tree and its index stay as they are.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"GIT_INDEX_FILE": str(Path(folder) / "index")}

        def git(*words: str) -> str:
            done = subprocess.run(
                ["git", "-C", str(ROOT), *words], env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise SystemExit(f"git {words[0]} failed: {done.stderr.strip()}")
            return done.stdout.strip()

        git(f"--work-tree={site}", "add", "--all", "--force", ".")
        commit = git("commit-tree", git("write-tree"), "-m", "The site")
        git("push", "--force", remote, f"{commit}:refs/heads/{publishing.PAGES_BRANCH}")
    return commit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--push", action="store_true", help="publish where nothing is wrong")
    arguments = parser.parse_args()
    site = ROOT / "_build" / "html"
    found = problems(site)
    if found:
        raise SystemExit("\n".join(found))
    print("Nothing keeps the site from being published.")
    if arguments.push:
        print(f"Published as {push(site)[:12]} on {publishing.PAGES_BRANCH}.")


if __name__ == "__main__":
    main()
