"""What speaks to the server over HTTP: the Python client, what generates it, and its users.

The client is a distribution of its own (`clients/python`). Where it is not installed, the checkout
holds it.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "python"))
