"""How fast the engines are, beside the script one would write for a paper and beside what one core can do at most.

``speeds``          what the core does at most: bytes, multiplications, normal numbers and calls a second
``plain``           scripts in NumPy and torch, as they are written for these papers: the theory
``plain_networks``  the same for networks that train: the residual MLP and the transformer
``cases``           each engine with its script, both computing one thing, and the work that it takes at least
``network_cases``   the same for networks that train
``growth``          time and memory against depth, width, steps and runs
``throughput``      a sweep in this process, in one and two others, and through dask
``recorded``        how the record ``performance`` is made: ``make bench``
``readings``        where it is read: ratios, fitted exponents
``drawings``        the figures of the page

The engines have no part in it: nothing imports this room but the page of its name.
"""
