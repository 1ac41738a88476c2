"""Benchmarks of the compiler, the portable path and XNNPACK delegates, each beside its peers in the same run. README.md says what is measured.

    python3 bench/run.py [--build FOLDER] [--json FILE] [--tables A,B] [--models A,B] [--prepared FOLDER] [--pairs N] [--rounds N] [--gate]

Needs only the standard library. Exit codes: 0; 1 if a tool of ours fails; 2 usage; 6 with --gate if an aim is missed.
"""

import argparse
import json
import os
import sys
import time

sys.dont_write_bytecode = True
import compile_table  # noqa: E402: beside this file
import delegate_table  # noqa: E402
import execute_table  # noqa: E402
import generate  # noqa: E402
from common import ROOT, Bench, Failure, fixtures, in_folder, machine, machine_text, prepared_models  # noqa: E402

TABLES = ("compile", "execute", "load", "runtime", "delegates", "lowering")
PREPARED = ("delegates", "lowering")
QUIET_LOAD = 0.5


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "dev"), help="build folder with bin/wick and bin/expand_fixture")
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--tables", help=f"only these of {', '.join(TABLES)}; without it all that there are models for")
    parser.add_argument("--models", help="only these, separated by commas; generated ones are KIND_COUNT (generate.py)")
    parser.add_argument("--prepared", default=os.environ.get("WICK_BENCH_MODELS"),
                        help="folder that export_models.py wrote, for the tables delegates and lowering (default: WICK_BENCH_MODELS)")
    parser.add_argument("--pairs", type=int, default=3, help="times that ours and the peer take turns (default 3)")
    parser.add_argument("--runs", type=int, default=5, help="executions on the clock each time (default 5)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each in the table delegates (default 5)")
    parser.add_argument("--turn-ms", type=float, default=200, help="about how long such a turn is on the clock (default 200)")
    parser.add_argument("--gate", action="store_true", help="exit code 6 if an aim is missed")
    options = parser.parse_args()
    options.tables = options.tables.split(",") if options.tables else [t for t in TABLES if options.prepared or t not in PREPARED]
    options.models = options.models.split(",") if options.models else None
    if not set(options.tables) <= set(TABLES):
        parser.error(f"tables are {', '.join(TABLES)}")
    if set(options.tables) & set(PREPARED) and not options.prepared:
        parser.error("the tables delegates and lowering need --prepared FOLDER (export_models.py writes one)")
    return options


def choose(options, prepared):
    """Names for the tables of fixtures and of prepared models."""
    known = fixtures()
    if not options.models:
        return known + [f"transformer_{count}" for count in compile_table.BLOCKS], prepared
    generated = [name for name in options.models if name.rpartition("_")[0] in generate.KINDS]
    unknown = [name for name in options.models if name not in known and name not in prepared and name not in generated]
    if unknown:
        raise Failure(f"no model is called {unknown[0]}")
    return ([name for name in options.models if name in known or name in generated],
            {name: facts for name, facts in prepared.items() if name in options.models})


def measure(bench, options, result):
    names, prepared = choose(options, prepared_models(options.prepared))
    if "compile" in options.tables:
        result["compile"] = compile_table.compile_table(bench, names)
        result["blocks_ratio"] = compile_table.blocks(bench, result["compile"])
    if "execute" in options.tables:
        result["execute"] = execute_table.execute_table(bench, [name for name in execute_table.EXECUTED if name in names])
    if "load" in options.tables and execute_table.LOADED in names:
        result["load"] = execute_table.load(bench)
    if "runtime" in options.tables:
        result["runtime"] = execute_table.runtime_size()
    if "delegates" in options.tables:
        result["delegates"] = delegate_table.run_table(bench, prepared, options.prepared)
        delegate_table.load_table(bench, result["delegates"])
    if "lowering" in options.tables:
        result["lowering"] = compile_table.lowering_table(bench, prepared)


def run(options, folder):
    start = time.monotonic()
    bench = Bench(options, folder)
    result = {"schema": "wick.benchmarks.1", "machine": machine()}
    print(machine_text(result["machine"]))
    if result["machine"]["load_at_start"] > QUIET_LOAD:
        print("the machine is busy: times of the clock say little, those of two threads nothing")
    measure(bench, options, result)
    result["aims"], result["took_s"] = bench.checks, time.monotonic() - start
    missed = [check for check in bench.checks if not check["passed"]]
    print(f"\n{len(bench.checks) - len(missed)} of {len(bench.checks)} aims reached, {result['took_s']:.0f} s" +
          "".join(f"\n  FAIL {c['aim']}: {c['value']:.3g}" for c in missed))
    if options.json:
        with open(options.json, "w") as out:
            json.dump(result, out, indent=1)
    return 6 if missed and options.gate else 0


if __name__ == "__main__":
    sys.exit(in_folder(run, parse_options()))
