"""The version of the program; :data:`posegen.config.schema.CONTENT_VERSION` is the version of its samples."""

__version__ = "0.1.0"
