"""Formulas set when the book is built: TeX to MathML, and a font cut to the characters that the book uses."""
