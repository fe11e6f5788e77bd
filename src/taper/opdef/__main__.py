"""`python -m taper.opdef`: look into the operator table."""

from taper.opdef.docs import main

raise SystemExit(main())
