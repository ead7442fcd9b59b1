"""`python -m memlift_client ask | remember | report`."""

import sys

from memlift_client.command import main

sys.exit(main())
