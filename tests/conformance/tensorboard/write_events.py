"""A job's script: writes event files with TensorBoard's own writer, in the forms that torch,
TensorFlow and Keras use. Argument: the folder."""
import os
import struct
import sys
import zlib

from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, types_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util import tensor_util


def png(width, height):
    """A grey image."""
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    rows = b"".join(b"\0" + bytes(range(width)) for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write(writer, step, wall_time, value):
    event = event_pb2.Event(wall_time=wall_time, step=step)
    event.summary.value.append(value)
    writer.add_event(event)


def named(tag, plugin, **fields):
    value = summary_pb2.Summary.Value(tag=tag, **fields)
    if plugin:
        value.metadata.plugin_data.plugin_name = plugin
    return value


def torch_style(folder):
    """torch.utils.tensorboard.SummaryWriter: add_scalar, add_histogram, add_image, add_text."""
    writer = EventFileWriter(folder)
    for step in range(50):
        write(writer, step, 1000.5 + step, named("loss", "", simple_value=1.0 / (step + 1)))
    write(writer, 7, 1100, named("accuracy", "scalars", tensor=tensor_pb2.TensorProto(
        dtype=types_pb2.DT_FLOAT, float_val=[0.75])))
    write(writer, 3, 1101, named("weights", "", histo=summary_pb2.HistogramProto(
        min=-1, max=2, num=6, sum=4.5, sum_squares=5, bucket_limit=[0, 2], bucket=[1, 5])))
    write(writer, 4, 1102, named("samples", "", image=summary_pb2.Summary.Image(
        height=4, width=8, colorspace=1, encoded_image_string=png(8, 4))))
    write(writer, 5, 1103, named("notes/text_summary", "text", tensor=tensor_pb2.TensorProto(
        dtype=types_pb2.DT_STRING, string_val=[b"a *note*"],
        tensor_shape={"dim": [{"size": 1}]})))
    writer.close()


def keras_style(folder):
    """keras.callbacks.TensorBoard: two parts with the same tags, tensors, the plugin named once."""
    for part, base in (("train", 0.5), ("validation", 0.25)):
        writer = EventFileWriter(os.path.join(folder, part))
        for step in range(3):
            write(writer, step, 2000 + step, named(
                "epoch_loss", "scalars" if step == 0 else "",
                tensor=tensor_util.make_tensor_proto(base + step)))
        write(writer, 1, 2010, named("hist", "histograms", tensor=tensor_util.make_tensor_proto(
            [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]])))
        writer.close()


if __name__ == "__main__":
    torch_style(os.path.join(sys.argv[1], "torch"))
    keras_style(os.path.join(sys.argv[1], "keras"))
    print("written", flush=True)
