"""What carries data between the processes of a group; `base.py` says what a backend can do."""
