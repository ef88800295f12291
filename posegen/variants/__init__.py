"""Variants of a sample: each transforms the planned scene before motion, labels and captions are computed.

A module per variant holds its record. The names, in the order in which sequences are stored, are in
:data:`posegen.foundations.plugins.VARIANTS`; other packages add records through the entry point group ``posegen.variants``.
"""
