import sys
from pathlib import Path

# The client is a distribution of its own; the checkout is what is tested, not what is installed.
sys.path.insert(0, str(Path(__file__).parents[2] / "clients" / "python"))
