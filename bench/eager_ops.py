"""Times calls of eager PyTorch for ops.py, which sends one request a line: {"prepare": call}, then {"runs": N} as often as it likes.
The answer to the first one gives dtypes and sizes of the results."""

import json
import sys
import time

import torch

torch.set_num_threads(1)
torch.set_grad_enabled(False)
NAMES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "c64": torch.complex64, "c128": torch.complex128,
         "i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "bool": torch.bool}

LETTERS = {dtype: name for name, dtype in NAMES.items()}


def value_of(text):
    if isinstance(text, list):
        return [value_of(item) for item in text]
    if not isinstance(text, dict):
        return text
    if "file" not in text:
        return NAMES[text["dtype"]]
    with open(text["file"], "rb") as file:
        return torch.frombuffer(bytearray(file.read()), dtype=NAMES[text["dtype"]]).reshape(text["sizes"])


def call_of(request):
    space, name, overload = request["target"].split(".")
    if space == "torchvision":
        import torchvision  # noqa: F401: registers its operators
    function = getattr(getattr(getattr(torch.ops, space), name), overload)
    values, by_name = [value_of(item) for item in request["values"]], request["by_name"]
    named = dict(zip(request["names"][by_name:], values[by_name:]))
    return lambda: function(*values[:by_name], **named)


def flattened(result):
    return [item for part in result for item in flattened(part)] if isinstance(result, (list, tuple)) else [result]


call = None
for line in sys.stdin:
    request = json.loads(line)
    try:
        if "prepare" in request:
            call = None
            call = call_of(request["prepare"])
            answer = {"results": [[LETTERS[tensor.dtype], list(tensor.shape)] for tensor in flattened(call())]}
        else:
            best = float("inf")
            for _ in range(request["runs"]):
                start = time.perf_counter_ns()
                call()
                best = min(best, time.perf_counter_ns() - start)
            answer = {"us": best / 1000}
    except Exception as error:  # an operator or dtype that this torch lacks
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
