"""Adapters, each judged by its own ecosystem's tests. A module skips, visibly, where its framework is absent."""
