"""Learning rates that survive scaling: the engines behind the book *Learning Rates That Transfer*.

One module a chapter, under the chapter's own word:

``lrtransfer.depth``      deep scalar linear networks: the rate against depth, exactly
``lrtransfer.width``      linear networks of any width, a million units included: the best rate after t steps
``lrtransfer.residual``   trained residual networks in four parametrisations
``lrtransfer.layers``     two or more rates at once: the exact loss at every step, and how to divide the rate
``lrtransfer.rates``      the statistic of a rate sweep: best rate, spread over seeds, edge flag

Shared by the chapters: ``claims`` (the record of what a cell showed), ``plots`` (the house style),
``sliders`` (figures a reader moves), ``presets`` (smoke, book, full).

Engines take arrays and return arrays; they do not plot, and plots do not compute.
"""

__version__ = "0.1.0"
