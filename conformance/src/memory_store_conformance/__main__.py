"""``python -m memory_store_conformance``: runs the command ``memory-store-conformance``."""

from memory_store_conformance.cli import main

if __name__ == "__main__":
    main()
