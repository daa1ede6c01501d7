"""Learning rates that survive scaling: the engines behind the book *Learning Rates That Transfer*.

One module a chapter, under the chapter's own word:

``lrtransfer.depth``      deep scalar linear networks: the rate against depth, exactly
``lrtransfer.width``      linear networks of any width, a million units included: the best rate after t steps
``lrtransfer.residual``   residual networks in four parametrisations: trained, in the limit, on many machines
``lrtransfer.layers``     two or more rates at once: the exact loss at every step, and how to divide the rate
``lrtransfer.stages``     networks grown in stages: stacking and Nesterov's method, boosting, a transformer
``lrtransfer.rates``      the statistic of a rate sweep: best rate, spread over seeds, edge flag
``lrtransfer.numerics.fits``       power laws by least squares on logarithms

Shared by the chapters: ``claims`` (the record of what a cell showed), ``plots`` (the house style),
``sliders`` (figures a reader moves), ``presets`` (smoke, book, full),
``records`` (runs too long for the build, kept under results/).

Engines take arrays and return arrays; they do not plot, and plots do not compute.
"""

__version__ = "0.1.0"
