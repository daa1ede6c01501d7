"""Labelled images by name: sets that ship with libraries, downloads with a checksum, folders of photographs."""
