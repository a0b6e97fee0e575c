// SPDX-License-Identifier: Apache-2.0
#include "io/forest_json.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "base/failure.hpp"
#include "fabric/facts.hpp"
#include "io/exact_json.hpp"
#include "io/fabric_json.hpp"
#include "io/forest_reader.hpp"
#include "schedule/rotation.hpp"

namespace coppice::io {
namespace {

using schedule::Forest;
using schedule::Schedule;

EntryErrors errorsOf(const std::string& fileName) {
  return {.overflow = "a number of the forest leaves the 64-bit range",
          .overflowFix = "generate the file again",
          .memory = "not enough memory for the forest",
          .where = {.file = fileName}};
}

/// Gathers small pieces before they go to the stream.
class BufferedWriter {
public:
  explicit BufferedWriter(std::ostream& out) : m_out(out) {}
  BufferedWriter& operator<<(std::string_view text) {
    m_buffer += text;
    if (m_buffer.size() > kFlushAt) {
      flush();
    }
    return *this;
  }
  BufferedWriter& operator<<(std::int64_t value) { return *this << std::string_view(std::to_string(value)); }
  void flush() {
    m_out.write(m_buffer.data(), static_cast<std::streamsize>(m_buffer.size()));
    m_buffer.clear();
  }

private:
  static constexpr std::size_t kFlushAt = std::size_t{1} << 16;
  std::ostream& m_out;
  std::string m_buffer;
};

template <typename Values>
void writeNumbers(BufferedWriter& pen, const Values& values) {
  pen << "[";
  bool isFirst = true;
  for (const auto value : values) {
    pen << (isFirst ? "" : ", ") << std::int64_t{value};
    isFirst = false;
  }
  pen << "]";
}

template <typename Quantity>
std::string fraction(const Quantity& value) {
  return "\"" + toFraction(value) + "\"";
}

void writeRotations(BufferedWriter& pen, const std::vector<schedule::Rotation>& rotations) {
  pen << ",\n    \"rotations\": [";
  for (const schedule::Rotation& rotation : rotations) {
    pen << (&rotation == rotations.data() ? "" : ", ");
    writeNumbers(pen, std::array{rotation.step, rotation.count});
  }
  pen << "]";
}

void writeTree(BufferedWriter& pen, const schedule::Tree& tree, std::span<const schedule::TreeEdge> edges) {
  pen << "{\"root\": " << std::int64_t{tree.root} << ", \"multiplicity\": " << tree.multiplicity << ", \"edges\": [";
  bool isFirstEdge = true;
  for (const schedule::TreeEdge& edge : edges) {
    pen << (isFirstEdge ? "[" : ", [") << std::int64_t{edge.parent} << ", " << std::int64_t{edge.child} << ", "
        << std::int64_t{edge.path};
    if (edge.pruned != 0) {
      pen << ", " << std::int64_t{edge.pruned};
    }
    pen << "]";
    isFirstEdge = false;
  }
  pen << "]}";
}

void writeForest(BufferedWriter& pen, const Forest& forest, const Progress& progress) {
  pen << "{\n    \"trees_of_root\": ";
  writeNumbers(pen, forest.treesOfRoot);
  pen << ",\n    \"scale\": " << fraction(forest.scale);
  if (!forest.rotations.empty()) {
    writeRotations(pen, forest.rotations);
  }
  pen << ",\n    \"paths\": [";
  for (schedule::PathId id = 0; id < forest.paths.size(); ++id) {
    pen << (id == 0 ? "\n      " : ",\n      ");
    writeNumbers(pen, forest.paths[id]);
  }
  pen << (forest.paths.size() == 0 ? "]" : "\n    ]") << ",\n    \"trees\": [";
  for (std::size_t i = 0; i < forest.trees.size(); ++i) {
    if ((i & 0xff) == 0) {
      throwIfCancelled(progress);
      progress.report("writing", static_cast<double>(i) / static_cast<double>(forest.trees.size()));
    }
    pen << (i == 0 ? "\n      " : ",\n      ");
    writeTree(pen, forest.trees[i], forest.edgesOf(forest.trees[i]));
  }
  pen << (forest.trees.empty() ? "]" : "\n    ]") << "\n  }";
}

bool isWritable(const Forest& forest, const fabric::Fabric& fabric) {
  return forest.gpuCount >= 1 && !schedule::rotationFault(forest, fabric.nodeCount()) &&
         std::all_of(forest.trees.begin(), forest.trees.end(), [&](const schedule::Tree& tree) {
           return tree.firstEdge >= 0 && static_cast<std::size_t>(tree.firstEdge) <= forest.edges.size() &&
                  forest.edges.size() - static_cast<std::size_t>(tree.firstEdge) >=
                      static_cast<std::size_t>(forest.gpuCount - 1);
         });
}

}  // namespace

Outcome writeForestJson(std::ostream& out, const Schedule& schedule, const fabric::Fabric& fabric,
                        const fabric::Description* description, const Progress& progress, const Origin& origin) {
  return guarded(
      [&]() -> Outcome {
        for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
          if (*forest && !isWritable(**forest, fabric)) {
            return Error{ErrorCode::internal, "a tree's edges lie outside its forest, or its rotations do not fit"};
          }
        }
        if (description != nullptr) {
          const auto described = fabric::Fabric::build(*description);
          if (!described || described->digest() != fabric.digest()) {
            return Error{ErrorCode::badUsage, "the description to embed is not that of the schedule's fabric"};
          }
        }
        BufferedWriter pen(out);
        pen << "{\n  \"format\": \"" << kForestFormat << "\",\n  \"version\": " << kForestVersion
            << ",\n  \"collective\": " << jsonQuoted(toString(schedule.collective))
            << ",\n  \"fabric_name\": " << jsonQuoted(schedule.fabricName)
            << ",\n  \"digest\": " << jsonQuoted(schedule.fabricDigest) << ",\n";
        if (schedule.root) {
          pen << "  \"root\": " << std::int64_t{*schedule.root} << ",\n";
        }
        if (!schedule.amounts.empty()) {
          pen << "  \"amounts\": ";
          writeNumbers(pen, schedule.amounts);
          pen << ",\n";
        }
        if (!origin.method.empty()) {
          pen << "  \"" << kOriginKey << "\": " << originJson(origin) << ",\n";
        }
        pen << "  \"algbw\": " << fraction(schedule.algbw) << ",\n  \"bound\": " << fraction(schedule.bound) << ",\n";
        if (schedule.fixedK) {
          pen << "  \"fixed_k\": " << *schedule.fixedK << ",\n";
        }
        if (schedule.overlapped) {
          pen << "  \"overlapped\": true,\n";
        }
        if (schedule.ownCopies) {
          pen << "  \"own_copies\": true,\n";
        }
        if (schedule.allreduceBound) {
          pen << "  \"allreduce_bound\": " << fraction(*schedule.allreduceBound) << ",\n";
        }
        pen << "  \"nodes\": [";
        for (const fabric::Node& node : fabric.nodes()) {
          pen << (&node == fabric.nodes().data() ? "" : ", ") << jsonQuoted(node.id);
        }
        pen << "],\n  \"gpus\": ";
        writeNumbers(pen, fabric.gpus());
        pen << ",\n  \"bottlenecks\": [";
        for (const schedule::Cut& cut : schedule.bottlenecks) {
          pen << (&cut == schedule.bottlenecks.data() ? "\n    {\"nodes\": " : ",\n    {\"nodes\": ");
          writeNumbers(pen, cut.nodes);
          pen << ", \"demand\": " << cut.demand << ", \"exit_bandwidth\": " << fraction(cut.exitBandwidth) << "}";
        }
        pen << (schedule.bottlenecks.empty() ? "],\n" : "\n  ],\n");
        if (schedule.reduceForest) {
          pen << "  \"reduce_forest\": ";
          writeForest(pen, *schedule.reduceForest, progress);
          pen << ",\n";
        }
        if (schedule.broadcastForest) {
          pen << "  \"broadcast_forest\": ";
          writeForest(pen, *schedule.broadcastForest, progress);
          pen << ",\n";
        }
        std::string embedded = writeFabricJson(description != nullptr ? *description : fabric::describeFacts(fabric));
        embedded.erase(embedded.find_last_not_of('\n') + 1);
        pen << "  \"fabric\": " << embedded << "\n}\n";
        pen.flush();
        out.flush();
        if (!out) {
          return Error{ErrorCode::io, "the forest could not be written", "check the free space and the permissions"};
        }
        return Done{};
      },
      errorsOf({}));
}

Result<Schedule> readForestJson(std::string_view text, const fabric::Fabric& fabric, const std::string& fileName) {
  return guarded(
      [&]() -> Result<Schedule> {
        ForestReader reader(text, fileName);
        reader.read();
        return reader.scheduleOf(fabric);
      },
      errorsOf(fileName));
}

Result<LoadedForest> loadForest(std::string_view text, const std::string& fileName) {
  return guarded(
      [&]() -> Result<LoadedForest> {
        ForestReader reader(text, fileName);
        reader.read();
        const JsonSlice& embedded = reader.fabric();
        auto description = readFabricJson(text.substr(embedded.begin, embedded.end - embedded.begin), fileName);
        if (!description) {
          Error error = description.error();
          if (error.where.line > 0) {
            const std::string_view before = text.substr(0, embedded.begin);
            const std::size_t newline = before.rfind('\n');
            if (error.where.line == 1) {
              error.where.column +=
                  static_cast<int>(newline == std::string_view::npos ? before.size() : before.size() - newline - 1);
            }
            error.where.line += static_cast<int>(std::count(before.begin(), before.end(), '\n'));
          }
          const ElementPart* const inner = error.where.element.as(RefKind::field);
          error.where.element = {RefKind::field, inner == nullptr ? "fabric" : "fabric." + inner->name};
          return error;
        }
        auto fabric = fabric::Fabric::build(*description);
        if (!fabric) {
          Error error = fabric.error();
          error.where.file = fileName;
          return error;
        }
        Schedule schedule = reader.scheduleOf(*fabric);
        return LoadedForest{std::move(*description), std::move(*fabric), std::move(schedule), reader.origin()};
      },
      errorsOf(fileName));
}

}  // namespace coppice::io
