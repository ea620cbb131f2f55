"""Tests of the adapters, each with its own ecosystem's tests. Modules are skipped if their framework is missing."""
