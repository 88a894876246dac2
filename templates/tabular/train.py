"""Trains a small neural network on a table: which of two classes a row belongs to, numpy alone.

Under Hearth: `hearth job submit job.yaml --follow`. Outside of it the same script runs wherever the
package `hearth` is on PYTHONPATH: it prints its metrics and writes its files here.
"""

import os

import numpy

import hearth

COLUMNS = 12            # of the table that is made
TEST_PART = 0.2         # of the rows, never trained on
DECAY = (0.9, 0.999)    # of Adam's averages


def make_table(rows, seed):
    """Numbers whose class hangs on products of columns, so that no straight line tells it."""
    draw = numpy.random.default_rng(seed)
    columns = draw.normal(size=(rows, COLUMNS))
    score = (columns[:, 0] * columns[:, 1] + columns[:, 2] ** 2 - 1
             + 0.8 * numpy.sin(2 * columns[:, 3]) + 0.3 * draw.normal(size=rows))
    return columns, (score > 0).astype(float)


def read_table(path):
    """A line of names, then numbers; the class, 0 or 1, in the last column."""
    table = numpy.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    columns, classes = table[:, :-1], table[:, -1]
    if not numpy.isin(classes, (0, 1)).all():
        raise ValueError("the last column of %s holds other numbers than 0 and 1" % path)
    return columns, classes


def split(columns, classes, seed):
    """(training rows, test rows), each (columns, classes)."""
    order = numpy.random.default_rng(seed + 1).permutation(len(classes))
    tests = max(1, int(len(order) * TEST_PART))
    return [(columns[rows], classes[rows]) for rows in (order[tests:], order[:tests])]


class Model:
    """Standardised columns, one hidden layer, the probability of class 1."""

    def __init__(self, columns, hidden, seed):
        draw = numpy.random.default_rng(seed + 2)
        inputs = columns.shape[1]
        self.fixed = {"mean": columns.mean(0), "deviation": columns.std(0) + 1e-9}
        self.weights = {
            "w1": draw.normal(size=(inputs, hidden)) * (2 / inputs) ** 0.5,
            "b1": numpy.zeros(hidden),
            "w2": draw.normal(size=hidden) * (1 / hidden) ** 0.5,
            "b2": numpy.zeros(1),
        }
        self.means = {name: numpy.zeros_like(value) for name, value in self.weights.items()}
        self.squares = {name: numpy.zeros_like(value) for name, value in self.weights.items()}
        self.steps = 0

    def forward(self, columns):
        inputs = (columns - self.fixed["mean"]) / self.fixed["deviation"]
        hidden = numpy.maximum(inputs @ self.weights["w1"] + self.weights["b1"], 0)
        score = hidden @ self.weights["w2"] + self.weights["b2"]
        return inputs, hidden, 1 / (1 + numpy.exp(-numpy.clip(score, -60, 60)))

    def step(self, columns, classes, lr):
        """One step of Adam; returns the probabilities before it."""
        inputs, hidden, chance = self.forward(columns)
        error = (chance - classes) / len(classes)
        back = numpy.outer(error, self.weights["w2"]) * (hidden > 0)
        slopes = {"w1": inputs.T @ back, "b1": back.sum(0),
                  "w2": hidden.T @ error, "b2": error.sum(keepdims=True)}
        self.steps += 1
        first, second = DECAY
        for name, slope in slopes.items():
            self.means[name] = first * self.means[name] + (1 - first) * slope
            self.squares[name] = second * self.squares[name] + (1 - second) * slope ** 2
            mean = self.means[name] / (1 - first ** self.steps)
            square = self.squares[name] / (1 - second ** self.steps)
            self.weights[name] = self.weights[name] - lr * mean / (numpy.sqrt(square) + 1e-8)
        return chance

    def save(self, path, **more):
        numpy.savez(path, **self.fixed, **self.weights, **more)

    def save_all(self, path, epoch):
        """What training goes on from."""
        self.save(path, epoch=epoch, steps=self.steps,
                  **{"mean_" + name: value for name, value in self.means.items()},
                  **{"square_" + name: value for name, value in self.squares.items()})

    def load_all(self, path):
        with numpy.load(path) as state:
            self.fixed = {name: state[name] for name in self.fixed}
            self.weights = {name: state[name] for name in self.weights}
            self.means = {name: state["mean_" + name] for name in self.means}
            self.squares = {name: state["square_" + name] for name in self.squares}
            self.steps = int(state["steps"])
            return int(state["epoch"])


def quality(chance, classes):
    """(cross-entropy, the part that is right)"""
    sure = numpy.clip(chance, 1e-9, 1 - 1e-9)
    loss = -(classes * numpy.log(sure) + (1 - classes) * numpy.log(1 - sure)).mean()
    return loss, ((chance > 0.5) == (classes > 0.5)).mean()


def train_epoch(model, rows, p, epoch):
    columns, classes = rows
    order = numpy.random.default_rng((p.seed, epoch)).permutation(len(classes))
    chances = numpy.empty(len(classes))
    for first in range(0, len(order), p.batch_size):
        chosen = order[first:first + p.batch_size]
        lr = hearth.live("lr", p.lr, step=model.steps)
        chances[chosen] = model.step(columns[chosen], classes[chosen], lr)
    loss, accuracy = quality(chances, classes)
    hearth.log(step=model.steps, loss=float(loss), accuracy=float(accuracy), lr=lr, epoch=epoch + 1)


def main():
    p = hearth.params(table="", rows=20000, hidden=32, epochs=20, batch_size=256, lr=0.01, seed=1)
    columns, classes = read_table(p.table) if p.table else make_table(p.rows, p.seed)
    train, test = split(columns, classes, p.seed)
    print("%d rows of %d columns to train on, %d to test" %
          (len(train[1]), columns.shape[1], len(test[1])), flush=True)

    model = Model(train[0], p.hidden, p.seed)
    begin = 0
    folder = hearth.resume_from()
    if folder is not None:
        begin = model.load_all(str(folder / "state.npz")) + 1
        print("resumed after epoch %d" % begin)
    for epoch in range(begin, p.epochs):
        train_epoch(model, train, p, epoch)
        loss, accuracy = quality(model.forward(test[0])[2], test[1])
        hearth.log(step=model.steps, test_loss=float(loss), test_accuracy=float(accuracy))
        with hearth.checkpoint(step=model.steps) as folder:
            model.save_all(str(folder / "state.npz"), epoch)

    loss, accuracy = quality(model.forward(test[0])[2], test[1])
    os.makedirs("out", exist_ok=True)
    model.save("out/model.npz")
    print("test accuracy %.2f %%, loss %.3f" % (100 * accuracy, loss))


if __name__ == "__main__":
    main()
