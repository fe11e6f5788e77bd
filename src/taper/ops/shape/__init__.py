"""Views, and operators that arrange elements anew."""
