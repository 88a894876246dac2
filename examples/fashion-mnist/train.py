"""Trains a small CNN on Fashion-MNIST. Runs inside Hearth and, unchanged, outside of it:

    PYTHONPATH=python python3 examples/fashion-mnist/train.py

The same seed gives the same model, on one core or many; a retry goes on from the last checkpoint.
"""
import gzip
import math
import os
import pathlib
import struct
import time

import hearth
import numpy
import torch
from torch import nn
from torch.nn import functional

CLASSES = ["T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
           "ankle boot"]
DATA = pathlib.Path("data")  # where the job file puts it
if not DATA.is_dir():
    DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")


def read_idx(name):
    """An array out of one of the gzip'd IDX files that Fashion-MNIST comes in."""
    with gzip.open(DATA / f"{name}-ubyte.gz") as f:
        _, kind, dimensions = struct.unpack(">HBB", f.read(4))
        if kind != 8:
            raise ValueError(f"{name}: bytes are wanted, the file holds type {kind}")
        shape = struct.unpack(f">{dimensions}I", f.read(4 * dimensions))
        return numpy.frombuffer(f.read(), numpy.uint8).reshape(shape)


def load(part):
    images = torch.from_numpy(read_idx(f"{part}-images-idx3").copy())[:, None].float()
    labels = torch.from_numpy(read_idx(f"{part}-labels-idx1").copy()).long()
    return (images / 255 - 0.286) / 0.353, labels


def build_model():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, len(CLASSES)))


def evaluate(model, images, labels, batch=500):
    """Accuracy, mean loss, and how often each class was taken for each other one."""
    model.eval()
    loss, confusion = 0.0, torch.zeros(len(CLASSES), len(CLASSES), dtype=torch.long)
    with torch.no_grad():
        for at in range(0, len(images), batch):
            out = model(images[at:at + batch])
            wanted = labels[at:at + batch]
            loss += functional.cross_entropy(out, wanted, reduction="sum").item()
            for i, j in zip(wanted.tolist(), out.argmax(1).tolist()):
                confusion[i, j] += 1
    return confusion.diag().sum().item() / len(images), loss / len(images), confusion


def train_epoch(model, optimizer, data, epoch, p):
    """One pass; returns the mean loss and the images per second."""
    images, labels = data
    model.train()
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(p.seed + epoch))
    steps = len(images) // p.batch
    total, started = 0.0, time.monotonic()
    for step in range(steps):
        chosen = order[step * p.batch:(step + 1) * p.batch]
        # What is asked for now, on a half cosine down to nothing over the whole training.
        slope = (1 + math.cos(math.pi * (epoch + step / steps) / p.epochs)) / 2
        for group in optimizer.param_groups:
            group["lr"] = hearth.live("lr", 0.05) * slope
        loss = functional.cross_entropy(model(images[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        if (step + 1) % 100 == 0:
            done = epoch + (step + 1) / steps
            rate = (step + 1) * p.batch / (time.monotonic() - started)
            hearth.log(step=epoch * steps + step + 1, loss=total / (step + 1), epoch=done,
                       lr=optimizer.param_groups[0]["lr"], images_per_second=rate)
    return total / steps, steps * p.batch / (time.monotonic() - started)


def main():
    p = hearth.params(epochs=5, batch=64, seed=1)
    torch.manual_seed(p.seed)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    model = build_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    first, saved = 0, hearth.resume_from()
    if saved is not None:
        state = torch.load(saved / "state.pt")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["epoch"] + 1
        print(f"going on after epoch {first}", flush=True)
    data, test = load("train"), load("t10k")
    steps = len(data[0]) // p.batch
    accuracy, confusion = 0.0, None
    for epoch in range(first, p.epochs):
        loss, rate = train_epoch(model, optimizer, data, epoch, p)
        accuracy, test_loss, confusion = evaluate(model, *test)
        hearth.log(step=(epoch + 1) * steps, epoch=epoch + 1, accuracy=accuracy,
                   test_loss=test_loss)
        print(f"epoch {epoch + 1}/{p.epochs}: loss {loss:.4f}, test accuracy {accuracy:.2%}, "
              f"{rate:.0f} images/s", flush=True)
        with hearth.checkpoint(step=epoch) as folder:
            torch.save({"epoch": epoch, "model": model.state_dict(),
                        "optimizer": optimizer.state_dict()}, folder / "state.pt")
    if confusion is not None:
        hearth.log_table("confusion", confusion, columns=CLASSES)
    os.makedirs("out", exist_ok=True)
    torch.save(model.state_dict(), "out/model.pt")


if __name__ == "__main__":
    main()
