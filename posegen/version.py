"""The version of the program; `posegen.config.schema.CONTENT_VERSION` is that of what it makes."""

__version__ = "0.1.0"
