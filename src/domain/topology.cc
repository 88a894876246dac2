#include "domain/topology.h"

#include <set>

#include "base/format.h"
#include "base/units.h"
#include "domain/tree_builder.h"

namespace hearth {
namespace {

constexpr std::string_view kName = "[a-z0-9][a-z0-9._-]{0,62}";
constexpr std::string_view kNameWords =
    "a name of a-z, 0-9, '.', '_', '-', at most 63 characters, the first a letter or digit";
constexpr double kMostNodes = 1024;
constexpr double kMostGpus = 64;      // of a node
constexpr double kMostNuma = 64;      // of a node
constexpr double kFastest = 100'000;  // GB/s

// Rules between fields; each mistake stands where its value stands.
class Rules {
 public:
  Rules(const Node& root, const TopologyFile& file, std::vector<FieldError>& errors)
      : root_(root), file_(file), errors_(errors) {}

  void check() {
    if (file_.hearth > 1)
      mistake("hearth", root_.find("hearth"), format("version {} of the format", file_.hearth),
              "version 1", "write hearth: 1, or run this file with a newer hearth");
    for (size_t i = 0; i < file_.nodes.size(); ++i) node(i);
  }

 private:
  const Node* at(const Node* node, std::string_view field) const {
    return node != nullptr ? node->find(field) : nullptr;
  }
  const Node* item(const Node* list, size_t i) const {
    return list != nullptr && i < list->items.size() ? &list->items[i] : nullptr;
  }
  void mistake(std::string path, const Node* node, std::string found, std::string allowed,
               std::string mend) {
    for (const FieldError& error : errors_)
      if (error.path == path) return;
    if (errors_.size() >= kMostErrors) return;
    errors_.push_back({std::move(path), node != nullptr && node->line > 0 ? node->line : root_.line,
                       std::move(found), std::move(allowed), std::move(mend)});
  }

  void node(size_t i) {
    const LentNode& lent = file_.nodes[i];
    const Node* tree = item(root_.find("nodes"), i);
    const std::string path = format("nodes[{}]", i);
    // Over all pools: a task's node is told by its name alone.
    if (!lent.name.empty() && !names_.insert(lent.name).second)
      mistake(path + ".name", at(tree, "name"), format("'{}' a second time", lent.name),
              "each node's name once in the file", "choose another name");
    std::set<std::string_view> cells;
    int64_t memory = 0;
    double cpus = 0;
    for (size_t k = 0; k < lent.numa.size(); ++k) {
      const Node* cell = item(at(tree, "numa"), k);
      memory += lent.numa[k].memory.bytes;
      cpus += lent.numa[k].cpus;
      if (!cells.insert(lent.numa[k].name).second)
        mistake(format("{}.numa[{}].name", path, k), at(cell, "name"),
                format("'{}' a second time", lent.numa[k].name), "each cell once in its node",
                "choose another name");
    }
    // What is wrong or misspelt stands at 0 and has been told of.
    if ((lent.memory.bytes > 0 && memory > lent.memory.bytes) ||
        (lent.cpus > 0 && cpus > lent.cpus))
      mistake(
          path + ".numa", at(tree, "numa"),
          format("{} CPUs and {} in all cells", cpus, format_size(memory)),
          format("at most the node's {} CPUs and {}", lent.cpus, format_size(lent.memory.bytes)),
          "give the node more, or its cells less");
    for (size_t k = 0; k < lent.gpus.size(); ++k)
      gpu(lent.gpus[k], item(at(tree, "gpus"), k), format("{}.gpus[{}]", path, k), cells);
    bandwidth(lent, at(tree, "gpu_bandwidth"), path + ".gpu_bandwidth");
  }

  void gpu(const LentGpu& lent, const Node* tree, const std::string& path,
           const std::set<std::string_view>& cells) {
    if (!lent.uuid.empty() && !uuids_.insert(lent.uuid).second)
      mistake(path + ".uuid", at(tree, "uuid"), format("'{}' a second time", lent.uuid),
              "each GPU's UUID once in the file", "choose another one");
    if (!lent.numa.empty() && !cells.contains(lent.numa))
      mistake(path + ".numa", at(tree, "numa"), format("'{}', no cell of this node", lent.numa),
              cells.empty() ? "a name out of the node's numa, which it has not"
                            : format("one of {}", join(cells, ", ")),
              "add it to the node's numa, or leave it out");
  }

  void bandwidth(const LentNode& lent, const Node* tree, const std::string& path) {
    const auto& rows = lent.gpu_bandwidth;
    if (rows.empty()) return;
    const size_t wanted = lent.gpus.size();
    const std::string allowed = format("{0} rows of {0} numbers, one for each GPU", wanted);
    if (rows.size() != wanted)
      return mistake(path, tree, format("{} rows", rows.size()), allowed,
                     "write the whole matrix, or leave it out where nothing was measured");
    for (size_t i = 0; i < wanted; ++i) {
      const std::string row = format("{}[{}]", path, i);
      if (rows[i].size() != wanted)
        return mistake(row, item(tree, i), format("{} numbers", rows[i].size()), allowed,
                       "write the whole row");
      for (size_t k = 0; k < wanted; ++k) {
        const Node* cell = item(item(tree, i), k);
        if (!(rows[i][k] >= 0 && rows[i][k] <= kFastest))
          return mistake(format("{}[{}]", row, k), cell, format("{}", rows[i][k]),
                         format("GB/s from 0 to {}; 0 where nothing was measured", kFastest),
                         "write what was measured");
        if (k < i && rows[k].size() == wanted && rows[i][k] != rows[k][i])
          return mistake(format("{}[{}]", row, k), cell,
                         format("{}, and {} the other way", rows[i][k], rows[k][i]),
                         "the same both ways", "write the lower of the two in both places");
      }
    }
  }

  const Node& root_;
  const TopologyFile& file_;
  std::vector<FieldError>& errors_;
  std::set<std::string_view> names_, uuids_;
};

}  // namespace

void Describe<LentGpu>::fields(Fields<LentGpu>& f) {
  f("uuid", &LentGpu::uuid, "its name in CUDA_VISIBLE_DEVICES; no other GPU of the file has it")
      .required()
      .matches("[A-Za-z0-9][A-Za-z0-9._-]{0,127}", "a UUID such as GPU-lent-0")
      .example("GPU-lent-0");
  f("model", &LentGpu::model, "what jobs ask for by gpu_model")
      .required()
      .matches("[A-Za-z0-9][A-Za-z0-9 ._/-]{0,127}", "a GPU's name")
      .example("H100");
  f("memory", &LentGpu::memory, "its memory")
      .required()
      .min(1 << 20)
      .max(0x1.0p50)
      .example("80GiB");
  f("numa", &LentGpu::numa, "cell of the node that it hangs on").max(63).example("numa0");
  f("link", &LentGpu::link,
    "switch or NVLink clique: GPUs of the node with the same word lie in the same one")
      .max(63)
      .example("nvlink0");
}

void Describe<LentNuma>::fields(Fields<LentNuma>& f) {
  f("name", &LentNuma::name, "as the GPUs name it").required().matches(kName, kNameWords);
  f("cpus", &LentNuma::cpus, "its cores").min(0).max(4096).example("8");
  f("memory", &LentNuma::memory, "its memory").min(0).max(0x1.0p50).example("32GiB");
}

void Describe<LentNode>::fields(Fields<LentNode>& f) {
  f("name", &LentNode::name, "of the node; no other of the file has it")
      .required()
      .matches(kName, kNameWords)
      .example("node-0");
  f("pool", &LentNode::pool, "the pool it belongs to").matches(kName, kNameWords).example("train");
  f("rack", &LentNode::rack, "cell above the node").max(63).example("rack-a");
  f("spine", &LentNode::spine, "cell above the rack").max(63).example("spine-0");
  f("cpus", &LentNode::cpus, "cores for tasks").required().min(0.01).max(4096).example("16");
  f("memory", &LentNode::memory, "memory for tasks")
      .required()
      .min(4 << 20)
      .max(0x1.0p50)
      .example("64GiB");
  f("numa", &LentNode::numa, "its NUMA nodes").max(kMostNuma);
  f("gpus", &LentNode::gpus, "its GPUs").max(kMostGpus);
  f("gpu_bandwidth", &LentNode::gpu_bandwidth,
    "GB/s between each two GPUs as measured, a row for each GPU; 0: not measured")
      .max(kMostGpus)
      .example("[[0, 300], [300, 0]]");
  f("network_bandwidth", &LentNode::network_bandwidth, "GB/s to its rack; 0: not measured")
      .min(0)
      .max(kFastest)
      .example("25");
  f("labels", &LentNode::labels, "for people and constraints").max(64);
}

void Describe<TopologyFile>::fields(Fields<TopologyFile>& f) {
  f("hearth", &TopologyFile::hearth, "version of the format").required().min(1).example("1");
  f("nodes", &TopologyFile::nodes, "the machines").required().min(1).max(kMostNodes);
}

Result<TopologyFile> parse_topology(std::string_view text) {
  const Node root = TRY(parse_yaml(text));
  TopologyFile file;
  Result<void> decoded = decode(root, type_of<TopologyFile>(), &file, Origin::client);
  if (root.kind != Node::Kind::map) return std::move(decoded).error();
  std::vector<FieldError> errors;
  if (!decoded.ok()) errors = std::move(decoded.error().errors);
  Rules(root, file, errors).check();
  if (errors.empty()) return file;
  return mistakes_error(std::move(errors));
}

std::vector<NodeInfo> nodes_of(const TopologyFile& file) {
  std::vector<NodeInfo> nodes;
  for (const LentNode& lent : file.nodes) {
    NodeInfo& node = nodes.emplace_back();
    node.name = lent.name;
    node.pool = lent.pool;
    node.rack = lent.rack;
    node.spine = lent.spine;
    node.cpus = lent.cpus;
    node.memory_bytes = lent.memory.bytes;
    node.gpu_bandwidth = lent.gpu_bandwidth;
    node.network_bandwidth = lent.network_bandwidth;
    node.labels = lent.labels;
    node.lent = true;
    for (const LentNuma& cell : lent.numa)
      node.numa.push_back({cell.name, cell.cpus, cell.memory.bytes});
    for (const LentGpu& gpu : lent.gpus)
      node.gpus.push_back({.uuid = gpu.uuid,
                           .model = gpu.model,
                           .index = static_cast<int64_t>(node.gpus.size()),
                           .memory_bytes = gpu.memory.bytes,
                           .numa = gpu.numa,
                           .link = gpu.link});
  }
  return nodes;
}

std::string lent_words(const std::vector<NodeInfo>& nodes) {
  size_t count = 0, gpus = 0;
  for (const NodeInfo& node : nodes) {
    count += node.lent ? 1 : 0;
    gpus += node.lent ? node.gpus.size() : 0;
  }
  if (count == 0) return "";
  return format("{} with {} lent by a topology file: they are not real", plural(count, "node"),
                plural(gpus, "GPU"));
}

}  // namespace hearth
