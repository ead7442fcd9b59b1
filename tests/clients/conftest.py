import sys
from pathlib import Path

# The client is a distribution of its own; the checkout is what is tested, not what is installed.
ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "clients" / "python")]
