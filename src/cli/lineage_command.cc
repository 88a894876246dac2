// lineage: what a thing came from and what became of it, as a tree each way.
#include <set>

#include "base/format.h"
#include "base/units.h"
#include "cli/connect.h"
#include "domain/lineage.h"

namespace hearth::cli {
namespace {

class Trees {
 public:
  explicit Trees(const Lineage& lineage) : lineage_(lineage) {}

  std::string text() const {
    std::string out = line(lineage_.root, "");
    for (const bool back : {true, false}) {
      std::string below;
      std::set<std::string> path{lineage_.root};
      add(lineage_.root, back, 1, path, below);
      if (!below.empty()) out += (back ? "came from\n" : "became\n") + below;
    }
    if (lineage_.cut) out += "There is more than is shown.\n";
    return out;
  }

 private:
  static constexpr int kMostDepth = 30;

  std::string line(const std::string& key, const std::string& how) const {
    for (const LineageNode& node : lineage_.nodes) {
      if (node.key != key) continue;
      std::string text =
          format("{} {}", node.kind, printable(node.name.empty() ? node.id : node.name));
      if (!node.digest.empty()) text += "  " + node.digest;
      if (!node.state.empty()) text += "  " + node.state;
      if (!how.empty()) text += format("  ({})", how);
      return text + "\n";
    }
    return key + "\n";
  }

  void add(const std::string& key, bool back, int depth, std::set<std::string>& path,
           std::string& out) const {
    if (depth > kMostDepth) return;
    for (const LineageEdge& edge : lineage_.edges) {
      if ((back ? edge.to : edge.from) != key) continue;
      const std::string& next = back ? edge.from : edge.to;
      if (!path.insert(next).second) continue;  // a circle
      out += std::string(static_cast<size_t>(2 * depth), ' ') + line(next, edge.how);
      add(next, back, depth + 1, path, out);
      path.erase(next);
    }
  }

  const Lineage& lineage_;
};

}  // namespace

void add_lineage_command(Tree& tree) {
  auto thing = std::make_shared<std::string>();
  Group top = tree.top();
  top.command("lineage", "What a thing came from, and what became of it")
      .needs(*thing, "THING", "MODEL[@V], DATASET[@V], run, job (or kind:NAME), sha256:...")
      .does([thing, &globals = tree.globals()]() -> Result<int> {
        Server server = TRY(Server::open(globals));
        // The server knows what a bare name means, or asks back where it may mean two things.
        const std::string answer =
            TRY(server.api().get("/api/v1/lineage", server.in_project({{"thing", *thing}})));
        if (globals.json) {
          print_json(answer);
          return kExitOk;
        }
        const auto lineage =
            TRY(from_json<Lineage>(answer, Origin::server, client::Client::kMostAnswerBytes));
        put(Trees(lineage).text());
        return kExitOk;
      });
}

}  // namespace hearth::cli
