"""What programs import from the launcher's package."""
