"""Adapters: other projects' interfaces as the stores that the checks speak to. They translate, and decide nothing.

Each module imports its project only when it is imported itself. Where an interface has no word for something, the
adapter has no method for it, and the checks that need it are "not offered".
"""
