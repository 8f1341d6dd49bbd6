"""Training of networks of 1 to 10 million parameters beside PyTorch, eager and compiled.

    PYTHONPATH=build/python PYTHON bench/training.py [NAME ...] [--rounds N] [--threads N]

A CNN (NCHW, batch norm), a vision transformer, an LSTM and a GPT, the same modules from frazil.nn
and torch.nn, AdamW, float32. Each form runs in a process of its own, which takes steps when it is
its turn: rounds are interleaved, and the best time of a step counts. Memory is the process's peak
resident set. A line is a network: examples a second of each form, PyTorch's best time over frazil's
(above 1 frazil is faster), and frazil's peak memory over that of PyTorch's best form.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time

FORMS = ("frazil", "torch", "compiled")
STEPS = {"cnn": 2, "vit": 2, "lstm": 2, "gpt": 2}  # of a round


def build(name, nn, cat, base):
    """(module, arrays of a batch, the loss's function of logits and labels)."""
    import numpy as np

    rng = np.random.default_rng(0)

    def block(a, b):
        return nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU()

    if name == "cnn":
        model = nn.Sequential(
            *block(3, 64), *block(64, 64), nn.MaxPool2d(2), *block(64, 128), *block(128, 128),
            nn.MaxPool2d(2), *block(128, 256), *block(256, 256), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(4096, 10),
        )  # fmt: skip
        return model, rng.normal(size=(32, 3, 32, 32)).astype("float32"), rng.integers(0, 10, 32)
    if name == "vit":

        class ViT(nn.Module):
            def __init__(self, width=192, depth=6):
                base(self)
                self.embed = nn.Conv2d(3, width, 4, stride=4)
                layer = nn.TransformerEncoderLayer(
                    width, 3, 4 * width, dropout=0.0, activation="gelu", batch_first=True,
                    norm_first=True,
                )  # fmt: skip
                self.places = nn.Embedding(64, width)
                self.encoder = nn.TransformerEncoder(layer, depth, norm=nn.LayerNorm(width))
                self.head = nn.Linear(width, 10)

            def forward(self, images):
                x = self.embed(images).reshape(images.shape[0], 192, 64).permute(0, 2, 1)
                return self.head(self.encoder(x + self.places.weight).mean(1))

        return ViT(), rng.normal(size=(32, 3, 32, 32)).astype("float32"), rng.integers(0, 10, 32)
    if name == "lstm":

        class Model(nn.Module):
            def __init__(self, words=2000, width=512):
                base(self)
                self.letters = nn.Embedding(words, 256)
                self.lstm = nn.LSTM(256, width, num_layers=2, batch_first=True)
                self.head = nn.Linear(width, words)

            def forward(self, text):
                return self.head(self.lstm(self.letters(text))[0]).reshape(-1, 2000)

        text = rng.integers(0, 2000, (32, 33))
        return Model(), text[:, :-1].copy(), text[:, 1:].reshape(-1).copy()

    class GPT(nn.Module):
        def __init__(self, words=512, context=128, width=256, depth=6):
            base(self)
            self.letters = nn.Embedding(words, width)
            self.places = nn.Embedding(context, width)
            layer = nn.TransformerEncoderLayer(
                width, 4, 4 * width, dropout=0.0, activation="gelu", batch_first=True,
                norm_first=True,
            )  # fmt: skip
            self.blocks = nn.TransformerEncoder(layer, depth, norm=nn.LayerNorm(width))
            self.head = nn.Linear(width, words)

        def forward(self, text):
            x = self.letters(text) + self.places.weight
            mask = nn.Transformer.generate_square_subsequent_mask(text.shape[1])
            return self.head(self.blocks(x, mask=mask, is_causal=True)).reshape(-1, 512)

    text = rng.integers(0, 512, (8, 129))
    return GPT(), text[:, :-1].copy(), text[:, 1:].reshape(-1).copy()


def frazil_step(name):
    import frazil as fz
    from frazil import nn, optim

    model, x, y = build(name, nn, fz.concat, lambda self: None)
    optimizer = optim.AdamW(model.parameters(), lr=1e-4)
    x, y = fz.asarray(x), fz.asarray(y)

    @fz.trace
    def step(x, y):
        loss = nn.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return (lambda: step(x, y).item()), sum(p.size for p in model.parameters())


def torch_step(name, compiled):
    import torch
    from torch import nn

    model, x, y = build(name, nn, torch.cat, lambda self: nn.Module.__init__(self))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    x, y = torch.tensor(x), torch.tensor(y)
    if name == "cnn":
        model, x = (
            model.to(memory_format=torch.channels_last),
            x.contiguous(memory_format=torch.channels_last),
        )
    called = torch.compile(model) if compiled else model

    def step():
        loss = nn.functional.cross_entropy(called(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, sum(p.numel() for p in model.parameters())


def serve(form, name, threads):
    """Takes a number of steps for each line that comes, and answers with seconds of one."""
    if form == "frazil":
        import frazil as fz

        fz.set_num_threads(threads)
        step, size = frazil_step(name)
    else:
        import torch

        torch.set_num_threads(threads)
        torch.manual_seed(0)
        step, size = torch_step(name, form == "compiled")
    losses = [step() for _ in range(6)]
    print(json.dumps({"size": size, "losses": losses}), flush=True)
    for line in sys.stdin:
        best = float("inf")
        for _ in range(int(line)):
            begin = time.perf_counter()
            step()
            best = min(best, time.perf_counter() - begin)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"seconds": best, "peak": peak}), flush=True)


class Worker:
    def __init__(self, form, name, threads):
        env = {**os.environ, "OMP_NUM_THREADS": str(threads), "FRAZIL_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", form, name, "--threads", str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env,
        )  # fmt: skip
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{form} does not run {name}")
        self.about = json.loads(line)

    def take(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def compare(name, forms, rounds, threads):
    workers = {}
    for form in forms:
        try:
            workers[form] = Worker(form, name, threads)
        except RuntimeError as error:
            print(error, flush=True)
    times, peaks = {form: [] for form in workers}, {}
    for _ in range(rounds):
        for form, worker in workers.items():
            answer = worker.take(STEPS[name])
            times[form].append(answer["seconds"])
            peaks[form] = answer["peak"]
    best = {form: min(found) for form, found in times.items()}
    size = workers["frazil"].about["size"]
    text = f"{name:5} {size / 1e6:5.1f} M"
    for form, seconds in best.items():
        text += f"   {form} {seconds * 1e3:8.1f} ms {peaks[form] / 2**20:6.0f} MiB"
    peers = [form for form in best if form != "frazil"]
    if peers:
        other = min(peers, key=best.get)
        text += f"   {best[other] / best['frazil']:.2f} of {other}'s speed"
        text += f", {peaks['frazil'] / peaks[other]:.2f} of its memory"
    print(text, flush=True)
    for worker in workers.values():
        worker.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(STEPS), metavar="NAME")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(*options.serve, options.threads)
    for name in options.names:
        compare(name, options.forms.split(","), options.rounds, options.threads)


if __name__ == "__main__":
    main()
