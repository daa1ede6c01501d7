"""Residual networks that train: parametrisations, settings, modules, many runs as one program."""
