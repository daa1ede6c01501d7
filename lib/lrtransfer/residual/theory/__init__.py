"""Residual networks in the limit: infinite width and depth, lazy and rich, and finite networks beside them.

``linear_limit`` (with ``linear_fields``), ``lazy``, ``nonlinear_limit``: the limits. ``trained_ensemble`` (with
``descent``): finite networks. ``gaps``, ``fitting`` (with ``control_variates``): the two compared.
"""
