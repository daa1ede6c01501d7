"""Rate sweeps of anything that trains: keys, a store, executors, progress, records; this room knows no network."""
