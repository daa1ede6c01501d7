"""All that a notebook shows: claims and their ledger, tables and sentences, the preset, the style, sliders."""
