"""No page holds more memory than a small machine has to spare."""

from __future__ import annotations

from pathlib import Path

import pytest

import execute

pytestmark = pytest.mark.site
MOST = 2048  # MiB


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="this system does not say how much memory was held")
def test_no_page_held_more_than_two_gibibytes_when_it_was_executed():
    peaks = execute.peaks()
    unknown = [page for page, peak in peaks.items() if peak is None]
    assert not unknown, f"executed before memory was measured: build with --fresh ({', '.join(unknown)})"
    assert {page: peak for page, peak in peaks.items() if peak > MOST} == {}
