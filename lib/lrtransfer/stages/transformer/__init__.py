"""A small transformer grown stage by stage on masked characters: text, settings, network, runs."""
