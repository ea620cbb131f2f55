"""Adapters from other projects' interfaces to the interface of the checks. They translate, and decide nothing.

Each module imports its project only when it is imported itself. If an interface lacks an operation, the adapter has no
method for it, and the checks that need it are "not offered".
"""
