"""The portable path beside stock's kernels: runs, loading, and the size of the runtime core."""

import json
import os
import statistics
import subprocess

from common import ROOT, Spread, execute

EXECUTED = ("resnet18", "minilm", "mobilenet_v2", "deit_tiny", "gpt2", "unet", "ds_cnn")
EXECUTE_AIMS = ("resnet18", "minilm")
LOADED = "resnet50"  # a program of 100 MB
AIM_LOAD_MS, AIM_PORTABLE, AIM_OPTIMISED = 5, 10, 1


def compile_portable(bench, name):
    bench.compile(bench.pt2(name), bench.path(name + ".pte"), "portable")


def run_once(bench, runner, name, runs):
    program, arrays = bench.path(name + ".pte"), bench.path(name + ".step1.in.npz")
    if runner == bench.wick:
        command = [bench.wick, "bench", program, "-i", arrays, "--threads", "1", "--warmup", "1", "--runs", str(runs), "--json"]
        return json.loads(execute(command)[0])
    result = execute([runner, program, "-i", arrays, "-o", bench.path("peer.npz"), "--repeat", str(runs), "--threads", "1"], peer=True)
    return json.loads(result[0]) if result else None


def execute_model(bench, name):
    compile_portable(bench, name)
    runners = {"wick": bench.wick, "stock": bench.stock, "stock_portable": bench.stock_portable}
    runners = {key: runner for key, runner in runners.items() if runner}
    times = {key: [] for key in runners}
    for _ in range(bench.options.pairs):
        for key, runner in runners.items():
            result = run_once(bench, runner, name, bench.options.runs)
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
            bench.check(f"{name} runs >= {aim} x as fast as stock's {library} kernels", ratio, ratio >= aim)
    return row


def execute_table(bench, names):
    rows = []
    print("\nexecute: one thread, least of the runs in ms; stock = ExecuTorch's optimised kernel library, which runs its portable kernels "
          "where it\nhas no better one (convolution, batch norm, softmax, pooling, permute): on convolution networks it is stock's portable path")
    print(f"{'model':24}{'wick':>10}{'stock':>10}{'ratio':>8}{'portable':>10}{'ratio':>8}")
    for name in names:
        row = execute_model(bench, name)
        rows.append(row)
        cells = "".join(f"{row[key + '_ms']['min']:10.3f}{row[key + '_ratio']:7.1f}x" if key + "_ms" in row else f"{'-':>10}{'':8}"
                        for key in ("stock", "stock_portable"))
        print(f"{name:24}{row['wick_ms']['min']:10.3f}{cells}", flush=True)
    if not bench.stock:
        print("no stock runner: see tests/peer/README.md")
    if not bench.stock_portable:
        print("stock's portable library is in no wheel: WICK_STOCK_PORTABLE_RUNNER names a stock_runner linked with it")
    return rows


def load(bench):
    name = LOADED
    compile_portable(bench, name)
    row = {"model": name, "file_bytes": os.path.getsize(bench.path(name + ".pte"))}
    ours, stock = [], []
    for _ in range(bench.options.pairs):
        ours.append(run_once(bench, bench.wick, name, 1)["load_ms"])
        peer = run_once(bench, bench.stock, name, 1) if bench.stock else None
        stock += [peer["load_ms"]] if peer else []
    row["wick_ms"] = Spread(ours).json()
    verdict = bench.check(f"load of {row['file_bytes'] / 1e6:.0f} MB < {AIM_LOAD_MS} ms", row["wick_ms"]["min"], row["wick_ms"]["min"] < AIM_LOAD_MS)
    print(f"\nload of {name}, {row['file_bytes'] / 1e6:.1f} MB, checked and bound: {row['wick_ms']['min']:.2f} ms: {verdict}", end="")
    if stock:
        row["stock_ms"] = Spread(stock).json()
        print(f" (stock, reading the file: {row['stock_ms']['min']:.2f} ms)", end="")
    print()
    return row


def runtime_size():
    """Text of the runtime core for small targets, once `cmake --build --preset size` has made it."""
    core = os.path.join(ROOT, "build", "size", "core.o")
    if not os.path.exists(core):
        print("\nsize of the runtime core: not built (scripts/check_freestanding.sh build/size)")
        return None
    text, data, bss = subprocess.run(["size", core], stdout=subprocess.PIPE, text=True).stdout.splitlines()[1].split()[:3]
    print(f"\nruntime core without kernels, g++ -Os x86-64: text {text}, data {data}, bss {bss} bytes")
    return {"text_bytes": int(text), "data_bytes": int(data), "bss_bytes": int(bss)}
