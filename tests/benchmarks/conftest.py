import sys
from pathlib import Path

# Benchmarks are run from a checkout and tested from one.
ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "clients" / "python")]
