"""Keep all that happened. Choose what the model sees. Know why."""

__version__ = "0.1.0"
