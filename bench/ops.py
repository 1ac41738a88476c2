"""Times operators one by one: portable kernels, the default backend, and eager PyTorch where torch is installed, each with one thread.

    python3 bench/ops.py [--build FOLDER] [--json FILE] [--ops A,B] [--rounds N] [--gate] [--record]

Each operator of op_rows.py is a program of one node, at three sizes. WICK_PEER_PYTHON names a Python with torch; without it only the two backends are
compared. The programs state the types of their results, which op_results.txt holds; --record writes it anew, with torch, and measures nothing. Needs only
the standard library. Exit codes: 0; 1 if a tool of ours fails; 2 usage; 6 with --gate if a row misses an aim.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import zipfile

sys.dont_write_bytecode = True
import generate  # noqa: E402: beside this file
from common import ROOT, Failure, execute, in_folder, machine, machine_text  # noqa: E402: beside this file
from generate import Program, tensor_meta  # noqa: E402
from op_rows import DTYPES, ROWS, Data, DType  # noqa: E402

REASONS = os.path.join(ROOT, "bench", "op_reasons.txt")
RESULTS = os.path.join(ROOT, "bench", "op_results.txt")
EAGER = os.path.join(ROOT, "bench", "eager_ops.py")
JUDGED_US = 20  # below this, calling a kernel takes longer than the kernel
AIM_PORTABLE, AIM_EAGER = 1.2, 3.0


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="build folder with bin/wick")
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--ops", help="only rows whose name begins with one of these, separated by commas")
    parser.add_argument("--rounds", type=int, default=3, help="times that the contestants take turns (default 3)")
    parser.add_argument("--turn-ms", type=float, default=20, help="about how long such a turn is on the clock (default 20)")
    parser.add_argument("--record", action="store_true", help="write op_results.txt (needs WICK_PEER_PYTHON)")
    parser.add_argument("--gate", action="store_true", help="exit code 6 if a row misses an aim")
    return parser.parse_args()


def read_reasons():
    """Row name -> why it may be slower than eager."""
    reasons = {}
    with open(REASONS) as file:
        for line in file:
            name, separator, reason = line.strip().partition(": ")
            if separator and not line.startswith("#"):
                reasons[name] = reason
    return reasons


def argument(value):
    if isinstance(value, Data):
        return {"as_tensor": {"name": value.name}}
    if isinstance(value, DType):
        return {"as_scalar_type": DTYPES[value.name][0]}
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, Data) for item in value):
        return {"as_tensors": [{"name": item.name} for item in value]}
    if isinstance(value, (list, tuple)) and any(isinstance(item, Data) for item in value):
        return {"as_optional_tensors": [argument(item) for item in value]}
    return generate.argument(value)


def parameters_of(schema):
    """Names of the arguments, and the position of the first one that is passed by name."""
    text = schema[schema.index("(") + 1:schema.rindex(") ->")]
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text + ","):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    by_name = parts.index("*") if "*" in parts else len(parts)
    return [part.split("=")[0].split()[-1] for part in parts if part and part != "*"], by_name


def read_results():
    """(row name, size) -> [dtype, sizes] of each result."""
    results = {}
    with open(RESULTS) as file:
        for line in file:
            name, size, types = line.rstrip("\n").split("\t")
            results[name, int(size)] = json.loads(types)
    return results


def write_program(path, target, names, values, results, in_list, returned=None):
    """A program of one node; `results` has dtypes and sizes. Data with `constant` become parameters, others inputs, which are returned."""
    p = Program([1])
    p.values = {}
    inputs, constants = [], []
    def declare(value):
        if isinstance(value, Data):
            value.name = f"{'p' if value.constant else 'x'}_{len(inputs) + len(constants)}"
            (constants if value.constant else inputs).append(value)
            p.values[value.name] = {**tensor_meta(value.sizes), "dtype": DTYPES[value.dtype][0]}
        elif isinstance(value, list):
            for item in value:
                declare(item)
    declare(values)
    outs = [f"result_{i}" for i in range(len(results))]
    for name, (dtype, sizes) in zip(outs, results):
        p.values[name] = {**tensor_meta(sizes), "dtype": DTYPES[dtype][0]}
    p.nodes.append({
        "target": f"torch.ops.{target}", "inputs": [{"name": key, "arg": argument(value), "kind": 1} for key, value in zip(names, values)],
        "outputs": [{"as_tensors": [{"name": name} for name in outs]}] if in_list else [{"as_tensor": {"name": name}} for name in outs],
        "metadata": {}, "is_hop_single_tensor_return": None, "name": "node"})
    document = p.document_of(inputs, [(value.name, value.name) for value in constants], outs[:returned])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        config = {}
        for index, value in enumerate(constants):
            archive.writestr(f"program/data/weights/weight_{index}", value.bytes())
            config[value.name] = {"path_name": f"weight_{index}", "is_param": True, "use_pickle": False, "tensor_meta": p.values[value.name]}
        for name, text in (("data/weights/model_weights_config.json", json.dumps({"config": config})),
                           ("data/constants/model_constants_config.json", '{"config": {}}'),
                           ("models/model.json", json.dumps(document)),
                           ("archive_format", "pt2"), ("archive_version", "0"), ("byteorder", "little"), (".data/version", "3\n")):
            archive.writestr(f"program/{name}", text)
    return inputs


def write_inputs(path, inputs):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for index, value in enumerate(inputs):
            archive.writestr(f"in{index}.npy", value.npy())


class Eager:
    """A process with torch that times calls as it is asked to."""

    def __init__(self, python):
        self.child = subprocess.Popen([python, EAGER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                      env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

    def ask(self, **request):
        self.child.stdin.write(json.dumps(request) + "\n")
        self.child.stdin.flush()
        answer = json.loads(self.child.stdout.readline() or '{"error": "torch ended"}')
        return answer.get("us") or answer.get("results")

    def close(self):
        self.child.stdin.close()
        self.child.wait()


class Contest:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.wick = os.path.join(options.build, "bin", "wick")
        cases = json.loads(execute([self.wick, "ops", "--cases", "--json"])[0])
        self.schemas = {row["name"]: row["schema"] for row in cases["operators"]}
        python = os.environ.get("WICK_PEER_PYTHON")
        self.eager = Eager(python) if python else None
        self.reasons, self.results = read_reasons(), read_results()

    def path(self, name):
        return os.path.join(self.folder, name)

    def time_wick(self, backend, runs):
        out = execute([self.wick, "bench", self.path(backend + ".pte"), *(["-i", self.path("in.npz")] if self.has_inputs else []),
                       "--threads", "1", "--warmup", "1", "--runs", str(runs), "--json"])
        return json.loads(out[0])["min_ms"] * 1000

    def runs_for(self, us):
        return max(3, min(1000, int(self.options.turn_ms * 1000 / max(us, 1))))

    def prepare_eager(self, row, size):
        """Types of the results, or None if eager does not take the call."""
        values = row.arguments(size)
        names, by_name = parameters_of(self.schemas[row.target])
        return self.eager.ask(prepare={"target": row.target, "by_name": by_name, "names": names, "values": describe(values, self.path("eager"))})

    def record(self):
        with open(RESULTS, "w") as file:
            for row in ROWS:
                for size in row.sizes:
                    types = self.prepare_eager(row, size)
                    if types is None:
                        raise Failure(f"eager does not take {row.name} at {size}")
                    file.write(f"{row.name}\t{size}\t{json.dumps(types)}\n")

    def measure(self, row, size):
        target, values = row.target, row.arguments(size)
        schema = self.schemas.get(target)
        if schema is None:
            raise Failure(f"{target} is no operator that Wick knows")
        names, _ = parameters_of(schema)
        results = self.results.get((row.name, size))
        if results is None:
            raise Failure("op_results.txt lacks this row: --record")
        inputs = write_program(self.path("m.pt2"), target, names, values, results, schema.endswith("[]"), row.returned)
        self.has_inputs = bool(inputs)
        if inputs:
            write_inputs(self.path("in.npz"), inputs)
        for backend in ("portable", "xnnpack"):
            execute([self.wick, "compile", self.path("m.pt2"), "-o", self.path(backend + ".pte"), "--backend", backend])
        with open(self.path("portable.pte"), "rb") as one, open(self.path("xnnpack.pte"), "rb") as other:
            backends = ["portable"] if one.read() == other.read() else ["portable", "xnnpack"]
        contestants = {name: lambda runs, name=name: self.time_wick(name, runs) for name in backends}
        if self.eager and self.prepare_eager(row, size):
            contestants["eager"] = lambda runs: self.eager.ask(runs=runs)
        best = {name: measure(1) for name, measure in contestants.items()}
        for turn in range(self.options.rounds):
            for name in list(contestants)[::1 if turn % 2 else -1]:
                if best[name] is not None:
                    best[name] = min(best[name], contestants[name](self.runs_for(best[name])))
        best.setdefault("xnnpack", best["portable"])
        return {"row": row.name, "size": size, **{name + "_us": us for name, us in best.items()}}

    def judge(self, result):
        """What the row misses."""
        ours, portable, eager = result["xnnpack_us"], result["portable_us"], result.get("eager_us")
        missed = []
        if ours > max(AIM_PORTABLE * portable, JUDGED_US):
            missed.append("portable")
        if eager and ours > max(AIM_EAGER * eager, JUDGED_US) and result["row"] not in self.reasons:
            missed.append("eager")
        return missed


def describe(values, stem):
    """The arguments for eager_ops.py; tensors as files of raw bytes."""
    count = [0]
    def one(value):
        if isinstance(value, Data):
            count[0] += 1
            path = f"{stem}_{count[0]}.bin"
            with open(path, "wb") as file:
                file.write(value.bytes())
            return {"file": path, "dtype": value.dtype, "sizes": list(value.sizes)}
        if isinstance(value, DType):
            return {"dtype": value.name}
        return [one(item) for item in value] if isinstance(value, list) else value
    return [one(value) for value in values]


def line_of(result, missed):
    eager = result.get("eager_us")
    ours, portable = result["xnnpack_us"], result["portable_us"]
    eager_cells = f"{eager:11.1f}{ours / eager:9.2f}" if eager else f"{'-':>11}{'-':>9}"
    return f"{result['row']:34}{result['size']:>8}{portable:11.1f}{ours:11.1f}{ours / portable:10.2f}{eager_cells}  {', '.join(missed)}".rstrip()


def run(options, folder):
    start = time.monotonic()
    contest = Contest(options, folder)
    if options.record:
        if not contest.eager:
            raise Failure("--record needs WICK_PEER_PYTHON")
        contest.record()
        contest.eager.close()
        return 0
    wanted = options.ops.split(",") if options.ops else None
    rows = [row for row in ROWS if not wanted or any(row.name.startswith(name) for name in wanted)]
    if not rows:
        raise Failure("no row has such a name")
    facts = machine()
    print(machine_text(facts))
    print(f"{'operator':34}{'size':>8}{'portable':>11}{'default':>11}{'/portable':>10}{'eager us':>11}{'/eager':>9}  misses", flush=True)
    results, failed = [], []
    for row in rows:
        for size in row.sizes:
            try:
                result = contest.measure(row, size)
            except Failure as failure:
                failed.append(row.name)
                print(f"{row.name:34}{size:>8}  {next(line for line in str(failure).splitlines() if 'error' in line or len(str(failure).splitlines()) == 1)}", flush=True)
                continue
            result["missed"] = contest.judge(result)
            results.append(result)
            print(line_of(result, result["missed"]), flush=True)
    missed = [result for result in results if result["missed"]]
    worst = lambda result: max(result["xnnpack_us"] / result["portable_us"] / AIM_PORTABLE,
                               result["xnnpack_us"] / (result.get("eager_us") or float("inf")) / AIM_EAGER)
    print(f"\n{len(results) - len(missed)} of {len(results)} rows reach both aims: default <= {AIM_PORTABLE} x portable and <= {AIM_EAGER:g} x eager; "
          f"rows under {JUDGED_US} us are not judged; {time.monotonic() - start:.0f} s")
    for result in sorted(missed, key=worst, reverse=True):
        print(line_of(result, result["missed"]))
    if contest.eager:
        contest.eager.close()
    if options.json:
        with open(options.json, "w") as out:
            json.dump({"schema": "wick.benchmarks.ops.1", "machine": facts, "rows": results}, out, indent=1)
    return 1 if failed else 6 if missed and options.gate else 0


if __name__ == "__main__":
    sys.exit(in_folder(run, parse_options()))
