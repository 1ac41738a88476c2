"""The models of the CUDA bands: real architectures in bf16, batch 1, seeded random weights. Nothing is downloaded.

    python bench/cuda_models.py export FOLDER [--small] [NAME ..]     NAME.pt2, NAME.in.npz, NAME.out.npz (eager's, on the processor)
    python bench/cuda_models.py peers NAME [NAME ..]                  times of torch eager and torch.compile on the device, as JSON

Needs torch, torchvision, timm, transformers and, for 4-bit weights, torchao. --small exports the same architectures with few layers and short
sequences, to try the tools without a device. Files that are there are kept.
"""

import json
import os
import statistics
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


class Layer(nn.Module):
    """Of Llama: grouped queries, rotary positions, a cache that each step writes one row of."""

    def __init__(self, c):
        super().__init__()
        self.heads, self.groups, self.head = c["heads"], c["groups"], c["head"]
        self.q = nn.Linear(c["width"], c["heads"] * c["head"], bias=False)
        self.k = nn.Linear(c["width"], c["groups"] * c["head"], bias=False)
        self.v = nn.Linear(c["width"], c["groups"] * c["head"], bias=False)
        self.o = nn.Linear(c["heads"] * c["head"], c["width"], bias=False)
        self.gate = nn.Linear(c["width"], c["inner"], bias=False)
        self.up = nn.Linear(c["width"], c["inner"], bias=False)
        self.down = nn.Linear(c["inner"], c["width"], bias=False)
        self.before, self.between = nn.RMSNorm(c["width"], 1e-5), nn.RMSNorm(c["width"], 1e-5)
        for name in ("keys", "values"):
            self.register_buffer(name, 0.1 * torch.randn(1, c["groups"], c["context"], c["head"]))

    def forward(self, x, at, cos, sin, mask):
        y = self.before(x)

        def heads(z, count):
            return z.view(1, 1, count, self.head).transpose(1, 2)

        def rotated(z):
            a, b = z.chunk(2, -1)
            return z * cos + torch.cat((-b, a), -1) * sin

        self.keys.index_copy_(2, at, rotated(heads(self.k(y), self.groups)))
        self.values.index_copy_(2, at, heads(self.v(y), self.groups))
        q = rotated(heads(self.q(y), self.heads))
        z = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask, enable_gqa=True)
        x = x + self.o(z.transpose(1, 2).reshape(1, 1, -1))
        y = self.between(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    """One step of decoding at the end of a full context."""

    def __init__(self, c):
        super().__init__()
        self.embed = nn.Embedding(c["vocabulary"], c["width"])
        self.layers = nn.ModuleList(Layer(c) for _ in range(c["layers"]))
        self.norm, self.head = nn.RMSNorm(c["width"], 1e-5), nn.Linear(c["width"], c["vocabulary"], bias=False)
        angles = torch.outer(torch.arange(c["context"]), 500000.0 ** (-torch.arange(0, c["head"], 2) / c["head"]))
        self.register_buffer("cos", angles.cos().repeat(1, 2))
        self.register_buffer("sin", angles.sin().repeat(1, 2))
        self.register_buffer("positions", torch.arange(c["context"]))

    def forward(self, token, at):
        x = self.embed(token)
        cos, sin = self.cos[at], self.sin[at]
        mask = (self.positions <= at).view(1, 1, 1, -1)
        for layer in self.layers:
            x = layer(x, at, cos, sin, mask)
        return self.head(self.norm(x)).float()


class InFloat(nn.Module):
    def __init__(self, model, pick=None):
        super().__init__()
        self.model, self.pick = model, pick

    def forward(self, x):
        out = self.model(x)
        return (out if self.pick is None else out[self.pick]).float()


def deit_tiny(small):
    import timm
    more = {"depth": 2} if small else {}
    return InFloat(timm.create_model("deit_tiny_patch16_224", **more)), (torch.randn(1, 3, 224, 224),)


def resnet50(small):
    from torchvision import models
    model = models.resnet18() if small else models.resnet50()
    size = 64 if small else 224
    return InFloat(model), (torch.randn(1, 3, size, size),)


def whisper_tiny_encoder(small):
    import transformers
    from transformers.models.whisper.modeling_whisper import WhisperEncoder
    length = 128 if small else 3000
    c = transformers.WhisperConfig(d_model=384, encoder_layers=1 if small else 4, encoder_attention_heads=6, encoder_ffn_dim=1536,
                                   max_source_positions=length // 2, attn_implementation="sdpa")
    return InFloat(WhisperEncoder(c), pick=0), (torch.randn(1, 80, length),)


def llama_decode(small):
    c = {"vocabulary": 128256, "width": 2048, "inner": 8192, "layers": 16, "heads": 32, "groups": 8, "head": 64, "context": 2048}
    if small:
        c.update(vocabulary=512, width=128, inner=256, layers=2, heads=4, groups=2, head=32, context=64)
    return Decoder(c), (torch.tensor([[7]]), torch.tensor([c["context"] - 1]))


class Product(nn.Module):
    def forward(self, a, b):
        return a @ b


class LinearGelu(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):
        return nn.functional.gelu(self.linear(x))


def matmul_4096(small):
    size = 256 if small else 4096
    return Product(), (torch.randn(size, size), torch.randn(size, size))


def linear_4096(small):
    size = 256 if small else 4096
    return LinearGelu(size, size), (torch.randn(size, size),)


def linear_edges(small):
    return LinearGelu(776, 1032), (torch.randn(101 if small else 4001, 776),)


def four_bits(model):
    """Linear layers in groups of 32 with weights of four bits, the last one with eight."""
    from torchao.quantization import IntxWeightOnlyConfig, quantize_
    from torchao.quantization.granularity import PerAxis, PerGroup
    quantize_(model.layers, IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32)))
    quantize_(model, IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0)), lambda module, name: name == "head")


# name -> how to build it and its inputs, what to do to its weights
MODELS = {
    "deit_tiny": (deit_tiny, None),
    "resnet50": (resnet50, None),
    "llama_1b_decode": (llama_decode, None),
    "llama_1b_decode_4bit": (llama_decode, four_bits),
    "whisper_tiny_encoder": (whisper_tiny_encoder, None),
    "matmul_4096": (matmul_4096, None),
    "linear_4096": (linear_4096, None),
    "linear_edges": (linear_edges, None),
}


def build(name, small=False):
    torch.manual_seed(17)
    make, change = MODELS[name]
    model, inputs = make(small)
    model = model.eval().requires_grad_(False).bfloat16()
    if change:
        change(model)
    return model, tuple(x.bfloat16() if x.is_floating_point() else x for x in inputs)


def as_numpy(value):
    value = value.contiguous()
    return value.view(torch.int16).numpy().view("V2") if value.dtype == torch.bfloat16 else value.numpy()


def export(folder, names, small):
    os.makedirs(folder, exist_ok=True)
    for name in names:
        stem = os.path.join(folder, name)
        if os.path.exists(f"{stem}.pt2"):
            continue
        with torch.no_grad():
            model, inputs = build(name, small)
            program = torch.export.export(model, inputs)
            torch.export.save(program, f"{stem}.pt2")
            np.savez(f"{stem}.in.npz", **{f"in{i}": as_numpy(x) for i, x in enumerate(inputs)})
            np.savez(f"{stem}.out.npz", out0=as_numpy(model(*inputs)))
        print(f"{stem}.pt2: {os.path.getsize(f'{stem}.pt2') / 1e6:.1f} MB", flush=True)


def median_ms(call):
    for _ in range(20):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(200):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def peers(names):
    found = {}
    for name in names:
        row = found[name] = {}
        with torch.no_grad():
            model, inputs = build(name)
            model, inputs = model.cuda(), [x.cuda() for x in inputs]
            for peer, run in (("eager", model), ("compiled", torch.compile(model, mode="max-autotune"))):
                try:
                    row[peer] = median_ms(lambda: run(*inputs))
                except Exception as error:  # the others still count
                    row[peer + "_error"] = f"{type(error).__name__}: {str(error)[:200]}"
    print(json.dumps(found))


def main(arguments):
    small = "--small" in arguments
    arguments = [each for each in arguments if each != "--small"]
    if len(arguments) < 2 or arguments[0] not in ("export", "peers"):
        print(__doc__, file=sys.stderr)
        return 2
    names = arguments[2:] if arguments[0] == "export" else arguments[1:]
    if not set(names) <= set(MODELS):
        print(f"models: {', '.join(MODELS)}", file=sys.stderr)
        return 2
    if arguments[0] == "export":
        export(arguments[1], names or MODELS, small)
    else:
        peers(names)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
