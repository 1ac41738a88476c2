#!/usr/bin/env python3
"""Checks CUDA programs on a device: correct first, then fast.

    scripts/check_cuda_device.py [--build build/dev] [--models FOLDER] [--device cuda:0] [--only correct|fast] [--operators] [--json FILE]

- Correct: what the runtime promises holds on the device (cuda_device_test), and all models of tests/fixtures/models, compiled
  for it, agree with eager PyTorch (models_test). With --operators, so does each case of each operator (cuda_conformance).
  On a device of capability 9.0, models_test again with code for sm_90a.
- Fast: on a device of 9.0, matmuls with code for sm_90 and for sm_90a agree with eager; their rates are printed. The models that `bench/cuda_models.py export FOLDER` wrote keep to the bands below: the median of many replays of
  their graph, as the device counts. WICK_PEER_PYTHON names a Python with torch for CUDA, whose eager mode and
  torch.compile are measured beside them.

`--models` is by default what WICK_CUDA_MODELS names. Needs a build of wick and these tests (the preset "cuda": `ctest --preset cuda`
runs this, without --operators), and python3 with its standard library. Without a device it says "skipped" and why, exit code 0. Exit code
6 if something is wrong or too slow.
"""

import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
bin_folder = os.path.join(ROOT, "build", "dev", "bin")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "bench"))
from arrays import difference  # noqa: E402

# Milliseconds on an H200.
BANDS = {"deit_tiny": 0.30, "resnet50": 0.40, "llama_1b_decode": 0.85, "llama_1b_decode_4bit": 0.45, "whisper_tiny_encoder": 0.25}
# Floating-point operations of one call.
MATMULS = {"matmul_4096": 2 * 4096**3, "linear_4096": 2 * 4096**3, "linear_edges": 2 * 4001 * 1032 * 776}
# Of the difference's L2 norm relative to eager's: bf16 rounds at other places than eager on the processor.
MAX_ERROR = 0.03


def missing_device():
    """Why there is no device, or nothing."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return f"no driver: {error}"
    count = ctypes.c_int(0)
    status = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    if status:
        return f"the driver answers error {status}"
    return "" if count.value else "the driver finds none"


def run(arguments, **more):
    return subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False, **more)


def is_90(device):
    """Whether the device has compute capability 9.0, for which sm_90a is."""
    if device.startswith("cuda-twin="):
        return False
    driver, major, minor = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(0), ctypes.c_int(0)
    number = int(device.partition(":")[2] or 0)
    status = driver.cuInit(0) or driver.cuDeviceGetAttribute(ctypes.byref(major), 75, number)
    status = status or driver.cuDeviceGetAttribute(ctypes.byref(minor), 76, number)
    return status == 0 and (major.value, minor.value) == (9, 0)


def passes(test, wanted, device, *flags, parts=1, gpu=None):
    """Whether a test passes on the device. Prints the lines that `wanted` matches, and what failed. `parts`: processes that
    share the cases."""
    command = [os.path.join(bin_folder, test), *flags]
    environment = {**os.environ, "WICK_CUDA_DEVICE": device, **({"WICK_CUDA_GPU": gpu} if gpu else {})}
    with ThreadPoolExecutor(parts) as pool:
        outcomes = list(pool.map(lambda part: run(command, env={**environment, "WICK_CASES_PART": f"{part}/{parts}"}), range(parts)))
    good = True
    for done in outcomes:
        for line in done.stdout.splitlines():
            if re.match(wanted, line):
                print("  " + line)
        passed = re.search(r"\[  PASSED  \] ([1-9]\d*) test", done.stdout)
        print(f"{test}: {passed.group(1) if passed else 0} passed on {device}")
        if done.returncode:
            print((done.stdout + done.stderr)[-8000:])
        good = good and done.returncode == 0 and bool(passed)
    return good


def check_correct(device, operators):
    good = passes("cuda_device_test", r"\[  FAILED  \]", device, "--gtest_filter=*OnADevice")
    if operators:
        good = passes("cuda_conformance", r"\[  FAILED  \]", device, parts=os.cpu_count() or 1) and good
    for gpu in (None, "sm_90a") if is_90(device) else (None,):
        good = passes("models_test", r"\S+ on a CUDA device: |\[  FAILED  \] .*/", device, "--gtest_filter=*OnACudaDevice*", gpu=gpu) and good
    return good


def wick(*arguments):
    done = run([os.path.join(bin_folder, "wick"), *arguments])
    if done.returncode:
        raise RuntimeError(f"wick {arguments[0]}: {done.stderr.strip()[:400]}")
    return done.stdout


def measure(name, folder, device, scratch, *flags):
    """What is found of a model: `error`, `ms`, or `failure`."""
    stem, program = os.path.join(folder, name), os.path.join(scratch, f"{name}.pte")
    try:
        wick("compile", f"{stem}.pt2", "-o", program, "--backend", "cuda", *flags)
        found = os.path.join(scratch, f"{name}.npz")
        wick("run", program, "-i", f"{stem}.in.npz", "-o", found, "--device", device)
        distance = difference(found, f"{stem}.out.npz")
        if "wrong" in distance or distance["overall"] > MAX_ERROR:
            return {"failure": f"wrong: {distance.get('wrong') or distance['overall']}"}
        times = json.loads(wick("bench", program, "-i", f"{stem}.in.npz", "--device", device, "--warmup", "50", "--runs", "500", "--json"))
    except RuntimeError as error:
        return {"failure": str(error)}
    finally:
        if os.path.exists(program):
            os.remove(program)
    return {"error": distance["overall"], "ms": times["device_median_ms"], "min_ms": times["device_min_ms"], "call_ms": times["median_ms"]}


def peers(names):
    python = os.environ.get("WICK_PEER_PYTHON")
    if not python:
        print("WICK_PEER_PYTHON is not set: torch is not measured")
        return {}
    done = run([python, os.path.join(ROOT, "bench", "cuda_models.py"), "peers", *names])
    if done.returncode:
        print(f"torch is not measured: {(done.stderr.strip().splitlines() or ['?'])[-1][:200]}")
        return {}
    return json.loads(done.stdout.strip().splitlines()[-1])


def check_fast(folder, device, rows):
    names = [name for name in BANDS if os.path.exists(os.path.join(folder, f"{name}.pt2"))]
    for name in BANDS:
        if name not in names:
            print(f"skipped: {name}: no file in {folder}")
    torch_times = peers(names) if names else {}
    print(f"{'model':24}{'ms':>9}{'band':>7}{'min':>9}{'call':>9}{'eager':>9}{'compiled':>9}  L2 error")
    kept = True
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            row = rows[name] = {**measure(name, folder, device, scratch), **torch_times.get(name, {}), "band_ms": BANDS[name]}
            if "failure" in row:
                kept = False
                print(f"{name:24}{row['failure']}")
                continue
            slow = row["ms"] > BANDS[name]
            kept = kept and not slow
            others = "".join(f"{row[key]:9.3f}" if key in row else f"{'':9}" for key in ("eager", "compiled"))
            print(f"{name:24}{row['ms']:9.3f}{BANDS[name]:7.2f}{row['min_ms']:9.3f}{row['call_ms']:9.3f}{others}  {row['error']:.2g}"
                  f"{'  TOO SLOW' if slow else ''}")
    return kept


def check_matmuls(folder, device, rows):
    """Matmuls for sm_90, and for sm_90a with instructions of four warps: both as eager has them, and how fast."""
    good = True
    with tempfile.TemporaryDirectory() as scratch:
        for name in [name for name in MATMULS if os.path.exists(os.path.join(folder, f"{name}.pt2"))]:
            for gpu in ("sm_90", "sm_90a"):
                row = rows[f"{name} {gpu}"] = measure(name, folder, device, scratch, "--gpu", gpu)
                good = good and "failure" not in row
                if "ms" in row:
                    row["tflops"] = MATMULS[name] / row["ms"] / 1e9
                print(f"{name:24}{gpu:8}" + (row.get("failure") or f"{row['ms']:9.3f} ms{row['tflops']:8.0f} TFLOP/s  {row['error']:.2g}"))
    return good


def main():
    global bin_folder
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "dev"), help="the folder of the build")
    parser.add_argument("--models", default=os.environ.get("WICK_CUDA_MODELS"), help="what bench/cuda_models.py exported")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--only", choices=("correct", "fast"))
    parser.add_argument("--operators", action="store_true", help="runs cuda_conformance on the device, too")
    parser.add_argument("--json", help="also writes the times to this file")
    flags = parser.parse_args()
    bin_folder = os.path.join(os.path.abspath(flags.build), "bin")
    reason = "" if flags.device.startswith("cuda-twin=") else missing_device()
    if reason:
        print(f"skipped: no device ({reason})")
        return 0
    good, rows = True, {}
    if flags.only != "fast":
        good = check_correct(flags.device, flags.operators)
    if flags.only != "correct" and not flags.models:
        print("skipped: speed: --models names no folder")
    elif flags.only != "correct":
        good = check_fast(flags.models, flags.device, rows) and good
        if is_90(flags.device):
            good = check_matmuls(flags.models, flags.device, rows) and good
    if flags.json:
        with open(flags.json, "w", encoding="utf-8") as out:
            json.dump({"schema": "wick.cuda_bands.1", "models": rows}, out, indent=1)
    return 0 if good else 6


if __name__ == "__main__":
    sys.exit(main())
