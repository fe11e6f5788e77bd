"""`taper.backends.miopen`: there is none; its switch keeps its value."""

immediate: bool = False
