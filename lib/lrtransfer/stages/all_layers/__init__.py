"""Linear networks whose layers all train: courses, curvature, comparisons in pairs."""
