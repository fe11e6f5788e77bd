"""`python -m taper`: the `taper` command."""

import sys

from taper.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
