#!/usr/bin/env python3
"""Writes backends/cortex_m/kernels/costs.inc anew from measurements in QEMU, and says how far predictions are off.

  fit_cortex_m_costs.py [--wick build/dev/bin/wick] [--keep DIR] [--only KERNEL ..] [PROGRAM.pte ..]

Without programs: those of tests/fixtures/cortex_m, the models of tests/fixtures/cortex_m_quantized compiled for each
instruction set, and what build/dev/bin/write_cost_programs writes. The boards' runners must be built (make devices). DIR keeps
what was measured, so that a second run takes only what is missing. Kernels that no program calls keep their rows, and so
do all but those that --only names.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "backends/cortex_m/kernels/costs.inc"
BOARDS = {"mve": "cortex-m55", "dsp": "cortex-m4", "scalar": "cortex-m3"}
EXECUTOR = "(executor)"


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=ROOT)


def write_programs(wick, folder):
    """Compiles the programs that the table is fitted to. Returns (program, instruction set) pairs."""
    programs = []
    for fixture in sorted((ROOT / "tests/fixtures/cortex_m_quantized").glob("*.wfix.gz")):
        name = fixture.name.removesuffix(".wfix.gz")
        model = folder / (name + ".pt2")
        if not model.exists():
            run(wick.parent / "expand_fixture", fixture, model)
        for isa, cpu in BOARDS.items():
            program = folder / f"{name}.{isa}.pte"
            if not program.exists():
                run(wick, "compile", model, "-o", program, "--backend", "cortex-m", "--cpu", cpu)
            programs.append((program, isa))
    for program in sorted((ROOT / "tests/fixtures/cortex_m").glob("*.pte")):
        copy = folder / ("stock_" + program.name)
        copy.write_bytes(program.read_bytes())
        programs.append((copy, program.suffixes[0][1:]))
    made = folder / "made"
    made.mkdir(exist_ok=True)
    for isa in BOARDS:
        run(wick.parent / "write_cost_programs", made, isa)
        programs += [(program, isa) for program in sorted(made.glob(f"*.{isa}.pte"))]
    return programs


def measure(wick, program, isa):
    """The terms of each instruction, and what it took: (kernel, {term: count}, instructions) rows; None: not run."""
    kept = program.with_suffix(".json")
    if not kept.exists():
        counted = run(wick, "bench", program, "--device", "qemu-" + BOARDS[isa], "--json")
        if counted.returncode != 0:
            print(f"{program.name}: not measured: {counted.stderr.strip().splitlines()[0]}", file=sys.stderr)
            return None
        kept.write_text(counted.stdout)
    counts = json.loads(kept.read_text())
    target = "cortex-m:cpu=" + BOARDS[isa]
    explained = json.loads(run(wick, "explain", program, "--backend", target, "--json").stdout)
    method = next(m for m in explained["methods"] if m["name"] == counts["method"])
    rows, steps = [], counts["steps"]
    if [step["operator"] for step in steps] != [row["op"] for row in method["instructions"]]:
        return None  # control flow
    for step, row in zip(steps, method["instructions"]):
        terms = {term["name"]: term["count"] for term in row.get("terms", [])}
        rows.append((row["op"], terms, step["instructions"]))
    rest = counts["instructions"] - sum(step["instructions"] for step in steps)
    terms = {term["name"]: term["count"] for term in method["totals"]["executor"]["terms"]}
    rows.append((EXECUTOR, terms, rest))
    return rows


def least_squares(samples, names):
    """Factors, none negative, that make the relative errors of (terms, instructions) smallest."""
    rows = [([terms.get(name, 0) / wanted for name in names], 1.0) for terms, wanted in samples]
    scale = [max((row[i] for row, _ in rows), default=0) or 1 for i in range(len(names))]
    rows = [([value / each for value, each in zip(row, scale)], one) for row, one in rows]
    size = len(names)
    square = [[sum(r[i] * r[j] for r, _ in rows) for j in range(size)] for i in range(size)]
    right = [sum(r[i] * y for r, y in rows) for i in range(size)]
    found = [0.0] * size
    for _ in range(20000):  # coordinate descent
        change = 0.0
        for i in range(size):
            if square[i][i] == 0:
                continue
            rest = right[i] - sum(square[i][j] * found[j] for j in range(size) if j != i)
            value = max(0.0, rest / square[i][i])
            change = max(change, abs(value - found[i]))
            found[i] = value
        if change < 1e-12:
            break
    return {name: found[i] / scale[i] for i, name in enumerate(names)}


LEAST_SHARE = 0.01  # of a call: a term that never reaches it is left out


def factors_of(samples):
    """Factors of the terms that matter to some call."""
    names = list(dict.fromkeys(name for terms, _ in samples for name in terms))
    while True:
        factors = least_squares(samples, names)
        kept = [name for name in names if any(factors[name] * terms.get(name, 0) >= LEAST_SHARE * wanted for terms, wanted in samples)]
        if kept == names:
            return factors
        names = kept


def read_table():
    table = {}
    for kernel, term, *each in re.findall(r'^COST\("(.*?)", "(.*?)", (.*?), (.*?), (.*?)\)', TABLE.read_text(), re.M):
        table.setdefault(kernel, {})[term] = [float(number) for number in each]
    return table


def number(value):
    return f"{value:.4g}"


def write_table(table):
    head = [line for line in TABLE.read_text().splitlines() if line.startswith("//")]
    rows = [f'COST("{kernel}", "{term}", {", ".join(number(each) for each in table[kernel][term])})'
            for kernel in sorted(table) for term in table[kernel] if any(table[kernel][term])]
    TABLE.write_text("\n".join(head + rows) + "\n")


def error_of(factors, terms, wanted):
    return sum(factors.get(name, 0) * count for name, count in terms.items()) / wanted - 1


def fit(samples, table):
    """samples: {kernel: {isa: [(terms, instructions)]}}"""
    for kernel, of_isas in sorted(samples.items()):
        names = list(dict.fromkeys(name for rows in of_isas.values() for terms, _ in rows for name in terms))
        row = {name: [0.0] * len(BOARDS) for name in names}
        report = []
        for at, isa in enumerate(BOARDS):
            rows = of_isas.get(isa, [])
            factors = factors_of(rows) if rows else {}
            for name in names:
                row[name][at] = factors.get(name, 0.0) if rows else table.get(kernel, {}).get(name, [0, 0, 0])[at]
            errors = sorted(abs(error_of(factors, terms, wanted)) for terms, wanted in rows)
            if errors:
                report.append(f"{isa} {len(rows)} calls, median {errors[len(errors) // 2]:.1%}, worst {errors[-1]:.1%}")
        table[kernel] = row
        print(f"{kernel}: {'; '.join(report)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wick", type=pathlib.Path, default=ROOT / "build/dev/bin/wick")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", metavar="KERNEL", default=[])
    parser.add_argument("programs", nargs="*", type=pathlib.Path, help="NAME.ISA.pte")
    options = parser.parse_args()
    scratch = tempfile.TemporaryDirectory()
    folder = options.keep or pathlib.Path(scratch.name)
    folder.mkdir(exist_ok=True)
    programs = [(path, path.suffixes[-2][1:]) for path in options.programs] or write_programs(options.wick, folder)
    samples = {}
    for program, isa in programs:
        for kernel, terms, instructions in measure(options.wick, program, isa) or []:
            if terms and instructions > 0 and (not options.only or kernel in options.only):
                samples.setdefault(kernel, {}).setdefault(isa, []).append((terms, instructions))
    table = read_table()
    fit(samples, table)
    write_table(table)


if __name__ == "__main__":
    main()
