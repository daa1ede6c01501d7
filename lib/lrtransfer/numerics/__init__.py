"""Numbers and their checks: arguments and refusals, estimates, fits, random draws, lazy Gaussian matrices."""
