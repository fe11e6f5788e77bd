"""Ask PyTorch what two processes see: `python ask.py [PROGRAM ...]` writes sharded_answers.json."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
PROGRAMS = ["zero_checks", "tensor_checks", "fsdp_checks", "wrapper_checks", "checkpoint_checks"]


def asked(program: str, package: str, count: int = 2) -> list[dict[str, str]]:
    """What each of two processes of a package saw in a program."""
    from process_runs import by_hand

    with TemporaryDirectory() as folder:
        results = by_hand(HERE / f"{program}.py", count, package, folder)
        assert [code for code, _ in results] == [0] * count, results
        return [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in range(count)]


if __name__ == "__main__":
    path = HERE / "sharded_answers.json"
    answers = json.loads(path.read_text()) if path.exists() else {}
    for name in sys.argv[1:] or PROGRAMS:
        answers[name] = asked(name, "torch")
    path.write_text(json.dumps(answers, indent=0) + "\n")
