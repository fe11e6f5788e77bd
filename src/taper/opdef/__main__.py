"""`python -m taper.opdef`: look into the operator table."""

from taper.opdocs import main

raise SystemExit(main())
