"""`taper.utils.collect_env`: a report on an installation of PyTorch, which taper has not."""

from __future__ import annotations

from typing import NoReturn


def get_pretty_env_info() -> NoReturn:
    """Refused: `taper info` prints what a problem report should contain."""
    raise NotImplementedError(
        "torch.utils.collect_env reports on PyTorch's installation. Run `taper info` instead."
    )


def get_env_info() -> NoReturn:
    """Refused: `taper info` prints what a problem report should contain."""
    get_pretty_env_info()


def main() -> NoReturn:
    """Refused: `taper info` prints what a problem report should contain."""
    get_pretty_env_info()


if __name__ == "__main__":
    main()
