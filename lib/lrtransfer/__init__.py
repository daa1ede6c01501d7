"""Learning rates that survive scaling: the engines behind the book *Learning Rates That Transfer*.

The papers, a room each, under the chapter's own word:

``lrtransfer.depth``      deep scalar linear networks: the rate against depth, exactly
``lrtransfer.width``      linear networks of any width, a million units included: the best rate after t steps
``lrtransfer.residual``   residual networks in four parametrisations: trained, in the limit, on many machines
``lrtransfer.layers``     two or more rates at once: the exact loss at every step, and how to divide the rate
``lrtransfer.stages``     networks grown in stages: stacking and Nesterov's method, boosting, a transformer

For networks of your own, on top of them:

``lrtransfer.practice``   checks of any torch module, and its optimiser groups

For readers of the exercises: ``lrtransfer.exercises``, whether an answer is right.

What they stand on, which knows no paper:

``lrtransfer.numerics``   arguments and their refusals, estimates, fits, random draws, lazily revealed Gaussian matrices
``lrtransfer.rates``      the statistic of a rate sweep: best rate, spread over seeds, edge flag, drift with size
``lrtransfer.sweeps``     what trains at many rates: keys, a store, executors, optimisers, progress, records
``lrtransfer.images``     labelled images by name, bundled or downloaded
``lrtransfer.modules``    parts of a torch module watched whole, and checks of the functions that make one
``lrtransfer.page``       all that a notebook shows: claims, tables, the preset, the style, figures that move

Engines take arrays and return arrays; they do not plot, and plots do not compute. No paper imports another.
"""

__version__ = "0.1.0"
