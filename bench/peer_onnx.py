"""ONNX Runtime and OpenVINO beside ours: runs a .onnx on one of them, or quantizes one.

    python peer_onnx.py onnxruntime|openvino MODEL.onnx|MODEL.xml IN.npz OUT.npz THREADS
    python peer_onnx.py quantize static|dynamic FLOAT.onnx IN.npz STEM

The first loads the model, runs it once, writes the outputs as out0, out1, .. and prints {"load_ms", "first_ms", "version"}; then for each number N that it
reads it runs N times and prints the times in ms as a list. Inputs are given by their place. Needs numpy and the library asked for.

The second writes STEM.onnx with ONNX Runtime's tools and STEM.xml with OpenVINO's (NNCF, which has static quantization only); both learn ranges from IN.npz.
"""

import json
import sys
import tempfile
import time

import numpy as np


def arrays_of(path):
    with np.load(path) as arrays:
        return [arrays[name] for name in arrays.files]


def open_onnxruntime(path, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    return lambda inputs: session.run(None, dict(zip(names, inputs))), onnxruntime.__version__


def open_openvino(path, threads):
    import openvino
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1}
    compiled = openvino.Core().compile_model(path, "CPU", settings)
    request = compiled.create_infer_request()

    def run(inputs):
        request.infer(dict(enumerate(inputs)), share_inputs=True, share_outputs=True)
        return [request.get_output_tensor(i).data for i in range(len(compiled.outputs))]

    return run, openvino.__version__


def milliseconds_since(start):
    return (time.perf_counter() - start) * 1e3


def serve(library, path, inputs_path, outputs_path, threads):
    inputs = arrays_of(inputs_path)
    opener = {"onnxruntime": open_onnxruntime, "openvino": open_openvino}[library]
    start = time.perf_counter()
    run, version = opener(path, int(threads))
    load_ms, start = milliseconds_since(start), time.perf_counter()
    outputs = run(inputs)
    first_ms = milliseconds_since(start)
    np.savez(outputs_path, **{f"out{i}": np.array(value) for i, value in enumerate(outputs)})
    print(json.dumps({"load_ms": load_ms, "first_ms": first_ms, "version": version}), flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            run(inputs)
            times.append(milliseconds_since(start))
        print(json.dumps(times), flush=True)


def quantize_for_onnxruntime(kind, source, inputs_path, target):
    import onnx
    from onnxruntime import quantization
    from onnxruntime.quantization import shape_inference

    if kind == "dynamic":
        model = onnx.load(source)
        del model.graph.value_info[:]  # the quantizer transposes weights and leaves their shapes as they were
        quantization.quantize_dynamic(model, target, per_channel=True, weight_type=quantization.QuantType.QInt8)
        return

    class Samples(quantization.CalibrationDataReader):
        def __init__(self):
            self.left = [{f"in{i}": value for i, value in enumerate(arrays_of(inputs_path))}]

        def get_next(self):
            return self.left.pop() if self.left else None

    with tempfile.NamedTemporaryFile(suffix=".onnx") as prepared:
        shape_inference.quant_pre_process(source, prepared.name, skip_symbolic_shape=True)
        quantization.quantize_static(prepared.name, target, Samples(), per_channel=True, activation_type=quantization.QuantType.QUInt8,
                                     weight_type=quantization.QuantType.QInt8)


def quantize_for_openvino(kind, source, inputs_path, target):
    import nncf
    import openvino

    shape = nncf.ModelType.TRANSFORMER if kind == "dynamic" else None
    samples = nncf.Dataset([dict(enumerate(arrays_of(inputs_path)))])
    openvino.save_model(nncf.quantize(openvino.Core().read_model(source), samples, model_type=shape), target, compress_to_fp16=False)


if __name__ == "__main__":
    if sys.argv[1] == "quantize":
        quantize_for_onnxruntime(*sys.argv[2:5], sys.argv[5] + ".onnx")
        quantize_for_openvino(*sys.argv[2:5], sys.argv[5] + ".xml")
    else:
        serve(*sys.argv[1:])
