"""How the record ``performance`` is made: ``make bench``, or ``lrtransfer record performance``. ``readings`` reads it.

Every part measures what the core does at most, and then in turns what is compared, so that a ratio is taken of times of
one moment. Parts that are done are kept, and the same call goes on after them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from lrtransfer.sweeps.recorder import Recipe, Sitting

NAME = "performance"
MINUTES = 8.0


@dataclass(frozen=True)
class Sizes:
    """What the record depends on. ``times``: how often each is timed; ``shrink`` divides the sizes of the growth."""

    times: int = 5
    probe: int = 1024
    panel_rates: int = 1000
    width: int = 8192
    wide: int = 2**20
    dense_vectors: int = 2048
    layers: int = 1000
    layers_wide: int = 10**6
    layers_dense: int = 512
    grid: int = 100
    problems: int = 32
    stages: int = 200
    limit_rates: int = 32
    limit_depth: int = 16
    limit_steps: int = 12
    sweep_widths: tuple[int, ...] = (16, 64, 128)
    sweep_steps: int = 40
    updates: int = 10
    blocks: int = 4
    shrink: int = 1
    throughput_width: int = 64
    throughput_rates: int = 16
    throughput_seeds: int = 16


def makers(s: Sizes) -> dict[str, Callable[[], Any]]:
    """The cases by name; each is built when it is called."""
    from lrtransfer.performance import cases, network_cases

    made: dict[str, Callable[[], Any]] = {
        "depth-floats": lambda: cases.depth_panels(s.panel_rates, 30, "floats"),
        "depth-arrays": lambda: cases.depth_panels(s.panel_rates, 30, "arrays"),
        "width-dense": lambda: cases.width_training(s.width, s.width, 9, 2),
        "width-wide": lambda: cases.width_training(s.wide, s.dense_vectors, 9, 2),
        "width-vectors": lambda: cases.width_vectors(s.wide, s.dense_vectors),
        "layers-dense": lambda: cases.layers_dense(s.layers, 8),
        "layers-grid": lambda: cases.layers_grid(s.layers, s.layers, s.grid, 8),
        "layers-wide": lambda: cases.layers_grid(s.layers_wide, s.layers_dense, s.grid, 8),
        "stages-stacking": lambda: cases.stages_courses("stacking", s.problems, 20, s.stages),
        "stages-nesterov": lambda: cases.stages_courses("nesterov", s.problems, 20, s.stages),
        "limit-fields": lambda: cases.fields(s.limit_rates, s.limit_depth, s.limit_steps),
        "transformer-one": lambda: network_cases.transformer_step(1, s.blocks, s.updates),
        "transformer-four": lambda: network_cases.transformer_step(4, s.blocks, s.updates),
    }
    for width in s.sweep_widths:
        made[f"sweep-{width}"] = lambda width=width: network_cases.batched_sweep(width, 6, 16, s.sweep_steps)  # type: ignore[misc]
    return made


def timed(make: Callable[[], Any], times: int, probe: int) -> dict[str, Any]:
    """A case in numbers: seconds of engine, script and least calls in turns, and the least time of the core."""
    from lrtransfer.performance.speeds import measured, one_thread, quickest, seconds_of

    with one_thread():
        case = make()
        difference = case.difference if case.same else None  # which also warms both up
        if difference is None:
            case.engine()
        least = case.engine if case.least is None else case.least
        least()
        engine, script, calls, limit = [], [], [], []
        for _ in range(times):
            speeds = measured(probe)
            engine.append(quickest(case.engine))
            script.append(seconds_of(case.script))
            calls.append(quickest(least))
            limit.append(case.work.seconds(speeds))
        return {
            "name": case.name,
            "engine": engine,
            "script": script,
            "calls": calls if case.least is not None else [],
            "limit": limit,
            "times": case.times,
            "scaled": case.scaled,
            "difference": -1.0 if difference is None else difference,
            "work": asdict(case.work),
            "speeds": asdict(speeds),
        }


def grown(times: int, shrink: int, place: int) -> dict[str, Any]:
    """One of ``growth.growths`` in numbers."""
    from lrtransfer.performance.growth import growths
    from lrtransfer.performance.speeds import one_thread

    with one_thread():
        one = growths(shrink)[place]
        values = one.measured(times)
    words = {name: getattr(one, name) for name in ("engine", "axis", "power", "why", "memory")}
    return {**words, "sizes": list(one.sizes), "values": values}


def slower_calls() -> dict[str, float]:
    """``speeds.slower`` on one thread."""
    from lrtransfer.performance.speeds import one_thread, slower

    with one_thread():
        return slower()


def recipe(sizes: Sizes) -> Recipe:
    """The record of these sizes."""

    def make(sitting: Sitting) -> dict[str, Any]:
        from lrtransfer.performance.growth import growths
        from lrtransfer.performance.throughput import seconds_of_sweeps

        s = sizes
        cases, number = makers(s), len(growths(s.shrink))
        parts: dict[str, Callable[[], Any]] = {
            name: lambda made=made: timed(made, s.times, s.probe)  # type: ignore[misc]
            for name, made in cases.items()
        }
        parts |= {f"growth-{k}": lambda k=k: grown(s.times, s.shrink, k) for k in range(number)}  # type: ignore[misc]
        parts["slower"] = slower_calls
        parts["throughput"] = lambda: seconds_of_sweeps(
            s.throughput_width, s.throughput_rates, s.throughput_seeds, s.times
        )
        done: dict[str, Any] = {}
        for name, compute in parts.items():
            done[name] = sitting.part(name, compute)
            sitting.tell(len(done) / len(parts))
        return {
            "cases": {name: done[name] for name in cases},
            "growth": [done[f"growth-{k}"] for k in range(number)],
            "slower": done["slower"],
            "throughput": done["throughput"],
        }

    what = "the engines beside plain scripts and beside what one core can do, their growth, sweeps on two processes"
    packages = ("numpy", "scipy", "torch", "distributed")
    return Recipe(NAME, what, asdict(sizes), make, packages=packages, minutes=MINUTES)


RECIPES = (recipe(Sizes()),)
