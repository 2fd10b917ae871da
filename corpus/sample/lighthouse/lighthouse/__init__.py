"""Watch a handful of services and say so when one of them goes dark."""

__version__ = "1.3.0"
