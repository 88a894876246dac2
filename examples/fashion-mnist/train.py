"""Trains a small convolutional network on Fashion-MNIST on one core.

Under Hearth: `hearth job submit job.yaml --follow`. Without it: `PYTHONPATH=../../python python3
train.py`, which prints its metrics and writes its files here.
"""

import gzip
import os
import pathlib
import time

import numpy
import torch
from torch import nn

import hearth

CLASSES = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
           "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]
LOG_EVERY = 20                  # steps
WARM_UP = 0.15                  # part of the steps in which the learning rate rises
DEBIAN = "/usr/share/datasets/fashion-mnist"


def read_idx(path):
    """The array in a gzipped IDX file of bytes; its header is big-endian: 0 0 type rank, sizes."""
    with gzip.open(str(path), "rb") as file:
        data = file.read()
    if data[:3] != b"\0\0\x08":
        raise ValueError("%s is no IDX file of bytes" % path)
    rank = data[3]
    shape = numpy.frombuffer(data, ">u4", rank, 4)
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * rank).reshape(shape)


def load(folder, part, count=None):
    """Images as floats from 0 to 1, [N, 1, 28, 28], and labels, [N]."""
    images = read_idx(folder / ("%s-images-idx3-ubyte.gz" % part))[:count]
    labels = read_idx(folder / ("%s-labels-idx1-ubyte.gz" % part))[:count]
    pixels = torch.from_numpy(images.astype(numpy.float32) / 255).unsqueeze(1)
    return pixels, torch.from_numpy(labels.astype(numpy.int64))


class Normalize(nn.Module):
    """By mean and deviation of the training images. In the model, so that users give pixels."""

    def forward(self, pixels):
        return (pixels - 0.2860) / 0.3530


def block(inputs, outputs, kernel, *tail, stride=1):
    return [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
            nn.BatchNorm2d(outputs), nn.ReLU(inplace=True), *tail]


def make_model():
    """29,434 parameters. The first layer halves the image by its stride: a third of the work."""
    return nn.Sequential(
        Normalize(),
        *block(1, 16, 5, stride=2),
        *block(16, 32, 3, nn.MaxPool2d(2)),
        *block(32, 64, 3, nn.MaxPool2d(2)),
        nn.Flatten(), nn.Dropout(0.1), nn.Linear(64 * 3 * 3, len(CLASSES)),
    ).to(memory_format=torch.channels_last)


def schedule(done):
    """Factor of the learning rate: up, then down to almost nothing; done runs from 0 to 1."""
    return max(1e-4, done / WARM_UP if done < WARM_UP else (1 - done) / (1 - WARM_UP))


@torch.no_grad()
def evaluate(model, images, labels):
    """The part that is right, and how often each class was taken for which."""
    model.eval()
    guesses = torch.cat([model(batch).argmax(1) for batch in images.split(1000)])
    pairs = torch.bincount(labels * len(CLASSES) + guesses, minlength=len(CLASSES) ** 2)
    return (guesses == labels).float().mean().item(), pairs.view(len(CLASSES), -1)


class Meter:
    """Loss, accuracy and speed since the last report."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.loss = self.right = 0.0
        self.images = self.steps = 0
        self.began = time.perf_counter()

    def add(self, loss, scores, labels):
        self.loss += loss.item()
        self.right += (scores.argmax(1) == labels).sum().item()
        self.images += len(labels)
        self.steps += 1

    def report(self, step, epoch, lr):
        seconds = time.perf_counter() - self.began
        hearth.log(step=step, loss=self.loss / self.steps, accuracy=self.right / self.images,
                   images_per_second=self.images / seconds, lr=lr, epoch=epoch)
        self.reset()


def train_epoch(model, optimizer, images, labels, p, epoch):
    """One pass in a new order; returns the number of steps done since the start."""
    model.train()
    per_epoch = len(images) // p.batch_size
    meter = Meter()
    order = torch.randperm(len(images))[:per_epoch * p.batch_size]
    for i, chosen in enumerate(order.split(p.batch_size)):
        step = epoch * per_epoch + i
        lr = hearth.live("lr", p.lr, step=step) * schedule(step / (p.epochs * per_epoch))
        for group in optimizer.param_groups:
            group["lr"] = lr
        batch = images[chosen]
        if i % 2:
            batch = batch.flip(3)  # mirrored clothes are clothes
        target = labels[chosen]
        scores = model(batch.to(memory_format=torch.channels_last))
        loss = nn.functional.cross_entropy(scores, target)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        meter.add(loss, scores, target)
        if (step + 1) % LOG_EVERY == 0:
            meter.report(step + 1, (step + 1) / per_epoch, optimizer.param_groups[0]["lr"])
    return (epoch + 1) * per_epoch


def resume(model, optimizer):
    """Goes on after the last whole checkpoint; returns the first epoch to train."""
    folder = hearth.resume_from()
    if folder is None:
        return 0
    state = torch.load(str(folder / "state.pt"))
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["rng"])
    print("resumed after epoch %d" % state["epoch"])
    return state["epoch"] + 1


def show_samples(images, labels):
    """A sheet of the first ten test images of each class."""
    rows = [torch.cat(list(images[labels == k][:10, 0]), dim=1) for k in range(len(CLASSES))]
    width = min(row.shape[1] for row in rows)
    if width:
        hearth.log_image("samples", torch.cat([row[:, :width] for row in rows]))


def main():
    began = time.perf_counter()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or 1))
    p = hearth.params(epochs=5, batch_size=128, lr=0.1, seed=1, train_images=0)
    torch.manual_seed(p.seed)

    data = pathlib.Path("data" if os.path.isdir("data") else DEBIAN)
    images, labels = load(data, "train", p.train_images or None)
    test_images, test_labels = load(data, "t10k")
    show_samples(test_images, test_labels)
    print("read %d + %d images in %.1f s"
          % (len(images), len(test_images), time.perf_counter() - began), flush=True)

    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), p.lr, momentum=0.9, nesterov=True,
                                weight_decay=5e-4)
    accuracy, confusion = 0.0, None
    for epoch in range(resume(model, optimizer), p.epochs):
        step = train_epoch(model, optimizer, images, labels, p, epoch)
        accuracy, confusion = evaluate(model, test_images, test_labels)
        hearth.log(step=step, test_accuracy=accuracy, epoch=epoch + 1)
        print("epoch %d of %d: %.2f %% of the test images right, %.1f s"
              % (epoch + 1, p.epochs, 100 * accuracy, time.perf_counter() - began), flush=True)
        with hearth.checkpoint(step=step) as folder:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                        "rng": torch.get_rng_state(), "epoch": epoch}, str(folder / "state.pt"))
    if confusion is None:  # the last attempt ended between its last checkpoint and here
        accuracy, confusion = evaluate(model, test_images, test_labels)

    hearth.log_table("confusion", [[name] + row.tolist() for name, row in zip(CLASSES, confusion)],
                     columns=["true \\ taken for"] + CLASSES)
    os.makedirs("out", exist_ok=True)
    torch.jit.script(model.eval()).save("out/model.pt")
    print("test accuracy %.2f %%, %.1f s in all" % (100 * accuracy, time.perf_counter() - began))


if __name__ == "__main__":
    main()
