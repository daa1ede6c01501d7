"""Checks in words: ASCII mathematics typeset, numbers with their powers, rounding called rounding."""

from __future__ import annotations

import pytest

from lrtransfer.page.wording import comparison, number, typeset


@pytest.mark.parametrize(
    ("plain", "html"),
    [
        ("eta_n <= n^(-1/2)", "<i>η</i><sub><i>n</i></sub> ≤ <i>n</i><sup>−1/2</sup>"),
        ("F_{t-1} and 10^362.", "F<sub><i>t</i>−1</sub> and 10<sup>362</sup>."),
        ("eta1^4/h^6, p_eff", "<i>η</i><sub>1</sub><sup>4</sup>/<i>h</i><sup>6</sup>, p<sub>eff</sub>"),
        ("the paper's s = 2, Appendix D", "the paper's <i>s</i> = 2, Appendix D"),
        ("sqrt(kappa) and sqrt 2, muP", "√<i>κ</i> and √2, μP"),
        ("from -2 to 5e-04 or 1e+300", "from −2 to 5\u00a0×\u00a010<sup>−4</sup> or 10<sup>300</sup>"),
        ("a < b & c", "a &lt; b &amp; <i>c</i>"),
        ("well-known betas", "well-known betas"),
    ],
)
def test_words(plain, html):
    assert typeset(plain) == html


def test_numbers():
    assert [number(v) for v in (1.5, -0.25, 1.23456e-5, float("inf"), float("-inf"))] == [
        "1.5",
        "−0.25",
        "1.235\u00a0×\u00a010<sup>−5</sup>",
        "∞",
        "−∞",
    ]


def test_rounding_is_called_that_only_where_it_is():
    assert comparison(1.1e-16, 0, 1e-14, "=") == "measured 0 to rounding, expected 0\u00a0±\u00a010<sup>−14</sup>"
    assert comparison(1.1e-16, 1e-9, 0, "<=") == "measured 0 to rounding, at most 10<sup>−9</sup>"
    assert comparison(0, 0, 0, "=") == "measured 0, expected 0"
    assert comparison(1e-12, 0, 1e-3, "=").startswith("measured 10<sup>−12</sup>")  # asked only to be small
    assert comparison(2e-7, 0, 1e-6, "=").startswith("measured 2\u00a0×\u00a010")
