"""Residual networks in the limit: infinite width and depth, lazy and rich, and finite networks beside them."""
