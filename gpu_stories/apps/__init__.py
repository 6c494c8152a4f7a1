"""The apps, each of which is a whole ``app.py``."""
