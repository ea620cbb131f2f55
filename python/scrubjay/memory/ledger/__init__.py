"""Storage of memory: tables, rows, encryption, logs, traces, documents; and the context through which all other parts
read and write them.
"""
