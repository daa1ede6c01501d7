"""Fixtures shared by all tests: the built site, a server for it, and a browser."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ("build", "build/extensions", "notebooks")
sys.path[:0] = [*(str(ROOT / "tools" / folder) for folder in TOOLS), str(ROOT / "tests" / "helpers")]
os.environ.setdefault("OMP_NUM_THREADS", "1")

PAGES = {"site", "browser"}  # fixtures: a test that asks for one of them, even by way of another, needs the built pages


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if PAGES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("site")
    items.sort(key=lambda item: item.get_closest_marker("site") is not None)  # minutes after seconds


@pytest.fixture(autouse=True)
def in_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that draws a widget leaves the notebook's kernel behind, and bars would take the next test for a cell."""
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site, brought up to date first (FRESH=1 executes every chapter; BUILT=1: it is)."""
    if os.environ.get("BUILT"):
        return ROOT / "_build" / "html"
    fresh = ["--fresh"] if os.environ.get("FRESH") else []
    environment = {k: v for k, v in os.environ.items() if k != "LRTRANSFER_PRESET"}
    build = subprocess.run(
        [sys.executable, "tools/build/site_build.py", *fresh], cwd=ROOT, capture_output=True, text=True, env=environment
    )
    if build.returncode:
        pytest.fail(f"The site was not built:\n{build.stdout[-8000:]}\n{build.stderr[-8000:]}", pytrace=False)
    print(build.stdout)
    return ROOT / "_build" / "html"


@pytest.fixture
def one_thread() -> Iterator[None]:
    """torch on one thread, so that sums are in one order."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The site, served on localhost."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium, found or installed by tools/build/chromium.py; without one a skip, and a failure in CI."""
    import chromium

    lack = pytest.fail if os.environ.get("CI") else pytest.skip
    try:
        path = chromium.find_or_install()
    except chromium.Missing as missing:
        lack(str(missing))

    from playwright.sync_api import Error, sync_playwright

    flags = [
        "--no-sandbox",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    with sync_playwright() as playwright:
        try:
            instance = playwright.chromium.launch(executable_path=path, args=flags)
        except Error as error:
            if path is not None:  # an installed browser that does not start is broken, not missing
                raise
            lack(f"Playwright's own Chromium does not start on this machine: {error}")
        yield instance
        instance.close()
