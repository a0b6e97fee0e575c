// SPDX-License-Identifier: Apache-2.0
#include "io/forest_json.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "fabric/facts.hpp"
#include "io/exact_json.hpp"
#include "io/fabric_json.hpp"
#include "io/forest/content.hpp"
#include "io/forest/matcher.hpp"
#include "io/forest/reader.hpp"
#include "io/json_text.hpp"
#include "schedule/expansion.hpp"
#include "schedule/rotation.hpp"

namespace coppice::io {
namespace {

using fabric::NodeIndex;
using schedule::FactoredForest;
using schedule::Forest;
using schedule::PathPool;
using schedule::Schedule;

using forest::guardedFile;
using forest::kSharedParts;
using forest::placed;
using forest::Raw;
using forest::refuse;

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

void writePaths(BufferedWriter& pen, const PathPool& paths) {
  pen << ",\n    \"paths\": [";
  for (schedule::PathId id = 0; id < paths.size(); ++id) {
    pen << (id == 0 ? "\n      " : ",\n      ");
    writeNumbers(pen, paths[id]);
  }
  pen << (paths.size() == 0 ? "]" : "\n    ]");
}

void writeTree(BufferedWriter& pen, bool isFirst, fabric::Rank root, std::int64_t multiplicity,
               std::span<const schedule::TreeEdge> edges) {
  pen << (isFirst ? "\n      " : ",\n      ") << "{\"root\": " << std::int64_t{root}
      << ", \"multiplicity\": " << multiplicity << ", \"edges\": [";
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

void writeTrees(BufferedWriter& pen, const Forest& forest) {
  writePaths(pen, forest.paths);
  pen << ",\n    \"trees\": [";
  for (const schedule::Tree& tree : forest.trees) {
    writeTree(pen, &tree == forest.trees.data(), tree.root, tree.multiplicity, forest.edgesOf(tree));
  }
  pen << (forest.trees.empty() ? "]" : "\n    ]");
}

/// Twice over the trees: their routes come first in the file.
void writeExpandedTrees(BufferedWriter& pen, const Forest& forest, const fabric::Fabric& fabric,
                        const Progress& progress) {
  schedule::WrittenTrees trees(forest, fabric.gpus());
  const auto forAll = [&](double from, const auto& visit) {
    for (std::int64_t tree = 0; tree < trees.size(); ++tree) {
      throwIfCancelled(progress);
      if ((tree & 0xff) == 0) {
        progress.report("writing", from + 0.5 * static_cast<double>(tree) / static_cast<double>(trees.size()));
      }
      visit(tree);
    }
  };
  forAll(0, [&](std::int64_t tree) { trees.read(tree); });
  writePaths(pen, trees.paths());
  pen << ",\n    \"trees\": [";
  forAll(0.5, [&](std::int64_t tree) {
    const auto head = trees.head(tree);
    writeTree(pen, tree == 0, head.root, head.multiplicity, trees.read(tree));
  });
  pen << (trees.size() == 0 ? "]" : "\n    ]");
}

/// [write(first), ...]; `write` gets every value.
template <typename Values, typename Write>
void writeList(BufferedWriter& pen, const Values& values, std::string_view separator, const Write& write) {
  pen << "[";
  bool isFirst = true;
  for (const auto& value : values) {
    pen << (isFirst ? (separator == ", " ? "" : separator.substr(1)) : separator);
    isFirst = false;
    write(value);
  }
  pen << "]";
}

void writePorts(BufferedWriter& pen, const std::vector<FactoredForest::Port>& ports) {
  writeList(pen, ports, ", ", [&](const FactoredForest::Port& port) {
    writeNumbers(pen, std::array<std::int64_t, 2>{port.leaf, port.via});
  });
}

void writeShape(BufferedWriter& pen, const FactoredForest::Shape& shape) {
  constexpr std::string_view kLine = ",\n          ";
  pen << "{\"nodes\": ";
  writeNumbers(pen, shape.childShape);
  pen << ",\n         \"switches\": " << std::int64_t{shape.switchCount} << ",\n         \"vias\": [";
  for (std::size_t via = 0; via + 1 < shape.viaStart.size(); ++via) {
    pen << (via == 0 ? "" : ", ");
    writeNumbers(pen, std::span(shape.viaSwitches)
                          .subspan(static_cast<std::size_t>(shape.viaStart[via]),
                                   static_cast<std::size_t>(shape.viaStart[via + 1] - shape.viaStart[via])));
  }
  pen << "],\n         \"out_ports\": ";
  writePorts(pen, shape.outPorts);
  pen << ",\n         \"in_ports\": ";
  writePorts(pen, shape.inPorts);
  pen << ",\n         \"skeletons\": ";
  writeList(pen, shape.skeletons, kLine, [&](const FactoredForest::Skeleton& skeleton) {
    pen << "{\"root\": " << std::int64_t{skeleton.root} << ", \"arcs\": ";
    writeList(pen,
              std::span(shape.arcs).subspan(static_cast<std::size_t>(skeleton.firstArc), shape.childShape.size() - 1),
              ", ", [&](const FactoredForest::Arc& arc) {
                writeNumbers(pen, std::array<std::int64_t, 2>{arc.tail, arc.head});
              });
    pen << "}";
  });
  pen << ",\n         \"patterns\": ";
  writeList(pen, shape.patterns, kLine, [&](const FactoredForest::Pattern& pattern) {
    writeList(
        pen,
        std::span(shape.choices)
            .subspan(static_cast<std::size_t>(pattern.firstChoice), static_cast<std::size_t>(pattern.choiceCount)),
        ", ", [&](const FactoredForest::Choice& choice) {
          writeNumbers(pen, std::array<std::int64_t, 5>{choice.count, choice.via, choice.tailPort, choice.headPort,
                                                        choice.innerTree});
        });
  });
  pen << ",\n         \"trees\": ";
  writeList(pen, shape.trees, ", ", [&](const FactoredForest::PartTree& tree) {
    writeNumbers(pen, std::array<std::int64_t, 4>{tree.skeleton, tree.pattern, tree.rootLeaf, tree.multiplicity});
  });
  pen << "}";
}

void writeParts(BufferedWriter& pen, const FactoredForest& parts) {
  constexpr std::string_view kLine = ",\n        ";
  pen << ",\n    \"parts\": {\n      \"shapes\": ";
  writeList(pen, parts.shapes, kLine, [&](const FactoredForest::Shape& shape) { writeShape(pen, shape); });
  pen << ",\n      \"instances\": ";
  // Where rotations take the nodes follows from the fabric, so that they are not instances in the file.
  const auto end = std::find_if(parts.instances.begin(), parts.instances.end(), schedule::isRotation);
  writeList(pen, std::span(parts.instances.begin(), end), kLine, [&](const FactoredForest::Instance& instance) {
    pen << "{\"shape\": " << std::int64_t{instance.shape} << ", \"nodes\": ";
    writeNumbers(pen, instance.children);
    pen << ", \"switches\": ";
    writeNumbers(pen, instance.switches);
    pen << "}";
  });
  pen << ",\n      \"top\": " << std::int64_t{parts.top};
  if (schedule::isRotated(parts)) {
    pen << ",\n      \"rotations\": ";
    writeList(pen, schedule::rotationsIn(parts), ", ", [&](const schedule::Rotation& rotation) {
      writeNumbers(pen, std::array<std::int64_t, 2>{rotation.step, rotation.count});
    });
  }
  pen << "\n    }";
}
/// What a schedule's forests look like in the file.
struct ForestWriter {
  BufferedWriter& pen;
  const fabric::Fabric& fabric;
  bool writesTrees = false;  ///< of factored forests too
  const Progress& progress;

  void write(const Forest& forest, const FactoredForest* before) const {
    pen << "{\n    \"trees_of_root\": ";
    writeNumbers(pen, forest.treesOfRoot);
    pen << ",\n    \"scale\": " << fraction(forest.scale);
    if (!forest.factored) {
      writeTrees(pen, forest);
    } else if (writesTrees) {
      writeExpandedTrees(pen, forest, fabric, progress);
    } else if (before != nullptr && (before == forest.factored.get() || *before == *forest.factored)) {
      pen << ",\n    \"parts\": " << jsonQuoted(kSharedParts);
    } else {
      writeParts(pen, *forest.factored);
    }
    pen << "\n  }";
  }
};

bool isWritable(const Forest& forest, const fabric::Fabric& fabric, const Progress& progress) {
  if (forest.factored) {
    return forest.trees.empty() && forest.edges.empty() && forest.paths.size() == 0 &&
           forest.gpuCount == fabric.gpuCount() &&
           checkStructure(*forest.factored, fabric.gpuCount(), fabric.nodeCount(), progress).empty();
  }
  return forest.gpuCount >= 1 && std::all_of(forest.trees.begin(), forest.trees.end(), [&](const schedule::Tree& tree) {
           return tree.firstEdge >= 0 && static_cast<std::size_t>(tree.firstEdge) <= forest.edges.size() &&
                  forest.edges.size() - static_cast<std::size_t>(tree.firstEdge) >=
                      static_cast<std::size_t>(forest.gpuCount - 1);
         });
}

}  // namespace

Outcome writeForestJson(std::ostream& out, const Schedule& schedule, const fabric::Fabric& fabric,
                        const fabric::Description* description, schedule::ForestForm form, const Progress& progress) {
  return guardedFile({}, [&]() -> Outcome {
    bool hasParts = false;
    bool isRotated = false;
    for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
      if (*forest && !isWritable(**forest, fabric, progress)) {
        return Error{ErrorCode::internal, (*forest)->factored ? "the parts of a forest do not fit together"
                                                              : "a tree's edges lie outside its forest"};
      }
      if (*forest && !(*forest)->factored && form == schedule::ForestForm::parts) {
        return Error{ErrorCode::badUsage, "the trees are written out, so they cannot be saved by their parts",
                     "generate them with --form parts"};
      }
      hasParts = hasParts || (*forest && (*forest)->factored && form != schedule::ForestForm::trees);
      isRotated =
          isRotated || (hasParts && *forest && (*forest)->factored && schedule::isRotated(*(*forest)->factored));
    }
    if (description != nullptr) {
      const auto described = fabric::Fabric::build(*description);
      if (!described || described->digest() != fabric.digest()) {
        return Error{ErrorCode::badUsage, "the description to embed is not that of the schedule's fabric"};
      }
    }
    BufferedWriter pen(out);
    pen << "{\n  \"format\": \"" << forest::kFormat << "\",\n  \"version\": "
        << (isRotated  ? forest::kRotatedVersion
            : hasParts ? forest::kPartsVersion
                       : forest::kVersion)
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
    pen << "  \"algbw\": " << fraction(schedule.algbw) << ",\n  \"bound\": " << fraction(schedule.bound) << ",\n";
    if (schedule.fixedK) {
      pen << "  \"fixed_k\": " << *schedule.fixedK << ",\n";
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
    const ForestWriter writer{pen, fabric, form == schedule::ForestForm::trees, progress};
    if (schedule.reduceForest) {
      pen << "  \"reduce_forest\": ";
      writer.write(*schedule.reduceForest, nullptr);
      pen << ",\n";
    }
    if (schedule.broadcastForest) {
      pen << "  \"broadcast_forest\": ";
      writer.write(*schedule.broadcastForest, schedule.reduceForest ? schedule.reduceForest->factored.get() : nullptr);
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
  });
}

Result<Schedule> readForestJson(std::string_view text, const fabric::Fabric& fabric, const std::string& fileName) {
  return guardedFile(fileName, [&]() -> Result<Schedule> {
    Raw raw = forest::readContent(text);
    return forest::match(raw, fabric);
  });
}

Result<LoadedForest> loadForest(std::string_view text, const std::string& fileName) {
  return guardedFile(fileName, [&]() -> Result<LoadedForest> {
    Raw raw = forest::readContent(text);
    if (raw.fabricStart == raw.fabricEnd) {
      refuse("the key \"fabric\" is missing", ElementRef());
    }
    auto description = readFabricJson(text.substr(raw.fabricStart, raw.fabricEnd - raw.fabricStart));
    if (!description) {
      Error error = description.error();
      if (error.where.line > 0) {
        const std::string_view before = text.substr(0, raw.fabricStart);
        const std::size_t newline = before.rfind('\n');
        if (error.where.line == 1) {
          error.where.column +=
              static_cast<int>(newline == std::string_view::npos ? before.size() : before.size() - newline - 1);
        }
        error.where.line += static_cast<int>(std::count(before.begin(), before.end(), '\n'));
      }
      const ElementPart* const inner = error.where.element.as(RefKind::field);
      error.where.element = {RefKind::field, inner == nullptr ? "fabric" : "fabric." + inner->name};
      return placed(std::move(error), fileName);
    }
    auto fabric = fabric::Fabric::build(*description);
    if (!fabric) {
      return placed(fabric.error(), fileName);
    }
    Schedule schedule = forest::match(raw, *fabric);
    return LoadedForest{std::move(*description), std::move(*fabric), std::move(schedule)};
  });
}

}  // namespace coppice::io
