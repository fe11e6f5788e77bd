"""`python -m taper.distributed.run`: torchrun's command line, for programs that say torch.

Processes are MPI's where the `mpi` extra is there (`TAPER_TRANSPORT=host` does without).
"""

from __future__ import annotations

import argparse
import os
import sys
import uuid
from collections.abc import Sequence
from typing import Any

from taper.arrays.threads import allowed_cores
from taper.commands.launcher.agent import Agent, Plan
from taper.commands.launcher.logs import streams_of
from taper.distributed.stores import DistError

__all__ = ["get_args_parser", "main", "parse_args", "run"]


def get_args_parser() -> argparse.ArgumentParser:
    """Return the parser of torchrun's command line."""
    parser = argparse.ArgumentParser(
        prog="taper run",
        usage="taper run [OPTIONS] SCRIPT [ARGS ...]",
        description="Run a program in several processes, which find each other.",
        epilog="Options that torchrun has and that do nothing here: --rdzv-conf, --start-method, "
        "--role's numbers, --logs-specs, --numa-binding.",
        allow_abbrev=False,
    )

    def add(*names: str, **options: Any) -> None:
        """Add an option, which may be written with underscores, too."""
        both = [each for name in names for each in (name, name[:2] + name[2:].replace("-", "_"))]
        parser.add_argument(*dict.fromkeys(both), **options)

    add("--nproc-per-node", default="1", help="processes on this node: a number, auto or cpu")
    add("--nnodes", default="1", help="nodes (a range such as 1:4 takes the first number)")
    add("--node-rank", type=int, default=0, help="the number of this node")
    add("--master-addr", default="127.0.0.1", help="the address of node 0")
    add("--master-port", type=int, default=29500, help="a free port of node 0")
    add("--standalone", action="store_true", help="one node; a free port is found")
    add("--rdzv-endpoint", default="", help="host:port, instead of --master-addr, --master-port")
    add("--rdzv-id", default="none", help="the name of the run")
    add("--rdzv-backend", default="static", help="ignored")
    add("--rdzv-conf", default="", help="ignored")
    add("--max-restarts", type=int, default=0, help="how often to start again after a failure")
    add("--monitor-interval", type=float, default=0.1, help="seconds between looks")
    add("--start-method", default="spawn", help="ignored")
    add("--role", default="default", help="a name for the processes, shown by --tee")
    add("-m", "--module", action="store_true", help="the program is a module")
    add("--no-python", action="store_true", help="the program is a command of its own")
    add("--run-path", action="store_true", help="run the script in the way of runpy: as always")
    add("--log-dir", default=None, help="where the logs of processes go")
    add("-r", "--redirects", default="0", help="to files: 1 stdout, 2 stderr, 3 both, or 0:1,1:3")
    add("-t", "--tee", default="0", help="to files and to the terminal: the same numbers")
    add("--local-addr", default=None, help="ignored")
    add("--logs-specs", default=None, help="ignored")
    add("--numa-binding", default=None, help="ignored")
    add("training_script", help="the program")
    add("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """Parse torchrun's command line."""
    return get_args_parser().parse_args(args)


def _number(text: str, what: str) -> int:
    if what == "--nproc-per-node" and text in ("auto", "cpu"):
        return allowed_cores()
    try:
        number = int(text.split(":")[0])
    except ValueError:
        number = 0
    if number < 1:
        raise ValueError(f"Unsupported {what} value: {text}")
    return number


def _plan(options: argparse.Namespace) -> Plan:
    local = _number(options.nproc_per_node, "--nproc-per-node")
    nodes = 1 if options.standalone else _number(options.nnodes, "--nnodes")
    if options.no_python and options.module:
        raise ValueError(
            "Don't use both the '--no-python' flag and the '--module' flag at the same time."
        )
    address, port, run = options.master_addr, options.master_port, options.rdzv_id
    if options.rdzv_endpoint:
        host, _, number = options.rdzv_endpoint.rpartition(":")
        address, port = (host, int(number)) if host else (number, 29500)
    if options.standalone or (
        nodes == 1 and options.master_port == 29500 and not options.rdzv_endpoint
    ):
        address, port = "127.0.0.1", 0  # as with torchrun, one node needs no agreed port
        run = run if run != "none" else str(uuid.uuid4())
    for text in (options.redirects, options.tee):
        streams_of(text, local)
    if not 0 <= options.node_rank < nodes:
        raise ValueError(f"--node-rank {options.node_rank} of {nodes} nodes")
    return Plan(
        program=options.training_script,
        command=_command(options),
        local=local,
        nodes=nodes,
        node=options.node_rank,
        address="127.0.0.1" if address == "localhost" else address,
        port=port,
        restarts=max(0, options.max_restarts),
        interval=options.monitor_interval,
        run=run,
        role=options.role,
        log_dir=options.log_dir,
        redirects=options.redirects,
        tee=options.tee,
    )


def _command(options: argparse.Namespace) -> list[str]:
    program = [options.training_script, *options.training_script_args]
    if options.no_python:
        return program
    if not options.module and not os.path.exists(options.training_script):
        raise ValueError(f"can't open file {os.path.abspath(options.training_script)!r}")
    start = [sys.executable, "-u", "-m", "taper.commands.launcher.program"]
    return [*start, *(["-m"] if options.module else []), *program]


def run(args: argparse.Namespace) -> int:
    """Run what a parsed command line says; return the exit code."""
    return Agent(_plan(args)).run()


def main(args: Sequence[str] | None = None) -> int:
    """Run a command line; return the exit code."""
    options = parse_args(args)
    try:
        return run(options)
    except (ValueError, DistError) as error:
        print(f"taper run: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
