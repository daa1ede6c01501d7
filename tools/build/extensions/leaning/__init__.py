"""What a finished page need not carry: colours of folded code, unused icons, eleven style sheets, blocking scripts."""
