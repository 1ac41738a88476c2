#!/usr/bin/env python3
"""PyTorch's own operator samples (torch.testing._internal.common_methods_invocations.op_db), compiled, run and compared with eager.

    python tests/op_samples/op_samples.py                      # all entries, all dtypes below, one sample each
    python tests/op_samples/op_samples.py --samples 0          # all samples
    python tests/op_samples/op_samples.py --ops 'linalg.*' --dtypes f32,c64 --samples 3 --verbose

Needs torch 2.15, numpy and expecttest. Each sample becomes a program, once: --folder keeps them, so a second run only compiles, runs and compares.
A sample is right, refused, wrong, fails at run time, crashes, or ends in exit code 1. Refusals that the list accepted.txt holds are accepted;
everything else but "right" fails the script. So does a row of the list that no sample needs (only in a run over everything).
"""
import argparse
import collections
import concurrent.futures
import decimal
import fnmatch
import fractions
import json
import math
import os
import re
import subprocess
import sys
import warnings
import zipfile
import zlib

import numpy as np
import torch
from torch.utils import _pytree as pytree

HERE = os.path.dirname(os.path.abspath(__file__))
DTYPES = {
    "f32": torch.float32,
    "f64": torch.float64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "bool": torch.bool,
    "c64": torch.complex64,
}
BACKENDS = ("portable", "xnnpack")
SECONDS = 60  # for one compile or run
BAD = ("wrong", "run time", "crash", "internal")


def all_entries():
    warnings.simplefilter("ignore")
    import torch.nn.modules.linear_cross_entropy  # noqa: F401  registers torch_nn::
    from torch.testing._internal.common_methods_invocations import op_db

    return {name_of(entry): entry for entry in op_db}


def name_of(entry):
    return entry.name + ("." + entry.variant_test_name if entry.variant_test_name else "")


class Call(torch.nn.Module):
    """The entry's function; the tensors of the sample are the inputs, everything else is part of the program."""

    def __init__(self, function, leaves, spec):
        super().__init__()
        self.function, self.leaves, self.spec = function, leaves, spec

    def forward(self, *tensors):
        rest = iter(tensors)
        leaves = [next(rest) if torch.is_tensor(leaf) else leaf for leaf in self.leaves]
        first, args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return self.function(first, *args, **kwargs)


def samples_of(entry, name, dtype, count):
    """(module, tensors) of the first samples that are made of dense tensors."""
    torch.manual_seed(zlib.crc32(f"{name} {dtype}".encode()))
    found = []
    for sample in list(entry.sample_inputs("cpu", dtype, requires_grad=False)):  # all: a generator may hold torch.no_grad() open
        leaves, spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        tensors = [leaf for leaf in leaves if torch.is_tensor(leaf)]
        if any(tensor.layout != torch.strided or tensor.is_quantized or tensor.is_nested for tensor in tensors):
            continue
        found.append((Call(entry.op, leaves, spec), [tensor.detach() for tensor in tensors]))
        if count and len(found) == count:
            break
    return found


def eager(module, tensors):
    torch.manual_seed(0)
    with torch.no_grad():
        out = module(*[tensor.clone() for tensor in tensors])
    return [leaf for leaf in pytree.tree_leaves(out) if leaf is not None]


def operators_of(path):
    """The operators that the program of a file calls."""
    with zipfile.ZipFile(path) as archive:
        text = next(archive.read(name).decode() for name in archive.namelist() if name.endswith("models/model.json"))
    return sorted(set(re.findall(r'"target": "torch\.ops\.(\w+\.\w+\.\w+)"', text)))


def has_own_contents(path):
    """Whether the program draws random numbers or returns fresh memory: eager's are others, so only dtypes and sizes count."""

    def tags(name):
        namespace, packet, overload = name.split(".")
        return getattr(getattr(getattr(torch.ops, namespace), packet), overload).tags

    names = operators_of(path)
    return any(torch.Tag.nondeterministic_seeded in tags(name) or re.match(r"aten\.(new_)?empty", name) for name in names)


def bessel(order, second, x):
    """J or Y of order 0 or 1 by their power series in rational numbers. Eager's f64 is right to f32 only between 3 and 10."""
    if not math.isfinite(x) or x == 0 or abs(x) > 40 or (second and x < 0):
        return math.nan
    exact = fractions.Fraction(x)
    term = exact / 2 if order else fractions.Fraction(1)
    total, harmonic, logs = term, 0 if order == 0 else term, fractions.Fraction(0)
    for k in range(1, 160):
        term = -term * exact * exact / 4 / k / (k + order)
        logs += fractions.Fraction(1, k)
        total += term
        harmonic += term * (logs * 2 + fractions.Fraction(1, k + 1) if order else logs)
    if not second:
        return float(total)
    with decimal.localcontext(decimal.Context(prec=80)):
        def real(fraction):
            return decimal.Decimal(fraction.numerator) / decimal.Decimal(fraction.denominator)

        euler = decimal.Decimal("0.57721566490153286060651209008240243104215933593992359880576723488486772677766467")
        pi = decimal.Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
        y = 2 * (((real(exact) / 2).ln() + euler) * real(total) - real(harmonic) / (2 if order else 1)) / pi
        return float(y - 2 / (pi * real(exact)) if order else y)


BESSEL = {f"special.bessel_{kind}{order}": (order, kind == "y") for kind in "jy" for order in (0, 1)}


def exact_bessel(name, x):
    order, second = BESSEL[name]
    return [torch.tensor([bessel(order, second, number) for number in x.flatten().tolist()], dtype=torch.float64).reshape(x.shape)]


def wide(module, tensors):
    """The results of the same call in double precision; None if there is no such call."""
    to = {torch.float32: torch.float64, torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.complex64: torch.complex128}
    if not any(tensor.dtype in to for tensor in tensors):
        return None
    leaves = [to.get(leaf, leaf) if isinstance(leaf, torch.dtype) else leaf for leaf in module.leaves]
    try:
        return eager(Call(module.function, leaves, module.spec), [tensor.to(to.get(tensor.dtype, tensor.dtype)) for tensor in tensors])
    except Exception:
        return None


# Entries whose results are sums of products of their operands, and whether each term's factors may be complex numbers of size 1.
SUMS = {"nn.functional.conv*": False, "fft.*": True}


def magnitudes(name, module, tensors):
    """Of sums, the sum of the magnitudes of their terms, which their roundings are in proportion to; None for other entries."""
    turned = next((turned for pattern, turned in SUMS.items() if fnmatch.fnmatchcase(name, pattern)), None)
    if turned is None:
        return None
    try:
        sums = eager(module, [tensor.abs().to(torch.complex128 if tensor.is_complex() else torch.float64) for tensor in tensors])
    except Exception:
        return None
    return [total.abs().max().expand(total.shape) if turned and total.numel() else total for total in sums]


def as_array(value):
    if not torch.is_tensor(value):
        value = torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
    value = value.detach().resolve_conj().resolve_neg().contiguous()
    return value.view(torch.int16).numpy().view("V2") if value.dtype == torch.bfloat16 else value.numpy()


def as_tensor(array, like):
    array = np.array(array, order="C")  # 0-d arrays stay 0-d
    if array.dtype.kind == "V":
        return torch.from_numpy(np.frombuffer(array.tobytes(), np.int16).copy()).view(torch.bfloat16).reshape(array.shape)
    return torch.from_numpy(array) if torch.is_tensor(like) else torch.from_numpy(array).to(torch.tensor(like).dtype)


def export(module, tensors, stem):
    """Writes the program, its inputs and eager's results; returns "" or why there is none."""
    try:
        want = eager(module, tensors)
    except Exception as error:
        return f"eager: {error}"
    if any(torch.is_tensor(value) and (value.layout != torch.strided or value.dtype == torch.complex32) for value in want):
        return "a result that no array holds: sparse, or complex halves"
    try:
        program = torch.export.export(module, tuple(tensors), strict=False)
        torch.export.save(program, stem + ".pt2")
    except Exception as error:
        return "torch.export: " + str(error).strip().split("\n")[0]
    np.savez(stem + ".in.npz", **{f"in{i}": as_array(tensor) for i, tensor in enumerate(tensors)})
    exact = wide(module, tensors)
    name = os.path.basename(stem).rsplit(".", 2)[0]
    torch.save({"want": want, "exact": exact, "magnitudes": magnitudes(name, module, tensors)}, stem + ".want")
    return ""


def write_programs(entry, name, dtype_name, count, folder):
    """The stems of the entry's programs, and the reasons why there are fewer. What is in the folder already stays."""
    index = os.path.join(folder, f"{name}.{dtype_name}.json")
    if os.path.exists(index):
        known = json.load(open(index))
        if known["all"] or (count and len(known["samples"]) >= count):
            return known["samples"][: count or None]
    os.makedirs(folder, exist_ok=True)
    try:
        samples = samples_of(entry, name, DTYPES[dtype_name], count)
    except Exception as error:
        samples, failure = [], f"eager: {error}"
        json.dump({"all": True, "samples": [], "failure": failure}, open(index, "w"))
        return []
    rows = []
    for number, (module, tensors) in enumerate(samples):
        stem = os.path.join(folder, f"{name}.{dtype_name}.{number}")
        rows.append({"stem": stem, "failure": export(module, tensors, stem)})
    json.dump({"all": count == 0 or len(samples) < count, "samples": rows}, open(index, "w"))
    return rows


def tolerance(dtype):
    """That of torch.testing.assert_close."""
    from torch.testing._comparison import default_tolerances

    return default_tolerances(dtype)


# Results that PyTorch does not define: the sign of an eigenvector or singular vector (the result's number), and the order of equal elements in a
# sort that is not stable (eager's depends on the processor): there the elements that the indices point at count.
UP_TO_SIGN = {"linalg.eigh": (1,), "linalg.svd": (0, 2), "svd": (0, 2), "linalg.qr": (), "svd_lowrank": (0, 2), "pca_lowrank": (0, 2)}
ANY_ORDER = {"argsort": 0, "sort": 1}


def with_signs_of(name, i, got, want):
    if i not in UP_TO_SIGN.get(name, ()) or got.shape != want.shape:
        return got, want
    return got.abs(), want.abs()


def elements_at(name, i, stem, got, want):
    """The elements that indices of an order point at, along the only dimension that makes them equal."""
    if ANY_ORDER.get(name) != i or got.shape != want.shape or got.dtype != want.dtype or got.dim() == 0:
        return got, want
    values = as_tensor(np.load(stem + ".in.npz")["in0"], got)
    for dim in range(values.dim()):
        if got.numel() and int(got.max()) < values.shape[dim]:
            a, b = values.gather(dim, got), values.gather(dim, want)
            if torch.equal(a, b):
                return a, b
    return got, want


FACTORS = {"svd": lambda v: v.mH, "linalg.svd": lambda v: v}  # what the third result is to the product


def are_factors(name, got, want):
    """Whether matrices of singular vectors belong to the singular values: they are orthonormal, and their product is the same."""
    u, s, v = got[0], got[1], FACTORS[name](got[2])

    def product(factors):
        left, values, right = factors[0], factors[1], FACTORS[name](factors[2])
        count = values.shape[-1]
        return (left[..., :count] * values[..., None, :].to(left.dtype)) @ right[..., :count, :]

    relative, _ = tolerance(u.dtype)
    near = 8 * relative
    squares = (u.mH @ u, v @ v.mH)
    orthonormal = all(torch.allclose(square, torch.eye(square.shape[-1], dtype=square.dtype).expand_as(square), rtol=0, atol=near) for square in squares)
    largest = float(s.max()) if s.numel() else 0.0
    return orthonormal and torch.allclose(product(got), product(want), rtol=near, atol=near * largest)


# Entries that eager computes in several steps, each of which rounds: how many times as far as one rounding results may be.
STEPWISE = {"masked.*": 4, "nn.functional.triplet_margin*": 32, "nn.functional.multi_head_attention_forward": 32, "special.*_polynomial_*": 8}


def difference(got, want, exact, magnitude=None, roundings=1):
    """"" if `got` is `want` within the dtype's tolerance, or no farther from the exact result than eager."""
    if not torch.is_tensor(want):
        want = torch.tensor(want)
    if got.dtype != want.dtype:
        return f"dtype {got.dtype}, not {want.dtype}"
    if got.shape != want.shape:
        return f"sizes {list(got.shape)}, not {list(want.shape)}"
    relative, absolute = tolerance(want.dtype)
    relative *= roundings
    close = torch.isclose(got, want, rtol=relative, atol=absolute, equal_nan=True)
    if torch.is_tensor(magnitude) and magnitude.shape == want.shape:
        close |= (got - want).abs().to(torch.float64) <= absolute + relative * magnitude.abs().to(torch.float64)
    if not close.all() and torch.is_tensor(exact) and exact.shape == want.shape and want.dtype.is_floating_point | want.dtype.is_complex:
        to = torch.complex128 if want.dtype.is_complex else torch.float64
        beside = (want.to(to) - exact).abs().nan_to_num(0, 0, 0)  # eager may be NaN or infinite where the exact result is not
        close |= ((got.to(to) - exact).abs() <= beside + absolute + relative * exact.abs()) | (got == exact.to(got.dtype))
    if close.all():
        return ""
    at = int((~close).flatten().nonzero()[0])
    return f"element {at} of {list(want.shape)} is {got.flatten()[at].item()}, not {want.flatten()[at].item()} ({int((~close).sum())} of {want.numel()} differ)"


def normalised(text):
    """The reason of a refusal without names and numbers."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    first = next((line for line in lines if line.startswith("error")), lines[0] if lines else "")
    found = next((line for line in lines if line.startswith("found")), "")
    first = re.sub(r"'[^']*'", "'_'", first)
    first = re.sub(r"\b(?:f16|bf16|f32|f64|c32|c64|c128|i8|i16|i32|i64|u8|bool)\b", "DTYPE", first)
    first = re.sub(r"-?\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b", "N", first)
    return first if not first.endswith(":") else first + " " + found


def call(wick, *arguments):
    try:
        done = subprocess.run([wick, *arguments], capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return -1, "takes more than a minute"
    return done.returncode, done.stderr + done.stdout


def are_finite(arrays):
    tensors = [as_tensor(array, torch.empty(0)) for array in arrays.values()]
    return all(tensor.isfinite().all() for tensor in tensors)


def outcome(wick, stem, backend):
    """(class, what was found). NaN and infinities among the inputs, or what eager makes of others, ask for --strict-nan
    (docs/xnnpack.md, "NaN and infinities"); without it, results are right where eager's are finite."""
    if backend != "xnnpack":
        return outcome_with(wick, stem, backend)
    if not are_finite(np.load(stem + ".in.npz")):
        return outcome_with(wick, stem, backend, strict=True)
    found = outcome_with(wick, stem, backend)
    if found[0] != "wrong" or outcome_with(wick, stem, backend, finite=True)[0] != "right":
        return found
    return outcome_with(wick, stem, backend, strict=True)


def outcome_with(wick, stem, backend, strict=False, finite=False):
    """As outcome(); `finite`: only where eager's results are finite."""
    pte, out = f"{stem}.{backend}.pte", f"{stem}.{backend}.npz"
    options = ["--strict-nan"] if strict else []
    code, text = call(wick, "compile", stem + ".pt2", "-o", pte, "--backend", backend, *options)
    if code in (1,) or code < 0 or code > 100:
        return "internal" if code == 1 else "crash", normalised(text) or f"exit {code}"
    if code:
        return "refused", normalised(text)
    code, text = call(wick, "run", pte, "-i", stem + ".in.npz", "-o", out)
    os.remove(pte)
    if code:
        return ("crash" if code < 0 or code > 100 else "internal" if code == 1 else "run time"), normalised(text)
    said = torch.load(stem + ".want", weights_only=False)
    sizes_only = has_own_contents(stem + ".pt2")
    arrays = np.load(out)
    os.remove(out)
    missing = [i for i in range(len(said["want"])) if f"out{i}" not in arrays]
    if missing:
        return "wrong", f"out{missing[0]} is missing"
    results = [as_tensor(arrays[f"out{i}"], want) for i, want in enumerate(said["want"])]
    for i, (got, want) in enumerate(zip(results, said["want"])):
        if finite and torch.is_tensor(want) and got.shape == want.shape:
            got = torch.where(want.isfinite(), got, want)
        if sizes_only:
            if torch.is_tensor(want) and (got.dtype, got.shape) != (want.dtype, want.shape):
                return "wrong", f"{got.dtype} {list(got.shape)}, not {want.dtype} {list(want.shape)}"
            continue
        name = os.path.basename(stem).rsplit(".", 2)[0]
        known = said["exact"]
        if name in BESSEL and torch.is_tensor(want) and want.dtype == torch.float64:
            known = exact_bessel(name, as_tensor(np.load(stem + ".in.npz")["in0"], want))
        exact = known[i] if known and i < len(known) else None
        if torch.is_tensor(want):
            got, want = elements_at(name, i, stem, *with_signs_of(name, i, got, want))
            exact = exact.abs() if torch.is_tensor(exact) and i in UP_TO_SIGN.get(name, ()) else exact
        terms = said.get("magnitudes")
        roundings = next((count for pattern, count in STEPWISE.items() if fnmatch.fnmatchcase(name, pattern)), 1)
        wrong = difference(got, want, exact, terms[i] if terms else None, roundings)
        if wrong and name in FACTORS and i != 1 and got.shape == want.shape and are_factors(name, results, said["want"]):
            continue
        if wrong:
            return "wrong", f"out{i} {wrong}"
    return "right", ""


def read_accepted(path):
    """(reason pattern, entry patterns, why) of each row."""
    rows = []
    for line in open(path):
        if line.strip() and not line.startswith("#"):
            reason, entries, why = [part.strip() for part in line.rstrip("\n").split("|")]
            rows.append((reason, entries.split(), why))
    return rows


def accepting(rows, name, reason):
    """The number of the row that accepts the refusal, or None."""
    for number, (pattern, entries, _) in enumerate(rows):
        if fnmatch.fnmatchcase(reason, pattern) and any(fnmatch.fnmatchcase(name, entry) for entry in entries):
            return number
    return None


class Report:
    def __init__(self, accepted, verbose):
        self.accepted, self.verbose, self.used = accepted, verbose, set()
        self.counts = {backend: collections.Counter() for backend in BACKENDS}
        self.failures = collections.defaultdict(list)
        self.not_exported = collections.Counter()

    def add(self, name, stem, backend, kind, text):
        if kind == "refused":
            row = accepting(self.accepted, name, text)
            kind = "refused" if row is not None else "refused, not accepted"
            self.used.add(row)
        self.counts[backend][kind] += 1
        if kind not in ("right", "refused"):
            self.failures[kind, text if kind != "wrong" else ""].append((os.path.basename(stem), backend, text))
            print(f"{kind}: {os.path.basename(stem)} {backend}: {text}", flush=True)  # a run takes an hour

    def show(self, everything):
        for (kind, text), places in sorted(self.failures.items(), key=lambda row: (row[0][0], -len(row[1]))):
            print(f"{kind} ({len(places)}): {text}")
            shown = places if self.verbose else places[:6]
            for stem, backend, what in shown:
                print(f"    {stem} {backend}" + (f": {what}" if kind == "wrong" else ""))
        for text, count in self.not_exported.most_common(12 if self.verbose else 3):
            print(f"not exported ({count}): {text[:150]}")
        for backend, counts in self.counts.items():
            print(f"{backend}: {sum(counts.values())} samples, " + ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
        stale = [row for number, row in enumerate(self.accepted) if number not in self.used] if everything else []
        for row in stale:
            print(f"no sample needs the row: {row[0]} | {' '.join(row[1])}")
        return not self.failures and not stale


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ops", default="*", help="patterns of entries, separated by commas")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--samples", type=int, default=1, help="of each entry and dtype; 0: all")
    parser.add_argument("--folder", default="build/op_samples", help="keeps the programs")
    parser.add_argument("--wick", default=os.environ.get("WICK", "build/release/bin/wick"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--part", default="0/1", help="3/16: every 16th entry from the one at 3")
    parser.add_argument("--export-only", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


def main():
    options = arguments()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    patterns, dtypes = options.ops.split(","), options.dtypes.split(",")
    first, step = map(int, options.part.split("/"))
    entries = {name: entry for name, entry in all_entries().items() if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)}
    report = Report(read_accepted(os.path.join(HERE, "accepted.txt")), options.verbose)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        pending = []
        for name, entry in list(entries.items())[first::step]:
            for dtype in dtypes:
                if DTYPES[dtype] not in entry.supported_dtypes("cpu"):
                    continue
                for row in write_programs(entry, name, dtype, options.samples, options.folder):
                    if row["failure"]:
                        report.not_exported[normalised(row["failure"])] += 1
                        continue
                    if options.export_only:
                        continue
                    for backend in BACKENDS:
                        pending.append((name, row["stem"], backend, pool.submit(outcome, options.wick, row["stem"], backend)))
        for name, stem, backend, result in pending:
            report.add(name, stem, backend, *result.result())
    everything = options.ops == "*" and step == 1 and len(dtypes) == len(DTYPES) and not options.export_only
    return 0 if report.show(everything) else 1


if __name__ == "__main__":
    sys.exit(main())
