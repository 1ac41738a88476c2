"""Whole models in XNNPACK delegates beside every peer, interleaved: time to run, time until the first run is done, peak memory.

Contestants: ours on stock's runtime, stock's own file there, ours on Wick's runtime, and the float or quantized .onnx on ONNX Runtime and OpenVINO.
"""

import json
import os
import statistics
import sys
import time

from common import ROOT, Spread, execute
from contestants import Native, Served

OURS_ON_STOCK, STOCK, OURS, ONNXRUNTIME, OPENVINO = "ours_on_stock", "stock", "ours", "onnxruntime", "openvino"
TITLES = {OURS_ON_STOCK: "ours on stock", STOCK: "stock", OURS: "ours", ONNXRUNTIME: "ONNX Runtime", OPENVINO: "OpenVINO"}
PEERS = (STOCK, ONNXRUNTIME, OPENVINO)
THREADS = (1, 2)

# Ours against stock's file, both on stock's runtime: at least this many times as fast.
AIMS = {
    "deit_tiny": 2.4, "vit_b_16": 1.5, "swin_t": 1.5, "convnext_tiny": 1.5, "minilm": 1.5, "distilbert": 1.5, "gpt2": 1.5,
    "whisper_tiny_encoder": 3.0, "llama_prefill": 1.5, "mobilenet_v2": 1.0, "resnet50": 1.0, "efficientnet_b0": 1.0,
    "deit_tiny_int8": 3.0, "mobilenet_v2_int8": 1.0, "resnet50_int8": 1.0,
}
AHEAD_OF_ALL = ("deit_tiny", "deit_tiny_int8")
AIM_PEAK = 2.2  # times the weights
LEAST_WEIGHTS = 20e6  # below, the process and the activations are what counts
NOISE = 0.97  # from here on the aim of 1 x, "no slower than", is reached

# The largest difference over the largest wanted value; for int8, where roundings of integers and floats part, roots of squares: against eager's answer of the
# same quantized program, and against the float model's for peers that quantize it by themselves.
LIMIT_FLOAT, LIMIT_QUANTIZED, LIMIT_APART = 1e-4, 0.25, 0.5
PAUSE_S = 0.02  # lets the threads of the last one go to sleep
FEWEST_RUNS, MOST_RUNS = 2, 200


def contestants(bench, name, folder, threads):
    """In the order of the first round."""
    stem, ours, inputs = os.path.join(folder, name), bench.path(name + ".pte"), os.path.join(folder, name + ".in.npz")
    output = lambda key: bench.path(key + ".npz")
    all_of_them = {}
    if bench.stock:
        all_of_them[OURS_ON_STOCK] = Native(bench.stock, False, ours, inputs, output(OURS_ON_STOCK), threads)
        all_of_them[STOCK] = Native(bench.stock, False, stem + ".stock.pte", inputs, output(STOCK), threads)
    all_of_them[OURS] = Native(bench.wick, True, ours, inputs, output(OURS), threads)
    if bench.onnx_python and os.path.exists(stem + ".onnx"):
        for library in (ONNXRUNTIME, OPENVINO):
            model = stem + (".xml" if library == OPENVINO and os.path.exists(stem + ".xml") else ".onnx")
            all_of_them[library] = Served(bench.onnx_python, library, model, inputs, output(library), threads)
    return all_of_them


def difference(found, wanted):
    return json.loads(execute([sys.executable, os.path.join(ROOT, "bench", "arrays.py"), found, wanted])[0])


def judge(bench, key, stem, kind):
    """How far the outputs are from eager's (None: not comparable), and what is wrong with them (None: nothing)."""
    apart = kind == "int8" and key in (ONNXRUNTIME, OPENVINO)
    found = difference(bench.path(key + ".npz"), stem + (".float.npz" if apart else ".out.npz"))
    if "wrong" in found:
        return None, found["wrong"]
    error, limit = (found["largest"], LIMIT_FLOAT) if kind == "f32" else (found["overall"], LIMIT_APART if apart else LIMIT_QUANTIZED)
    return error, None if error <= limit else f"error {error:.2g} relative to eager's outputs, more than {limit:g}"


def interleave(bench, runners):
    """Turns of all, forth and back in turn. key -> list of turns."""
    turns = {key: [] for key in runners}
    for round_index in range(bench.options.rounds):
        for key in list(runners) if round_index % 2 == 0 else list(runners)[::-1]:
            runs = FEWEST_RUNS
            if turns[key]:
                runs = max(FEWEST_RUNS, min(MOST_RUNS, int(bench.options.turn_ms / turns[key][-1]["min_ms"])))
            time.sleep(PAUSE_S)
            turn = runners[key].turn(runs)
            turns[key] += [turn] if turn else []
    return {key: results for key, results in turns.items() if results}


def measure(bench, name, facts, folder, threads):
    row = {"model": name, "kind": facts["kind"], "threads": threads, "weight_bytes": facts["weight_bytes"], "errors": {}, "failed": {}, "versions": {}}
    everyone = contestants(bench, name, folder, threads)
    try:
        sound = {}
        for key, runner in everyone.items():
            row["failed"][key] = runner.start()
            if row["failed"][key]:
                continue
            row["errors"][key], row["failed"][key] = judge(bench, key, os.path.join(folder, name), facts["kind"])
            if not row["failed"][key]:
                sound[key] = runner
            if isinstance(runner, Served):
                row["versions"][key] = runner.facts["version"]
        row["failed"] = {key: wrong for key, wrong in row["failed"].items() if wrong}
        if STOCK in sound and OURS in sound:
            row["from_stock"] = difference(bench.path(OURS + ".npz"), bench.path(STOCK + ".npz")).get("largest")
        turns = interleave(bench, sound)
    finally:
        for runner in everyone.values():
            runner.stop()
    for key, results in turns.items():
        row[key] = {"min_ms": min(r["min_ms"] for r in results), "median_ms": statistics.median(r["median_ms"] for r in results)}
        if "ready_ms" in results[0]:
            row[key]["ready_ms"] = Spread([r["ready_ms"] for r in results]).json()
            row[key]["peak_bytes"] = max(r["peak_bytes"] for r in results)
    return row


def ratio(row, slower, faster):
    return row[slower]["min_ms"] / row[faster]["min_ms"] if slower in row and faster in row else None


def check_row(bench, row):
    """Fills in ratios and checks the aims. Our own mistakes are missed aims."""
    name, where = row["model"], f"{row['model']}, {row['threads']} thread{'s'[:row['threads'] - 1]}"
    for key in (OURS, OURS_ON_STOCK):
        if key in row["failed"]:
            bench.check(f"{where}: {TITLES[key]} answers as eager does (error)", row["errors"].get(key) or 0, False)
    row["over_stock"], row["own_runtime"] = ratio(row, STOCK, OURS_ON_STOCK), ratio(row, OURS_ON_STOCK, OURS)
    others = [row[key]["min_ms"] for key in (ONNXRUNTIME, OPENVINO) if key in row]
    row["over_others"] = min(others) / row[OURS]["min_ms"] if others and OURS in row else None
    row["verdicts"] = {}
    if row["over_stock"] and name in AIMS:
        least = AIMS[name] if AIMS[name] > 1 else NOISE
        row["verdicts"]["over_stock"] = bench.check(f"{where}: >= {least} x as fast as stock's file on stock's runtime", row["over_stock"],
                                                    row["over_stock"] >= least)
    if row["own_runtime"]:
        row["verdicts"]["own_runtime"] = bench.check(f"{where}: >= {NOISE} x as fast on Wick's runtime as on stock's", row["own_runtime"],
                                                     row["own_runtime"] >= NOISE)
    if row["over_others"] and name in AHEAD_OF_ALL:
        row["verdicts"]["over_others"] = bench.check(f"{where}: ahead of ONNX Runtime and OpenVINO", row["over_others"], row["over_others"] > 1)


def cell(row, key):
    if key in row:
        return f"{row[key]['min_ms']:10.3f} /{row[key]['median_ms']:9.3f}"
    return f"{'wrong' if key in row['failed'] else '-':>21}"


def ratio_cell(row, key):
    return f"{row[key]:6.2f}x {row['verdicts'].get(key, ''):5}" if row[key] else " " * 13


def print_row(row):
    print(f"{row['model']:22}{row['threads']:2}{cell(row, OURS_ON_STOCK)}{cell(row, STOCK)}{ratio_cell(row, 'over_stock')}{cell(row, OURS)}"
          f"{ratio_cell(row, 'own_runtime')}{cell(row, ONNXRUNTIME)}{cell(row, OPENVINO)}{ratio_cell(row, 'over_others')}", flush=True)
    for key, wrong in row["failed"].items():
        print(f"  {TITLES[key]}: {wrong}; not timed")


def run_table(bench, models, folder):
    rows = []
    print("\ndelegates: ms of a run, least / median; ratios are of the least. on stock: ours and stock's own file on stock's runtime, and how much faster "
          "ours is;\nours: our file on Wick's runtime, and how much faster that is than on stock's; then the fastest of ONNX Runtime and OpenVINO (f32) over ours")
    print(f"{'model':22}{'T':>2}{'ours on stock':>21}{'stock on stock':>21}{'':13}{'ours':>21}{'':13}{'ONNX Runtime':>21}{'OpenVINO':>21}")
    for name, facts in models.items():
        bench.compile(os.path.join(folder, name + ".pt2"), bench.path(name + ".pte"), "xnnpack")
        for threads in THREADS:
            row = measure(bench, name, facts, folder, threads)
            check_row(bench, row)
            print_row(row)
            rows.append(row)
        os.remove(bench.path(name + ".pte"))
    missing = [text for text, there in (("no stock runner: see tests/peer/README.md", bench.stock),
                                        ("no ONNX Runtime, no OpenVINO: WICK_ONNX_PYTHON names no Python", bench.onnx_python)) if not there]
    print("\n".join(missing), end="\n" if missing else "")
    return rows


def load_table(bench, rows):
    """What the turns say of loading and memory, one thread."""
    print("\nfirst run ready: ms from the start of loading to the end of the first run, less a later run (least / median); peak memory of running over the "
          "weights")
    print(f"{'model':22}{'weights MB':>11}{'ours':>18}{'ours on stock':>18}{'stock':>18}{'':6}{'ours MB':>10}{'/weights':>9}{'':6}{'stock MB':>9}{'/weights':>9}")
    for row in (row for row in rows if row["threads"] == 1 and OURS in row):
        name, ours = row["model"], row[OURS]
        cells = ""
        for key in (OURS, OURS_ON_STOCK, STOCK):
            cells += f"{row[key]['ready_ms']['min']:8.2f} /{row[key]['ready_ms']['median']:8.2f}" if key in row else f"{'-':>18}"
        verdict = ""
        if STOCK in row:
            times = row[STOCK]["ready_ms"]["min"] / ours["ready_ms"]["min"]
            verdict = bench.check(f"{name}: first run ready no later than stock's", times, times >= 1)
        over = ours["peak_bytes"] / row["weight_bytes"]
        memory = bench.check(f"{name}: peak memory <= {AIM_PEAK} x weights", over, over <= AIM_PEAK) if row["weight_bytes"] >= LEAST_WEIGHTS else ""
        stock = f"{row[STOCK]['peak_bytes'] / 1e6:9.1f}{row[STOCK]['peak_bytes'] / row['weight_bytes']:9.2f}" if STOCK in row else ""
        print(f"{name:22}{row['weight_bytes'] / 1e6:11.1f}{cells} {verdict:5}{ours['peak_bytes'] / 1e6:10.1f}{over:9.2f} {memory:5}{stock}")
