"""Torch modules of anybody: what their parts put out, watched whole, and checks of the functions that make them."""
