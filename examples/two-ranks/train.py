"""Data-parallel training of a small network on Fashion-MNIST: each rank takes its part of every
batch, and the gradients are averaged by gloo.

`launch: torchrun` in job.yaml sets what torch reads by env:// (MASTER_ADDR, MASTER_PORT, RANK,
WORLD_SIZE), so this runs as it stands, under torch's own launcher as well, and alone.
"""

import gzip
import os
import pathlib

import numpy
import torch
import torch.distributed as dist
from torch import nn

import hearth

DEBIAN = "/usr/share/datasets/fashion-mnist"
LOG_EVERY = 5  # steps


def read_idx(path):
    """The array in a gzipped IDX file of bytes; its header is big-endian: 0 0 type rank, sizes."""
    with gzip.open(str(path), "rb") as file:
        data = file.read()
    shape = numpy.frombuffer(data, ">u4", data[3], 4)
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * data[3]).reshape(shape)


def load(folder, part, count):
    """Images as rows of floats from 0 to 1, and labels."""
    images = read_idx(folder / ("%s-images-idx3-ubyte.gz" % part))[:count]
    labels = read_idx(folder / ("%s-labels-idx1-ubyte.gz" % part))[:count]
    rows = images.reshape(len(images), -1).astype(numpy.float32) / 255
    return torch.from_numpy(rows), torch.from_numpy(labels.astype(numpy.int64))


def make_model():
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def average(model):
    """The mean of all ranks' gradients in place of each one's own: one message a step."""
    gradients = [parameter.grad for parameter in model.parameters()]
    flat = torch.cat([gradient.view(-1) for gradient in gradients])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for gradient, mean in zip(gradients, flat.split([g.numel() for g in gradients])):
        gradient.copy_(mean.view_as(gradient))


def mean_of(value):
    """Of all ranks."""
    total = value.detach().clone()
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()


def main():
    p = hearth.params(epochs=2, batch_size=128, lr=0.1, seed=1, train_images=12000)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    if p.batch_size % world:
        raise SystemExit("batch_size %d does not part into %d ranks" % (p.batch_size, world))
    print("rank %d of %d: GPUs '%s'" % (rank, world, os.environ.get("CUDA_VISIBLE_DEVICES", "")),
          flush=True)

    data = pathlib.Path("data" if os.path.isdir("data") else DEBIAN)
    images, labels = load(data, "train", p.train_images)
    test_images, test_labels = load(data, "t10k", None)
    torch.manual_seed(p.seed)  # the same weights and the same order everywhere
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), p.lr, momentum=0.9)
    per_epoch = len(images) // p.batch_size
    step = 0
    folder = hearth.resume_from()
    if folder is not None:
        state = torch.load(str(folder / "state.pt"))
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
        print("rank %d goes on after step %d" % (rank, step), flush=True)

    while step < p.epochs * per_epoch:
        epoch, i = divmod(step, per_epoch)
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(
            p.seed + epoch))
        for chosen in order[:per_epoch * p.batch_size].split(p.batch_size)[i:]:
            mine = chosen[rank::world]
            for group in optimizer.param_groups:
                group["lr"] = hearth.live("lr", p.lr, step=step)
            loss = nn.functional.cross_entropy(model(images[mine]), labels[mine])
            optimizer.zero_grad()
            loss.backward()
            average(model)
            optimizer.step()
            step += 1
            if step % LOG_EVERY == 0:
                mean = mean_of(loss)
                if rank == 0:
                    hearth.log(step=step, loss=mean, lr=optimizer.param_groups[0]["lr"])
        if rank == 0:
            with hearth.checkpoint(step=step) as folder:
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                            "step": step}, str(folder / "state.pt"))
    if rank == 0:
        with torch.no_grad():
            right = (model(test_images).argmax(1) == test_labels).float().mean().item()
        hearth.log(step=step, test_accuracy=right)
        print("%.2f %% of the test images right" % (100 * right), flush=True)
    dist.barrier()  # nobody leaves while another still talks
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
