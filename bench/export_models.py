"""Writes the models of the delegates table: real architectures at full size with random weights, for every peer.

    python bench/export_models.py FOLDER [NAME ...]

Needs a Python with torch, torchvision, timm, transformers, onnx, onnxscript and executorch. WICK_ONNX_PYTHON names one with onnxruntime,
openvino, nncf and onnx, which quantizes for these two; without it int8 models have no file for them. Nothing is downloaded. For each model:

    NAME.pt2  NAME.in.npz  NAME.out.npz   the program, its inputs and what eager PyTorch makes of them
    NAME.stock.pte                        ExecuTorch's own, XnnpackPartitioner with its defaults
    NAME.onnx                             for ONNX Runtime and OpenVINO
    NAME.xml, NAME.float.npz              int8 only: OpenVINO's own, and what the float model answers, which these two are made of

models.json lists them. Files that are there are kept.
"""

import json
import os
import subprocess
import sys

import numpy as np
import timm
import torch
import torchvision.models as vision
import transformers
from torch import nn
from torch.utils import _pytree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "fixtures"))
sys.dont_write_bytecode = True
from exporters.model_list import Output, config  # noqa: E402
from exporters.quantized import drop_unread  # noqa: E402
from exporters.small_nets import Recurrent  # noqa: E402
from exporters.xnnpack import dynamic_int8, static_int8  # noqa: E402


def image():
    return (torch.randn(1, 3, 224, 224),)


def text(length, vocabulary, padding=0):
    ids = torch.randint(0, vocabulary, (1, length))
    return (ids, torch.tensor([[1] * (length - padding) + [0] * padding])) if padding else (ids,)


def deit_tiny():
    return timm.create_model("deit_tiny_patch16_224")


def minilm():
    c = config(transformers.BertConfig, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    return Output(transformers.BertModel(c), pick=("last_hidden_state", "pooler_output"))


def distilbert():
    return Output(transformers.DistilBertModel(config(transformers.DistilBertConfig)))


def gpt2():
    return Output(transformers.GPT2LMHeadModel(config(transformers.GPT2Config)), pick=("logits",), use_cache=False)


def whisper_tiny_encoder():
    c = config(transformers.WhisperConfig, d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536)
    return Output(transformers.models.whisper.modeling_whisper.WhisperEncoder(c), name="input_features")


def llama_prefill():
    c = config(transformers.LlamaConfig, vocab_size=32000, hidden_size=512, intermediate_size=1376, num_hidden_layers=8, num_attention_heads=8,
               num_key_value_heads=4)
    return Output(transformers.LlamaForCausalLM(c), pick=("logits",), use_cache=False, logits_to_keep=1)


# name -> how to build it, its inputs, quantizer (none: float)
MODELS = {
    "deit_tiny": (deit_tiny, image, None),
    "vit_b_16": (vision.vit_b_16, image, None),
    "swin_t": (vision.swin_t, image, None),
    "convnext_tiny": (vision.convnext_tiny, image, None),
    "minilm": (minilm, lambda: text(128, 30522, 28), None),
    "distilbert": (distilbert, lambda: text(128, 30522, 28), None),
    "gpt2": (gpt2, lambda: text(64, 50257), None),
    "whisper_tiny_encoder": (whisper_tiny_encoder, lambda: (torch.randn(1, 80, 3000),), None),
    "llama_prefill": (llama_prefill, lambda: text(128, 32000), None),
    "lstm": (lambda: Recurrent(nn.LSTM, True), lambda: (torch.randn(1, 10, 16),), None),
    "mobilenet_v2": (vision.mobilenet_v2, image, None),
    "resnet50": (vision.resnet50, image, None),
    "efficientnet_b0": (vision.efficientnet_b0, image, None),
    "deit_tiny_int8": (deit_tiny, image, dynamic_int8),
    "mobilenet_v2_int8": (vision.mobilenet_v2, image, static_int8),
    "resnet50_int8": (vision.resnet50, image, static_int8),
}


def settle(model, inputs):
    """Values like those of a trained model: parameters that start constant vary, batch norms know their inputs."""
    model.eval().requires_grad_(False)
    for value in model.parameters():
        if value.numel() > 1 and value.min() == value.max():
            value.add_(0.1 * torch.randn_like(value))
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.train()
        norm.momentum = None  # the mean over all batches
    if norms:
        more = [torch.cat([torch.randn_like(x) for _ in range(3)]) for x in inputs]
        model(*[torch.cat(pair) for pair in zip(inputs, more)])
    return model.eval()


def save_arrays(path, prefix, values):
    np.savez(path, **{f"{prefix}{i}": leaf.contiguous().numpy() for i, leaf in enumerate(_pytree.tree_leaves(values))})


def weight_bytes(program):
    seen = {value.untyped_storage().data_ptr(): value.untyped_storage().nbytes()
            for values in (program.state_dict, program.constants) for value in values.values() if isinstance(value, torch.Tensor)}
    return sum(seen.values())


def write_onnx(model, inputs, path):
    names = [f"in{i}" for i in range(len(inputs))]
    torch.onnx.export(model, inputs, path, input_names=names, dynamo=True, external_data=False, verbose=False)


def quantize_onnx(name, stem):
    """The peers' own quantization of the float model's .onnx."""
    python = os.environ.get("WICK_ONNX_PYTHON")
    if python:
        kind = "dynamic" if MODELS[name][2] is dynamic_int8 else "static"
        subprocess.run([python, os.path.join(HERE, "peer_onnx.py"), "quantize", kind, f"{stem}.float.onnx", f"{stem}.in.npz", stem], check=True)


def write(name, folder):
    make, make_inputs, quantizer = MODELS[name]
    stem = os.path.join(folder, name)
    torch.manual_seed(17)
    inputs = make_inputs()
    model = settle(make(), inputs)
    save_arrays(f"{stem}.in.npz", "in", inputs)
    if quantizer:
        save_arrays(f"{stem}.float.npz", "out", model(*inputs))
        write_onnx(model, inputs, f"{stem}.float.onnx")
        model = drop_unread(quantizer(model, inputs))
    program = torch.export.export(model, inputs)
    save_arrays(f"{stem}.out.npz", "out", program.module()(*inputs))
    torch.export.save(program, f"{stem}.pt2")
    if not quantizer:
        write_onnx(model, inputs, f"{stem}.onnx")
    return {"kind": "int8" if quantizer else "f32", "weight_bytes": weight_bytes(program)}


def main(arguments):
    if not arguments or not set(arguments[1:]) <= set(MODELS):
        print(__doc__, file=sys.stderr)
        return 2
    folder, names = arguments[0], arguments[1:] or MODELS
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "models.json")
    known = json.load(open(path)) if os.path.exists(path) else {}
    failed = []
    for name in names:
        stem = os.path.join(folder, name)
        try:
            if name not in known:
                with torch.no_grad():
                    known[name] = write(name, folder)
            if not os.path.exists(f"{stem}.xml") and MODELS[name][2]:
                quantize_onnx(name, stem)
            if not os.path.exists(f"{stem}.stock.pte"):  # in a process of its own: as the compile table does it
                compiler = os.path.join(HERE, "peer_compile.py")
                subprocess.run([sys.executable, compiler, "xnnpack", f"{stem}.pt2", f"{stem}.stock.pte"], check=True, stdout=subprocess.DEVNULL)
        except Exception as error:  # report all, then fail
            print(f"{name}: {type(error).__name__}: {str(error)[:400]}", flush=True)
            failed.append(name)
            continue
        with open(path, "w") as out:
            json.dump({key: known[key] for key in MODELS if key in known}, out, indent=1)
        print(f"{name}: {known[name]['weight_bytes'] / 1e6:.1f} MB of weights", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
