"""Nesterov's method with errors in its momentum: runs, and how large the errors may be."""
