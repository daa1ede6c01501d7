"""Valid calls of the public names, a table for each room: small, fast, and with every argument given."""
