"""Sizes of the record of performance that take seconds, for tests."""

from lrtransfer.performance.recorded import Sizes

SMALL = Sizes(
    times=2,
    probe=64,
    panel_rates=10,
    width=64,
    wide=2**12,
    dense_vectors=32,
    layers=32,
    layers_wide=1000,
    layers_dense=16,
    grid=4,
    problems=2,
    stages=10,
    limit_rates=2,
    limit_depth=2,
    limit_steps=3,
    sweep_widths=(8,),
    sweep_steps=2,
    updates=2,
    blocks=1,
    shrink=32,
    throughput_width=8,
    throughput_rates=2,
    throughput_seeds=1,
)
