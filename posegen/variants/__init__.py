"""Variants of a sample: each transforms the planned scene before motion, labels and captions are computed.

The records of posegen's own are in :mod:`posegen.variants.built_in`. Their names, in the order of storage, are in
:data:`posegen.foundations.plugins.VARIANTS`. Other packages add records through the entry point group ``posegen.variants``.
"""
