"""Benchmarks of the compiler and of the portable path, each beside its peer in the same run. README.md says what is measured.

    python3 bench/run.py [--build FOLDER] [--json FILE] [--models A,B] [--pairs N] [--gate]

Needs only the standard library. Exit codes: 0; 1 if a tool of ours fails; 2 usage; 6 with --gate if an aim is missed.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import generate  # noqa: E402: beside this file

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIXTURES = os.path.join(ROOT, "tests", "fixtures", "models")
TIMEOUT_S = "600"

# Process time of ExecuTorch 1.5.1 with the XNNPACK partitioner on a quiet Xeon of the 4th generation, for where no peer can be had.
REFERENCE_COMPILE_S = {"mobilenet_v2": 16.9, "minilm": 17.8, "deit_tiny": 26.0}
EXECUTED = ("resnet18", "minilm", "mobilenet_v2", "deit_tiny", "gpt2", "unet", "ds_cnn")
EXECUTE_AIMS = ("resnet18", "minilm")
BLOCKS = (6, 12, 24, 48)
LOADED = "resnet50"  # a program of 100 MB
AIM_COMPILE, AIM_BLOCKS, AIM_LOAD_MS, AIM_PORTABLE, AIM_OPTIMISED = 100, 9, 5, 10, 1


def memory_limit(pt2_bytes):
    return 1.5 * pt2_bytes + 50e6


class Failure(Exception):
    pass


def execute(command, peer=False):
    """Runs a program. Returns its output, process time in seconds and peak bytes; None if a peer fails."""
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(["timeout", TIMEOUT_S] + command, stdout=subprocess.PIPE, stderr=errors, text=True)
        out = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode == 0:
            return out, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
        errors.seek(0)
        if not peer:
            raise Failure(f"{' '.join(command)}\n{errors.read()}")
    return None


class Spread:
    """Times of one thing: the least and the median."""

    def __init__(self, values):
        self.min, self.median = min(values), statistics.median(values)

    def json(self):
        return {"min": self.min, "median": self.median}


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        tool = lambda name: os.path.join(options.build, "bin", name)
        self.wick, self.expand = tool("wick"), tool("expand_fixture")
        self.peer_python = os.environ.get("WICK_PEER_PYTHON")
        self.stock = self.stock_runner()
        self.stock_portable = os.environ.get("WICK_STOCK_PORTABLE_RUNNER")
        self.checks = []

    def stock_runner(self):
        setup = [os.path.join(ROOT, "tests", "peer", "setup.sh"), os.path.join(self.options.build, "peer")]
        found = subprocess.run(setup, stdout=subprocess.PIPE, text=True).stdout.strip()
        return found if os.access(found, os.X_OK) else None

    def path(self, name):
        return os.path.join(self.folder, name)

    def pt2(self, name):
        path = self.path(name + ".pt2")
        if not os.path.exists(path):
            kind, _, count = name.rpartition("_")
            if kind in generate.KINDS:
                generate.generate(kind, int(count), path)
            else:
                execute([self.expand, os.path.join(FIXTURES, name + ".wfix.gz"), path])
        return path

    def check(self, name, value, passes):
        self.checks.append({"aim": name, "value": value, "passed": bool(passes)})
        return "pass" if passes else "FAIL"

    # --- compile ---

    def compile_once(self, name):
        out, cpu_s, peak = execute([self.wick, "compile", self.pt2(name), "-o", self.path(name + ".pte"), "--backend", "portable", "--json"])
        return json.loads(out), cpu_s, peak

    def peer_once(self, name, kind):
        script = os.path.join(ROOT, "bench", "peer_compile.py")
        result = execute([self.peer_python, script, kind, self.pt2(name), self.path(name + ".peer.pte")], peer=True)
        return (json.loads(result[0]), result[1], result[2]) if result else None

    def compile_model(self, name):
        with_peer = self.peer_python and name in REFERENCE_COMPILE_S
        ours, peers = [], {"xnnpack": [], "portable": []}
        for _ in range(self.options.pairs):
            ours.append(self.compile_once(name))
            for kind in peers if with_peer else ():
                peer = self.peer_once(name, kind)
                peers[kind] += [peer] if peer else []
        report, method = ours[0][0], ours[0][0]["methods"][0]
        row = {"model": name, "pt2_bytes": os.path.getsize(self.pt2(name)), "kernels": method["kernels"],
               "process_s": Spread([cpu for _, cpu, _ in ours]).json(), "wall_ms": Spread([r["compile_ms"] for r, _, _ in ours]).json(),
               "peak_bytes": max(peak for _, _, peak in ours), "arena_bytes": method["arena_bytes"],
               "arena_lower_bound_bytes": method["arena_lower_bound_bytes"], "file_bytes": report["file_bytes"]}
        row["peers"] = {kind: {"process_s": Spread([cpu for _, cpu, _ in results]).json(),
                               "lower_s": Spread([times["lower_s"] for times, _, _ in results]).json(),
                               "peak_bytes": max(peak for _, _, peak in results)} for kind, results in peers.items() if results}
        limit = memory_limit(row["pt2_bytes"])
        row["memory"] = self.check(f"peak memory of compiling {name} <= 1.5 x .pt2 + 50 MB", row["peak_bytes"] / limit, row["peak_bytes"] <= limit)
        if name in REFERENCE_COMPILE_S:
            peer = row["peers"].get("xnnpack")
            peer_s = peer["process_s"]["min"] if peer else REFERENCE_COMPILE_S[name]
            row["ratio"], row["ratio_from"] = peer_s / row["process_s"]["min"], "same run" if peer else "reference"
            self.check(f"compile of {name} <= 1/{AIM_COMPILE} of ExecuTorch's process time with XNNPACK ({row['ratio_from']})", row["ratio"],
                       row["ratio"] >= AIM_COMPILE)
            if "portable" in row["peers"]:
                ratio = row["peers"]["portable"]["process_s"]["min"] / row["process_s"]["min"]
                self.check(f"compile of {name} <= 1/{AIM_COMPILE} of ExecuTorch's process time, portable only", ratio, ratio >= AIM_COMPILE)
        return row

    def compile_table(self, names):
        rows = []
        print("\ncompile: process time (user + system, least of the runs) and peak memory; ExecuTorch 1.5.1 with its XNNPACK partitioner, whose "
              "times\nthe aim of 1/100 quotes, and with portable operators only, which is the same job")
        print(f"{'model':24}{'.pt2 MB':>9}{'ms':>9}{'peak MB':>9}{'/limit':>8}{'':>6}{'kernels':>8}{'arena/bound':>12}"
              f"{'xnnpack s':>11}{'MB':>6}{'ratio':>7}{'portable s':>12}{'MB':>6}{'ratio':>7}")
        for name in names:
            row = self.compile_model(name)
            rows.append(row)
            cells = ""
            for kind, width in (("xnnpack", 11), ("portable", 12)):
                if kind in row["peers"]:
                    peer = row["peers"][kind]
                    ratio = peer["process_s"]["min"] / row["process_s"]["min"]
                    cells += f"{peer['process_s']['min']:{width}.1f}{peer['peak_bytes'] / 1e6:6.0f}{ratio:6.0f}x"
            if "ratio" in row and row["ratio_from"] == "reference":
                cells = f"{REFERENCE_COMPILE_S[name]:11.1f}{'':6}{row['ratio']:6.0f}x stated, not measured"
            over = row["arena_bytes"] / row["arena_lower_bound_bytes"] if row["arena_lower_bound_bytes"] else 1
            print(f"{name:24}{row['pt2_bytes'] / 1e6:9.1f}{row['process_s']['min'] * 1e3:9.1f}{row['peak_bytes'] / 1e6:9.1f}"
                  f"{row['peak_bytes'] / memory_limit(row['pt2_bytes']):8.2f}{row['memory']:>6}{row['kernels']:8}{over:12.4f}{cells}", flush=True)
        return rows

    def blocks(self, rows):
        times = {row["model"]: row["process_s"]["min"] for row in rows}
        few, many = (times.get(f"transformer_{count}") for count in (BLOCKS[0], BLOCKS[-1]))
        if not few or not many:
            return None
        verdict = self.check(f"{BLOCKS[-1]} transformer blocks <= {AIM_BLOCKS} x {BLOCKS[0]}", many / few, many / few <= AIM_BLOCKS)
        print(f"\n{BLOCKS[-1]} transformer blocks take {many / few:.2f} x the time of {BLOCKS[0]}: {verdict}")
        return many / few

    # --- execute ---

    def run_once(self, runner, name, runs):
        program, arrays = self.path(name + ".pte"), self.path(name + ".step1.in.npz")
        if runner == self.wick:
            command = [self.wick, "bench", program, "-i", arrays, "--threads", "1", "--warmup", "1", "--runs", str(runs), "--json"]
            return json.loads(execute(command)[0])
        result = execute([runner, program, "-i", arrays, "-o", self.path("peer.npz"), "--repeat", str(runs), "--threads", "1"], peer=True)
        return json.loads(result[0]) if result else None

    def execute_model(self, name):
        self.compile_once(name)
        runners = {"wick": self.wick, "stock": self.stock, "stock_portable": self.stock_portable}
        runners = {key: runner for key, runner in runners.items() if runner}
        times = {key: [] for key in runners}
        for _ in range(self.options.pairs):
            for key, runner in runners.items():
                result = self.run_once(runner, name, self.options.runs)
                times[key] += [result] if result else []
        row = {"model": name}
        for key, results in times.items():
            if results:
                row[key + "_ms"] = {"min": min(r["min_ms"] for r in results), "median": statistics.median(r["median_ms"] for r in results)}
        for key, aim in (("stock", AIM_OPTIMISED), ("stock_portable", AIM_PORTABLE)):
            if key + "_ms" not in row:
                continue
            row[key + "_ratio"] = ratio = row[key + "_ms"]["min"] / row["wick_ms"]["min"]
            if name in EXECUTE_AIMS:
                library = "optimised" if key == "stock" else "portable"
                self.check(f"{name} runs >= {aim} x as fast as stock's {library} kernels", ratio, ratio >= aim)
        return row

    def execute_table(self, names):
        rows = []
        print("\nexecute: one thread, least of the runs in ms; stock = ExecuTorch's optimised kernel library, which runs its portable kernels "
              "where it\nhas no better one (convolution, batch norm, softmax, pooling, permute): on convolution networks it is stock's portable path")
        print(f"{'model':24}{'wick':>10}{'stock':>10}{'ratio':>8}{'portable':>10}{'ratio':>8}")
        for name in names:
            row = self.execute_model(name)
            rows.append(row)
            cells = "".join(f"{row[key + '_ms']['min']:10.3f}{row[key + '_ratio']:7.1f}x" if key + "_ms" in row else f"{'-':>10}{'':8}"
                            for key in ("stock", "stock_portable"))
            print(f"{name:24}{row['wick_ms']['min']:10.3f}{cells}", flush=True)
        if not self.stock:
            print("no stock runner: see tests/peer/README.md")
        if not self.stock_portable:
            print("stock's portable library is in no wheel: WICK_STOCK_PORTABLE_RUNNER names a stock_runner linked with it")
        return rows

    # --- load and size ---

    def load(self):
        name = LOADED
        self.compile_once(name)
        row = {"model": name, "file_bytes": os.path.getsize(self.path(name + ".pte"))}
        ours, stock = [], []
        for _ in range(self.options.pairs):
            ours.append(self.run_once(self.wick, name, 1)["load_ms"])
            peer = self.run_once(self.stock, name, 1) if self.stock else None
            stock += [peer["load_ms"]] if peer else []
        row["wick_ms"] = Spread(ours).json()
        verdict = self.check(f"load of {row['file_bytes'] / 1e6:.0f} MB < {AIM_LOAD_MS} ms", row["wick_ms"]["min"], row["wick_ms"]["min"] < AIM_LOAD_MS)
        print(f"\nload of {name}, {row['file_bytes'] / 1e6:.1f} MB, checked and bound: {row['wick_ms']['min']:.2f} ms: {verdict}", end="")
        if stock:
            row["stock_ms"] = Spread(stock).json()
            print(f" (stock, reading the file: {row['stock_ms']['min']:.2f} ms)", end="")
        print()
        return row

    def runtime_size(self):
        """Text of the runtime core for small targets, once `cmake --build --preset size` has made it."""
        core = os.path.join(ROOT, "build", "size", "core.o")
        if not os.path.exists(core):
            print("\nsize of the runtime core: not built (scripts/check_freestanding.sh build/size)")
            return None
        text, data, bss = subprocess.run(["size", core], stdout=subprocess.PIPE, text=True).stdout.splitlines()[1].split()[:3]
        print(f"\nruntime core without kernels, g++ -Os x86-64: text {text}, data {data}, bss {bss} bytes")
        return {"text_bytes": int(text), "data_bytes": int(data), "bss_bytes": int(bss)}


def machine():
    try:
        with open("/proc/cpuinfo") as info:
            cpu = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.machine())
    except OSError:
        cpu = platform.machine()
    return {"cpu": cpu, "cores": os.cpu_count(), "load_at_start": os.getloadavg()[0]}


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "dev"), help="build folder with bin/wick and bin/expand_fixture")
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--models", help="only these, separated by commas; generated ones are KIND_COUNT (generate.py)")
    parser.add_argument("--pairs", type=int, default=3, help="times that ours and the peer take turns (default 3)")
    parser.add_argument("--runs", type=int, default=5, help="executions on the clock each time (default 5)")
    parser.add_argument("--gate", action="store_true", help="exit code 6 if an aim is missed")
    return parser.parse_args()


def run(options, folder):
    every = sorted(name[:-len(".wfix.gz")] for name in os.listdir(FIXTURES) if name.endswith(".wfix.gz"))
    every += [f"transformer_{count}" for count in BLOCKS]
    chosen = options.models.split(",") if options.models else every
    bench = Bench(options, folder)
    result = {"schema": "wick.benchmarks.1", "machine": machine()}
    print("{cpu}, {cores} cores, load {load_at_start:.1f}".format(**result["machine"]))
    result["compile"] = bench.compile_table(chosen)
    result["blocks_ratio"] = bench.blocks(result["compile"])
    result["execute"] = bench.execute_table([name for name in EXECUTED if name in chosen])
    result["load"] = bench.load() if LOADED in chosen else None
    result["runtime"] = bench.runtime_size()
    result["aims"] = bench.checks
    missed = [check for check in bench.checks if not check["passed"]]
    print(f"\n{len(bench.checks) - len(missed)} of {len(bench.checks)} aims reached" + "".join(f"\n  FAIL {c['aim']}: {c['value']:.3g}" for c in missed))
    if options.json:
        with open(options.json, "w") as out:
            json.dump(result, out, indent=1)
    return 6 if missed and options.gate else 0


def main():
    options = parse_options()
    with tempfile.TemporaryDirectory() as folder:
        try:
            return run(options, folder)
        except Failure as failure:
            print(failure, file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main())
