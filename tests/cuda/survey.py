"""Run the operator table on the device (or a fake one) in processes that may crash, and sum up.

python tests/cuda/survey.py [--fake] [--dtype float32] [--only NAME] [--part 0/4]
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]


def start(fake: bool) -> None:
    if fake:
        import fake as stand_in

        from taper.gpu import state

        state.start(stand_in.Runtime())


def work(names: list[str], arguments: argparse.Namespace, pipe) -> None:
    import faulthandler

    faulthandler.enable(open(os.path.join(arguments.out, f"crash{os.getpid()}.txt"), "w"))
    start(arguments.fake)
    import table

    from taper.gpu import dispatch

    rows = {case.name: case for case in table.ROWS}
    for name in names:
        pipe.send(("begin", name, None))
        try:
            found = table.problems_of(rows[name], arguments.dtype)
        except BaseException as error:
            found = [f"{type(error).__name__}: {error}"]
        pipe.send(("end", name, found))
    pipe.send(("done", dict(dispatch.fallbacks), dict(dispatch.uploads)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fake", action="store_true")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="0/1", help="which rows of how many processes beside")
    parser.add_argument("--out", default=".")
    parser.add_argument("--seconds", type=float, default=300)
    arguments = parser.parse_args()
    import table

    names = [case.name for case in table.ROWS if arguments.only in case.name]
    part, parts = map(int, arguments.part.split("/"))
    names = list(dict.fromkeys(names))[part::parts]
    verdicts: dict[str, list[str]] = {}
    fallbacks, uploads = collections.Counter(), collections.Counter()
    context = multiprocessing.get_context("fork" if arguments.fake else "spawn")
    began = time.time()
    while names and time.time() - began < arguments.seconds:
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(names, arguments, theirs))
        process.start()
        theirs.close()
        current = None
        try:
            while time.time() - began < arguments.seconds:
                if not ours.poll(60):
                    process.kill()
                    raise EOFError
                what, name, found = ours.recv()
                if what == "begin":
                    current = name
                elif what == "end":
                    verdicts[name], current = found, None
                else:
                    fallbacks.update(name)
                    uploads.update(found)
                    break
        except EOFError:
            if current is not None:
                verdicts[current] = ["crash"]
        process.kill()
        process.join()
        names = [name for name in names if name not in verdicts]
    bad = {name: found for name, found in verdicts.items() if found}
    for name, found in bad.items():
        print(f"{name}: {len(found)} {found[0]}")
    print(
        f"{arguments.dtype}: {len(verdicts) - len(bad)} of {len(verdicts)} rows agree, "
        f"{len(names)} not reached, {time.time() - began:.0f} s"
    )
    print("fallbacks", dict(fallbacks.most_common(60)))
    print("uploads", dict(uploads.most_common(30)))
    with open(os.path.join(arguments.out, f"survey_{arguments.dtype}_{part}.json"), "w") as file:
        json.dump(verdicts, file, indent=0)


if __name__ == "__main__":
    main()
