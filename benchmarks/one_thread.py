"""Import this before NumPy: it limits a matrix product to one thread, because everything runs on one core.

OpenBLAS starts its threads when NumPy is imported, before the process is pinned; on a busy machine a product would then
wait for a preempted helper thread, which took 24 ms instead of 0.6.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
