"""The flow in closed form against high-precision hypergeometric functions and a general integrator."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import expit

from lrtransfer import depth as d
from lrtransfer.depth import flow

DEPTHS = (1, 2, 3, 4, 8, 64, 10**6, math.inf)
STARTS = (1e-8, 1e-4, 0.01, 0.1, 0.5, 0.9)
EPS = np.finfo(float).eps


def exact_time(alpha, alpha0, depth):
    """Eq. 7 (its limits at L = 2 and infinity) to 40 digits."""
    with mpmath.workdps(40):
        if depth == 2:
            antiderivative = lambda a: mpmath.log(a / (1 - a))  # noqa: E731
        elif depth == math.inf:
            antiderivative = lambda a: -1 / a - mpmath.log(1 / a - 1)  # noqa: E731
        else:
            e = mpmath.mpf(2) / depth - 1
            antiderivative = lambda a: a**e / e * mpmath.hyp2f1(1, e, 1 + e, a)  # noqa: E731
        return float(antiderivative(mpmath.mpf(alpha)) - antiderivative(mpmath.mpf(alpha0)))


@pytest.mark.parametrize("depth", DEPTHS)
def test_time_and_course_against_equation_7(depth):
    for alpha0 in STARTS:
        for alpha in (1e-6, 0.01, 0.3, 0.4999999, 0.5, 0.5000001, 0.7, 0.99, 1 - 1e-9):
            if alpha > alpha0:
                t = exact_time(alpha, alpha0, depth)
                # both ends of the integral are counted from alpha = 1/2, with a dozen roundings each
                size = abs(exact_time(0.5, alpha0, depth)) + abs(exact_time(0.5, alpha, depth)) + 1.0
                assert d.time_to_reach(alpha, alpha0, depth) == pytest.approx(t, rel=0, abs=10 * EPS * size)
                # a time of this size is itself rounded: alpha cannot be known better than to rate * EPS * t
                error = EPS * (d.rate_of_change(alpha, depth) * t + alpha)
                assert d.time_course(t, alpha0, depth) == pytest.approx(alpha, rel=0, abs=20 * error)


@pytest.mark.parametrize("depth", DEPTHS)
def test_course_against_an_integrator(depth):
    t = np.linspace(0.0, 40.0, 9)
    answer = solve_ivp(
        lambda _, a: d.rate_of_change(np.maximum(a, 0.0), depth, 3.0),
        (0, 40),
        [0.05],
        "DOP853",
        t,
        rtol=1e-12,
        atol=1e-14,
    )
    # the integrator's tolerance, times the at most 20-fold stretch of early errors on the way up
    np.testing.assert_allclose(d.time_course(t, 0.05, depth, 3.0), answer.y[0], rtol=0, atol=3e-11)


@pytest.mark.parametrize("depth", [2, math.inf])
def test_general_solver_equals_the_closed_forms(depth):
    for alpha0 in STARTS:
        t = np.concatenate(([0.0], np.geomspace(1e-3, 1.5, 20) * d.time_to_reach(0.99, alpha0, depth)))
        closed = d.time_course(t, alpha0, depth)
        general = expit(flow.logit_course(t, np.array(alpha0), np.array(1.0 - 2.0 / depth)))
        error = EPS * (d.rate_of_change(closed, depth) * t + closed)
        assert (np.abs(general - closed) <= 20 * error).all()


def test_independent_numbers():
    # t/tau from 0.01 to 0.5, 0.9, 0.99; ten digits
    expected = {
        1: [0.6830968447, 2.292534757, 4.59511985],
        2: [4.59511985, 6.792344427, 9.1902397],
        3: [11.30411034, 13.75672783, 16.18763966],
        8: [42.50067943, 45.32760451, 47.80070049],
        64: [91.62558304, 94.67772354, 97.17338197],
        math.inf: [102.5951199, 105.6812333, 108.1801387],
    }
    for depth, values in expected.items():
        np.testing.assert_allclose(d.time_to_reach([0.5, 0.9, 0.99], 0.01, depth), values, rtol=5e-10)
    course = d.time_course([100, 300, 500, 1000, 1200], 0.01, math.inf, 10.0)
    values = [0.01109812618, 0.0142134553, 0.01972801785, 0.2755846144, 0.9999999249]
    np.testing.assert_allclose(course, values, rtol=5e-10)
    course = d.time_course([100, 300, 500, 1000, 1200], 0.01, 128, 10.0)
    values = [0.01118860024, 0.01465442681, 0.02113941117, 0.8987695931, 0.9999999997]
    np.testing.assert_allclose(course, values, rtol=5e-10)


def test_plateau_duration():
    depths = [2, 3, 4, 8, 16, 64, math.inf]
    expected = [2.3025851, 6.4633041, 6.3245553, 7.4978843, 8.5702195, 9.6059049, 10.0]  # eight digits
    np.testing.assert_allclose(d.plateau_duration(0.1, depths), expected, rtol=5e-8)
    exact = d.time_to_reach(0.5, 0.001, depths)
    # As a duration up to alpha = 1/2 it is good to 2 per cent at alpha0 = 0.001, but for L = 3
    off = np.abs(d.plateau_duration(0.001, depths) / exact - 1)
    assert (off[[0, 2, 3, 4, 5, 6]] < 0.02).all() and 0.05 < off[1] < 0.12
    assert d.plateau_duration(0.1, 3) > d.plateau_duration(0.1, 4)  # not monotone in depth


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 1000), st.floats(1e-8, 1.0), st.floats(0.1, 10.0))
def test_course_rises_from_its_start(depth, alpha0, tau):
    alpha = d.time_course(np.linspace(0.0, 50.0, 40), alpha0, depth, tau)
    assert alpha[0] == pytest.approx(alpha0, rel=40 * EPS)  # logit and back at |logit| up to 18
    assert (np.diff(alpha) >= -4 * EPS).all() and (alpha <= 1.0).all()


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 1000), st.floats(1e-6, 0.9), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_times_add_up(depth, alpha0, u, v):
    middle = alpha0 + (0.99 - alpha0) * min(u, v)
    end = alpha0 + (0.99 - alpha0) * max(u, v)
    total = d.time_to_reach(end, alpha0, depth)
    parts = d.time_to_reach(middle, alpha0, depth) + d.time_to_reach(end, middle, depth)
    assert parts == pytest.approx(total, rel=1e-13, abs=1e-13 * (1 + d.time_to_reach(0.99, alpha0, depth)))


def test_infinite_depth_is_the_limit():
    # q = 1 - 2/L changes t by about (2/L) ln(1/alpha0) relative
    assert d.time_to_reach(0.5, 0.01, 10**7) == pytest.approx(d.time_to_reach(0.5, 0.01, math.inf), rel=2e-6)


def test_edges_of_the_range():
    assert d.time_to_reach(1.0, 0.5, 3) == math.inf
    assert d.time_to_reach(1.0, 1.0, 3) == d.time_to_reach(0.2, 0.2, 7) == 0.0
    for depth in DEPTHS:
        assert (d.time_course([0.0, 1.0, 1e6], 1.0, depth) == 1.0).all()
        tiny = d.time_course([0.0, 1.0, 1e300], 1e-300, depth)
        assert np.isfinite(tiny).all() and tiny[0] == pytest.approx(1e-300, rel=1e-12)
    assert d.time_course(np.zeros((2, 3)), 0.1, 5).shape == (2, 3)


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 8, 64, 1000, math.inf])
def test_times_and_rates_that_overflow(depth):
    # every plateau is over by 1 / alpha0 < 2^1023 time constants, also where t / tau is beyond the floats
    for t, tau in ((1e300, 1e-300), (1e308, 0.1), (1.7e308, 1.0), (1e308, 5e-324)):
        assert d.time_course([t], 0.1, depth, tau) == 1.0
        assert d.time_course([0.0, t], 2.0**-1022, depth, tau)[1] == 1.0
    assert d.rate_of_change(1e308, depth) == (-1e308 if depth == 1 else -math.inf)
    assert d.time_to_reach(1e-300, 2.0**-1022, depth) >= 0.0


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: d.time_course(-1.0, 0.1, 2), "t = -1.0"),
        (lambda: d.time_course(1.0, 0.0, 2), "alpha0 = 0.0"),
        (lambda: d.time_course(1.0, 1.5, 2), "alpha0 = 1.5"),
        (lambda: d.time_course(1.0, [0.1, 0.2], 2), r"alpha0 of shape \(2,\) .*one number"),
        (lambda: d.time_course(1.0, 0.1, 0), "depth = 0"),
        (lambda: d.time_course(1.0, 0.1, 2, -1.0), "tau = -1.0"),
        (lambda: d.time_to_reach(0.1, 0.5, 2), "alpha = 0.1"),
        (lambda: d.time_course(1.0, 1e-310, 3), "alpha0 = 1e-310 .*2.23e-308"),
        (lambda: d.plateau_duration([0.1, 0.2], [2, 3, 4]), r"alpha0 of shape \(2,\), depth of shape \(3,\)"),
        (lambda: d.time_to_reach([0.3, 0.4], 0.1, [2, 3, 4]), r"alpha of shape \(2,\), depth of shape \(3,\)"),
        (lambda: d.rate_of_change(0.1, [2, 3], [1.0] * 3), r"depth of shape \(2,\), tau of shape \(3,\)"),
        (lambda: d.time_course(1.0, 0.1, [2, 3]), r"depth of shape \(2,\) .*one number"),
        (lambda: d.plateau_duration(0.1, 1), "depth = 1 is"),
        (lambda: d.rate_of_change(-0.1, 2), "alpha = -0.1"),
    ],
)
def test_refusals_name_the_argument_and_the_value(call, named):
    with pytest.raises(ValueError, match=named):
        call()
