"""Stages in function space: zero, random, stacking and Nesterov starts, additive and residual."""
