"""``python -m posegen``."""

from __future__ import annotations

import sys

from posegen.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
