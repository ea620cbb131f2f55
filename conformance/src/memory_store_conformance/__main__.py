"""``python -m memory_store_conformance``: the command of the same name."""

from memory_store_conformance.cli import main

if __name__ == "__main__":
    main()
