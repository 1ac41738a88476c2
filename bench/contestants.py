"""Who runs in the delegates table: a program on a native runtime, a process for each turn, or a .onnx in one Python process that is asked for turns."""

import json
import os
import subprocess
import tempfile

from common import ROOT, TIMEOUT_S, execute

WARMUP = 2


def last_line(text, code):
    lines = text.strip().splitlines()
    return f"does not run ({lines[-1][:200] if lines else 'no message'}; exit code {code})"


class Native:
    """A .pte on a runtime. Each turn loads it anew, so that loading and memory are measured as often."""

    def __init__(self, runner, is_wick, program, inputs, output, threads):
        self.runner, self.is_wick, self.program, self.inputs, self.output = runner, is_wick, program, inputs, output
        self.threads = ["--threads", str(threads)]

    def start(self):
        """Runs once and leaves the outputs behind. What went wrong, or None."""
        command = ["timeout", TIMEOUT_S, self.runner] + (["run"] if self.is_wick else [])
        done = subprocess.run(command + [self.program, "-i", self.inputs, "-o", self.output] + self.threads, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, errors="replace")
        return None if done.returncode == 0 else last_line(done.stderr, done.returncode)

    def turn(self, runs):
        """Times of that many runs: min_ms, median_ms, ready_ms (load and first run less a later one), peak_bytes. None if a peer fails."""
        if self.is_wick:
            counts = ["--warmup", str(WARMUP), "--runs", str(runs), "--json"]
            result = execute([self.runner, "bench", self.program, "-i", self.inputs] + counts + self.threads)
        else:
            calls = ["-i", self.inputs] * WARMUP
            result = execute([self.runner, self.program] + calls + ["--repeat", str(runs)] + self.threads, peer=True)
        if result is None:
            return None
        times = json.loads(result[0])
        return {"min_ms": times["min_ms"], "median_ms": times["median_ms"], "ready_ms": times["load_ms"] + times["first_ms"] - times["min_ms"],
                "peak_bytes": result[2]}

    def stop(self):
        pass


class Served:
    """A .onnx in peer_onnx.py."""

    def __init__(self, python, library, model, inputs, output, threads):
        script = os.path.join(ROOT, "bench", "peer_onnx.py")
        self.command = ["timeout", TIMEOUT_S, python, script, library, model, inputs, output, str(threads)]
        self.process, self.facts = None, None

    def start(self):
        self.errors = tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.facts = self.answer()
        if self.facts is not None:
            return None
        self.process.wait()
        self.errors.seek(0)
        return last_line(self.errors.read(), self.process.returncode)

    def answer(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def turn(self, runs):
        times = None
        try:
            self.process.stdin.write(f"{runs + WARMUP}\n")
            self.process.stdin.flush()
            times = self.answer()
        except BrokenPipeError:
            pass
        if times is None:
            return None
        times = sorted(times[WARMUP:])
        return {"min_ms": times[0], "median_ms": times[len(times) // 2]}

    def stop(self):
        if self.process:
            self.process.stdout.close()
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
            self.process.wait()
            self.errors.close()
