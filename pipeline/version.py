"""The version of Kerasline, in the one place that setup.py and the command line read."""

VERSION = "0.1.0"
