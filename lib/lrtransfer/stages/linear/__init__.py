"""Deep linear residual networks grown in stages: excess losses, and every inequality of the theorem."""
