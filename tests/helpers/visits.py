"""A page of the built site opened in Chromium, and what an accessibility checker says of it."""

from __future__ import annotations

from typing import Any

PHONE = {"width": 390, "height": 844}
TABLET = {"width": 768, "height": 1024}
DESKTOP = {"width": 1280, "height": 900}
WIDE = {"width": 1920, "height": 1080}


class Visit:
    """One page opened in a fresh context, with what it asked for and what it complained about."""

    def __init__(self, browser, address, name, viewport=DESKTOP, **context):
        self.context = browser.new_context(viewport=viewport, **context)
        self.page = self.context.new_page()
        self.outside, self.complaints = [], []
        self.page.on(
            "request",
            lambda r: None if r.url.startswith((address, "data:", "blob:")) else self.outside.append(r.url),
        )
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self.complaints.append(str(e)))
        self.page.on("response", lambda r: self.complaints.append(f"{r.status} {r.url}") if r.status >= 400 else None)
        self.page.goto(f"{address}/{name}", wait_until="networkidle")
        # On a busy machine the network rests before the scripts have run: colours are settled once the theme is.
        if context.get("java_script_enabled", True):
            self.page.wait_for_function(
                "['light', 'dark'].includes(document.documentElement.dataset.theme)", polling=100
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()


def serious_faults(page: Any, context: str) -> list[str]:
    """What axe calls serious or critical within the elements that a selector names."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, context=context).response["violations"]
    return [
        f"{v['id']}: {v['nodes'][0]['html'][:200]} ({len(v['nodes'])} places)"
        for v in found
        if v["impact"] in ("serious", "critical")
    ]
