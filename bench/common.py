"""What all tables share: processes on the clock, spreads, aims, the machine."""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile

import generate

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIXTURES = os.path.join(ROOT, "tests", "fixtures", "models")
TIMEOUT_S = "600"


class Failure(Exception):
    pass


def in_folder(run, options):
    """The exit code of run(options, a folder that is removed behind it); 1 for a Failure, which is printed."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return run(options, folder)
        except Failure as failure:
            print(failure, file=sys.stderr)
            return 1


def execute(command, peer=False):
    """Runs a program. Returns its output, process time in seconds and peak bytes; None if a peer fails."""
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(["timeout", TIMEOUT_S] + command, stdout=subprocess.PIPE, stderr=errors, text=True)
        out = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.stdout.close()
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
    """The tools, the peers that there are, a folder for files, and the aims as they are checked."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        tool = lambda name: os.path.join(options.build, "bin", name)
        self.wick, self.expand = tool("wick"), tool("expand_fixture")
        self.peer_python = os.environ.get("WICK_PEER_PYTHON")
        self.onnx_python = os.environ.get("WICK_ONNX_PYTHON")
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
        """A fixture, or a generated program KIND_COUNT."""
        path = self.path(name + ".pt2")
        if not os.path.exists(path):
            kind, _, count = name.rpartition("_")
            if kind in generate.KINDS:
                generate.generate(kind, int(count), path)
            else:
                execute([self.expand, os.path.join(FIXTURES, name + ".wfix.gz"), path])
        return path

    def compile(self, pt2, pte, backend):
        """Compiles and returns the report, process time in seconds and peak bytes."""
        out, cpu_s, peak = execute([self.wick, "compile", pt2, "-o", pte, "--backend", backend, "--json"])
        return json.loads(out), cpu_s, peak

    def check(self, name, value, passes):
        self.checks.append({"aim": name, "value": value, "passed": bool(passes)})
        return "pass" if passes else "FAIL"


def fixtures():
    return sorted(name[:-len(".wfix.gz")] for name in os.listdir(FIXTURES) if name.endswith(".wfix.gz"))


def prepared_models(folder):
    """What export_models.py wrote: name -> facts."""
    if not folder:
        return {}
    try:
        with open(os.path.join(folder, "models.json")) as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        raise Failure(f"{folder} has no models of export_models.py: {error}")


def machine():
    facts = {}
    try:
        with open("/proc/cpuinfo") as info:
            for line in info:
                key, _, value = line.partition(":")
                facts.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    flags = facts.get("flags", "").split()
    return {"cpu": facts.get("model name", platform.machine()), "family": facts.get("cpu family"), "model": facts.get("model"),
            "cores": os.cpu_count(), "avx512": "avx512f" in flags, "vnni": "avx512_vnni" in flags or "avx_vnni" in flags,
            "amx": "amx_int8" in flags, "system": platform.platform(), "load_at_start": os.getloadavg()[0]}


def machine_text(facts):
    kinds = ", ".join(f"{name if facts[key] else 'no ' + name}" for key, name in (("avx512", "AVX-512"), ("vnni", "VNNI"), ("amx", "AMX")))
    return f"{facts['cpu']} (family {facts['family']} model {facts['model']}; {kinds}), {facts['cores']} cores, load {facts['load_at_start']:.1f}"
