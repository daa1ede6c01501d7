"""Boosting on real data with the last stage copied: ensembles and their weak learners."""
