"""`python -m memlift_coding`."""

import sys

from memlift_coding.command import main

if __name__ == "__main__":
    sys.exit(main())
