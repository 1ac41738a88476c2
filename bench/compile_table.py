"""Compile time and memory, ours beside ExecuTorch's: `compile` for portable kernels, `lowering` with XNNPACK delegates."""

import json
import os

from common import ROOT, Spread, execute

# Process time of ExecuTorch 1.5.1 with the XNNPACK partitioner on a quiet Xeon of the 4th generation, for where no peer can be had.
REFERENCE_COMPILE_S = {"mobilenet_v2": 16.9, "minilm": 17.8, "deit_tiny": 26.0}
BLOCKS = (6, 12, 24, 48)
AIM_COMPILE, AIM_BLOCKS, AIM_LOWERING = 100, 9, 50


def memory_limit(pt2_bytes):
    return 1.5 * pt2_bytes + 50e6


def peer_once(bench, pt2, kind):
    """ExecuTorch's times, process time in seconds and peak bytes; None if it fails."""
    script = os.path.join(ROOT, "bench", "peer_compile.py")
    result = execute([bench.peer_python, script, kind, pt2, bench.path("peer.pte")], peer=True)
    return (json.loads(result[0]), result[1], result[2]) if result else None


def measure(bench, name, pt2, backend, peer_kinds, peer_pairs):
    """Ours and each kind of the peer in turns. The row, and our report."""
    ours, peers = [], {kind: [] for kind in peer_kinds}
    for pair in range(bench.options.pairs):
        ours.append(bench.compile(pt2, bench.path(name + ".pte"), backend))
        for kind in peers if pair < peer_pairs else ():
            peer = peer_once(bench, pt2, kind)
            peers[kind] += [peer] if peer else []
    report = ours[0][0]
    row = {"model": name, "pt2_bytes": os.path.getsize(pt2), "process_s": Spread([cpu for _, cpu, _ in ours]).json(),
           "wall_ms": Spread([r["compile_ms"] for r, _, _ in ours]).json(), "peak_bytes": max(peak for _, _, peak in ours),
           "file_bytes": report["file_bytes"]}
    row["peers"] = {kind: {"process_s": Spread([cpu for _, cpu, _ in results]).json(),
                           "lower_s": Spread([times["lower_s"] for times, _, _ in results]).json(),
                           "peak_bytes": max(peak for _, _, peak in results)} for kind, results in peers.items() if results}
    limit = memory_limit(row["pt2_bytes"])
    row["memory"] = bench.check(f"peak memory of compiling {name} for {backend} <= 1.5 x .pt2 + 50 MB", row["peak_bytes"] / limit,
                                row["peak_bytes"] <= limit)
    return row, report


# --- compile: fixtures, portable kernels ---


def compile_model(bench, name):
    kinds = ("xnnpack", "portable") if bench.peer_python and name in REFERENCE_COMPILE_S else ()
    row, report = measure(bench, name, bench.pt2(name), "portable", kinds, bench.options.pairs)
    method = report["methods"][0]
    row.update({key: method[key] for key in ("kernels", "arena_bytes", "arena_lower_bound_bytes")})
    if name in REFERENCE_COMPILE_S:
        peer = row["peers"].get("xnnpack")
        peer_s = peer["process_s"]["min"] if peer else REFERENCE_COMPILE_S[name]
        row["ratio"], row["ratio_from"] = peer_s / row["process_s"]["min"], "same run" if peer else "reference"
        bench.check(f"compile of {name} <= 1/{AIM_COMPILE} of ExecuTorch's process time with XNNPACK ({row['ratio_from']})", row["ratio"],
                    row["ratio"] >= AIM_COMPILE)
        if "portable" in row["peers"]:
            ratio = row["peers"]["portable"]["process_s"]["min"] / row["process_s"]["min"]
            bench.check(f"compile of {name} <= 1/{AIM_COMPILE} of ExecuTorch's process time, portable only", ratio, ratio >= AIM_COMPILE)
    return row


def compile_table(bench, names):
    rows = []
    print("\ncompile: process time (user + system, least of the runs) and peak memory; ExecuTorch 1.5.1 with its XNNPACK partitioner, whose "
          "times\nthe aim of 1/100 quotes, and with portable operators only, which is the same job")
    print(f"{'model':24}{'.pt2 MB':>9}{'ms':>9}{'peak MB':>9}{'/limit':>8}{'':>6}{'kernels':>8}{'arena/bound':>12}"
          f"{'xnnpack s':>11}{'MB':>6}{'ratio':>7}{'portable s':>12}{'MB':>6}{'ratio':>7}")
    for name in names:
        row = compile_model(bench, name)
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


def blocks(bench, rows):
    times = {row["model"]: row["process_s"]["min"] for row in rows}
    few, many = (times.get(f"transformer_{count}") for count in (BLOCKS[0], BLOCKS[-1]))
    if not few or not many:
        return None
    verdict = bench.check(f"{BLOCKS[-1]} transformer blocks <= {AIM_BLOCKS} x {BLOCKS[0]}", many / few, many / few <= AIM_BLOCKS)
    print(f"\n{BLOCKS[-1]} transformer blocks take {many / few:.2f} x the time of {BLOCKS[0]}: {verdict}")
    return many / few


# --- lowering: prepared models, XNNPACK delegates ---


def lowering_table(bench, names):
    rows = []
    print("\nlowering: process time of `wick compile --backend xnnpack`, start and files included, against process time of ExecuTorch's "
          "to_edge_transform_and_lower\n+ to_executorch alone (XNNPACK partitioner, one run; in brackets its whole process)")
    print(f"{'model':24}{'.pt2 MB':>9}{'ms':>9}{'peak MB':>9}{'/limit':>8}{'':>6}{'delegates':>10}{'outside':>8}{'ExecuTorch s':>18}{'MB':>7}{'ratio':>8}")
    for name in names:
        pt2 = os.path.join(bench.options.prepared, name + ".pt2")
        row, report = measure(bench, name, pt2, "xnnpack", ("xnnpack",) if bench.peer_python else (), 1)
        method = report["methods"][0]
        row["delegates"], row["outside"] = method["delegates"], len(method["outside"])
        rows.append(row)
        cells = ""
        if "xnnpack" in row["peers"]:
            peer = row["peers"]["xnnpack"]
            row["ratio"] = ratio = peer["lower_s"]["min"] / row["process_s"]["min"]
            verdict = bench.check(f"compile of {name} with delegates <= 1/{AIM_LOWERING} of ExecuTorch's lowering time", ratio, ratio >= AIM_LOWERING)
            whole = f"({peer['process_s']['min']:.1f})"
            cells = f"{peer['lower_s']['min']:10.1f}{whole:>8}{peer['peak_bytes'] / 1e6:7.0f}{ratio:7.0f}x {verdict}"
        print(f"{name:24}{row['pt2_bytes'] / 1e6:9.1f}{row['process_s']['min'] * 1e3:9.1f}{row['peak_bytes'] / 1e6:9.1f}"
              f"{row['peak_bytes'] / memory_limit(row['pt2_bytes']):8.2f}{row['memory']:>6}{row['delegates']:10}{row['outside']:8}{cells}", flush=True)
    if not bench.peer_python:
        print("no ratios: WICK_PEER_PYTHON names no ExecuTorch")
    return rows
