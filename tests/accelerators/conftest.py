"""JAX starts threads, after which a fork warns, and a warning is an error: these tests have a process of their own."""

from __future__ import annotations

import os

# Programs are compiled once for each shape, and run for moments: to optimise them would take most of the time.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
