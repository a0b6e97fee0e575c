// SPDX-License-Identifier: Apache-2.0
#include "io/forest_json.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "fabric/facts.hpp"
#include "io/exact_json.hpp"
#include "io/execution_plan.hpp"
#include "io/fabric_json.hpp"
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

constexpr std::string_view kFormat = "coppice-forest";
constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kPartsVersion = 2;    ///< of files with parts
constexpr std::int64_t kRotatedVersion = 3;  ///< of files with parts and rotations

// ---------------------------------------------------------------------------------------------------------- writing

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

std::string fraction(const Rational& value) {
  return "\"" + value.toString() + "\"";
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

/// The key of a forest whose parts another may name.
constexpr std::string_view kSharedParts = "reduce_forest";

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

// ---------------------------------------------------------------------------------------------------------- reading

enum class Key {
  format,
  version,
  collective,
  fabricName,
  digest,
  root,
  amounts,
  algbw,
  bound,
  fixedK,
  allreduceBound,
  nodes,
  gpus,
  bottlenecks,
  reduceForest,
  broadcastForest,
  fabric,
  demand,
  exitBandwidth,
  treesOfRoot,
  scale,
  paths,
  trees,
  multiplicity,
  edges,
  parts,
  shapes,
  instances,
  top,
  switches,
  vias,
  outPorts,
  inPorts,
  skeletons,
  arcs,
  patterns,
  shape,
  rotations
};
constexpr auto kKeyNames = std::to_array<std::string_view>({"format",
                                                            "version",
                                                            "collective",
                                                            "fabric_name",
                                                            "digest",
                                                            "root",
                                                            "amounts",
                                                            "algbw",
                                                            "bound",
                                                            "fixed_k",
                                                            "allreduce_bound",
                                                            "nodes",
                                                            "gpus",
                                                            "bottlenecks",
                                                            "reduce_forest",
                                                            "broadcast_forest",
                                                            "fabric",
                                                            "demand",
                                                            "exit_bandwidth",
                                                            "trees_of_root",
                                                            "scale",
                                                            "paths",
                                                            "trees",
                                                            "multiplicity",
                                                            "edges",
                                                            "parts",
                                                            "shapes",
                                                            "instances",
                                                            "top",
                                                            "switches",
                                                            "vias",
                                                            "out_ports",
                                                            "in_ports",
                                                            "skeletons",
                                                            "arcs",
                                                            "patterns",
                                                            "shape",
                                                            "rotations"});

constexpr std::uint64_t bit(Key key) {
  return std::uint64_t{1} << static_cast<unsigned>(key);
}

enum class Context {
  document,
  top,
  fabric,
  nodes,
  gpus,
  amounts,
  cuts,
  cut,
  cutNodes,
  forest,
  treesOfRoot,
  paths,
  path,
  trees,
  tree,
  edges,
  edge,
  parts,
  shapes,
  shape,
  shapeNodes,
  vias,
  via,
  outPorts,
  inPorts,
  outPort,
  inPort,
  skeletons,
  skeleton,
  arcs,
  arc,
  patterns,
  pattern,
  choice,
  partTrees,
  partTree,
  instances,
  instance,
  instanceNodes,
  instanceSwitches,
  rotations,
  rotation
};

struct ContextKeys {
  std::uint64_t required = 0;
  std::uint64_t optional = 0;
};

constexpr ContextKeys keysOf(Context context) {
  switch (context) {
    case Context::top:
      return {bit(Key::format) | bit(Key::version) | bit(Key::collective) | bit(Key::fabricName) | bit(Key::digest) |
                  bit(Key::algbw) | bit(Key::bound) | bit(Key::nodes) | bit(Key::gpus) | bit(Key::bottlenecks),
              bit(Key::root) | bit(Key::amounts) | bit(Key::fixedK) | bit(Key::allreduceBound) |
                  bit(Key::reduceForest) | bit(Key::broadcastForest) | bit(Key::fabric)};
    case Context::cut:
      return {bit(Key::nodes) | bit(Key::demand) | bit(Key::exitBandwidth), 0};
    case Context::forest:
      return {bit(Key::treesOfRoot) | bit(Key::scale), bit(Key::paths) | bit(Key::trees) | bit(Key::parts)};
    case Context::parts:
      return {bit(Key::shapes) | bit(Key::instances) | bit(Key::top), bit(Key::rotations)};
    case Context::shape:
      return {bit(Key::nodes) | bit(Key::switches) | bit(Key::vias) | bit(Key::outPorts) | bit(Key::inPorts) |
                  bit(Key::skeletons) | bit(Key::patterns) | bit(Key::trees),
              0};
    case Context::skeleton:
      return {bit(Key::root) | bit(Key::arcs), 0};
    case Context::instance:
      return {bit(Key::shape) | bit(Key::nodes) | bit(Key::switches), 0};
    case Context::tree:
      return {bit(Key::root) | bit(Key::multiplicity) | bit(Key::edges), 0};
    default:
      return {};
  }
}

struct RawCut {
  std::vector<std::int64_t> nodes;
  std::int64_t demand = 0;
  std::string exitBandwidth;
};

struct RawForest {
  Forest forest;  ///< routes in numbers of the file's node table
  std::string scale;
  std::shared_ptr<FactoredForest> parts;      ///< switches in numbers of the file's node table
  std::vector<schedule::Rotation> rotations;  ///< steps and counts alone
  std::optional<std::string> sharedParts;     ///< the forest whose parts these are
};

/// The file's content before it is matched with a fabric.
struct Raw {
  std::string format;
  std::int64_t version = 0;
  std::string collective;
  std::string fabricName;
  std::string digest;
  std::optional<std::int64_t> root;
  std::vector<std::int64_t> amounts;
  std::string algbw;
  std::string bound;
  std::optional<std::int64_t> fixedK;
  std::optional<std::string> allreduceBound;
  std::vector<std::string> nodes;
  std::vector<std::int64_t> gpus;
  std::vector<RawCut> cuts;
  std::optional<RawForest> reduceForest;
  std::optional<RawForest> broadcastForest;
  std::size_t fabricStart = 0;  ///< offsets of the embedded fabric; equal = none
  std::size_t fabricEnd = 0;
};

/// SAX handler with a stack of its own: no input depth reaches the call stack, and edges and routes go straight into
/// their final arrays.
class ForestReader {
public:
  ForestReader(std::string_view text, bool headerOnly) : m_text(text), m_headerOnly(headerOnly) {
    m_frames.push_back({Context::document});
  }

  /// False on an error, or when the header is complete and only that was asked for.
  bool parse() { return parseJson(m_text, m_reached, *this); }

  [[nodiscard]] bool headerComplete() const { return m_headerComplete; }
  Raw& raw() { return m_raw; }
  Error& error() { return m_error; }

  bool null() { return scalar("null"); }
  bool boolean(bool) { return scalar("true or false"); }
  bool binary(std::vector<std::uint8_t>&) { return scalar("binary data"); }
  bool number_float(double, const std::string&) {  // NOLINT(readability-identifier-naming)
    return scalar("a number that is not a 64-bit integer");
  }
  bool number_integer(std::int64_t value) { return number(value); }  // NOLINT(readability-identifier-naming)
  bool number_unsigned(std::uint64_t value) {                        // NOLINT(readability-identifier-naming)
    return value <= static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max())
               ? number(static_cast<std::int64_t>(value))
               : scalar("a number that is not a 64-bit integer");
  }

  bool string(std::string& value) {
    Frame& frame = m_frames.back();
    ++frame.items;
    if (frame.context == Context::fabric) {
      return true;
    }
    if (frame.context == Context::nodes) {
      if (m_raw.nodes.size() >= kMaxFabricNodes) {
        return failLimit("more than " + std::to_string(kMaxFabricNodes) + " nodes");
      }
      m_raw.nodes.push_back(std::move(value));
      return true;
    }
    std::string* const target = stringTarget(frame);
    if (target == nullptr) {
      return scalar("a string");
    }
    *target = std::move(value);
    return checkHeader();
  }

  bool start_object(std::size_t) {  // NOLINT(readability-identifier-naming)
    Frame& frame = m_frames.back();
    ++frame.items;
    switch (frame.context) {
      case Context::document:
        return push(Context::top);
      case Context::fabric:
        return push(Context::fabric);
      case Context::cuts:
        if (m_raw.cuts.size() >= kMaxCuts) {
          return failLimit("more than " + std::to_string(kMaxCuts) + " cuts");
        }
        m_raw.cuts.emplace_back();
        return push(Context::cut);
      case Context::forest:
        if (frame.key == Key::parts) {
          m_parts = (m_forest->parts = std::make_shared<FactoredForest>()).get();
          return push(Context::parts);
        }
        break;
      case Context::shapes:
        m_parts->shapes.emplace_back();
        return push(Context::shape);
      case Context::skeletons:
        m_parts->shapes.back().skeletons.push_back({0, static_cast<std::int64_t>(m_parts->shapes.back().arcs.size())});
        return push(Context::skeleton);
      case Context::instances:
        m_parts->instances.emplace_back();
        return push(Context::instance);
      case Context::trees:
        m_forest->forest.trees.push_back({0, 0, static_cast<std::int64_t>(m_forest->forest.edges.size())});
        return push(Context::tree);
      case Context::top:
        if (frame.key == Key::fabric) {
          m_raw.fabricStart = offset() - 1;
          return push(Context::fabric);
        }
        if (frame.key == Key::reduceForest || frame.key == Key::broadcastForest) {
          auto& forest = frame.key == Key::reduceForest ? m_raw.reduceForest : m_raw.broadcastForest;
          m_forest = &forest.emplace();
          return push(Context::forest);
        }
        break;
      default:
        break;
    }
    return failType("an object");
  }

  bool start_array(std::size_t) {  // NOLINT(readability-identifier-naming)
    Frame& frame = m_frames.back();
    ++frame.items;
    m_numbers.clear();
    switch (frame.context) {
      case Context::fabric:
        return push(Context::fabric);
      case Context::paths:
        return push(Context::path);
      case Context::edges:
        return push(Context::edge);
      case Context::top:
        if (frame.key == Key::nodes || frame.key == Key::gpus || frame.key == Key::amounts) {
          return push(frame.key == Key::nodes  ? Context::nodes
                      : frame.key == Key::gpus ? Context::gpus
                                               : Context::amounts);
        }
        if (frame.key == Key::bottlenecks) {
          return push(Context::cuts);
        }
        break;
      case Context::cut:
        if (frame.key == Key::nodes) {
          return push(Context::cutNodes);
        }
        break;
      case Context::vias:
        return push(Context::via);
      case Context::outPorts:
        return push(Context::outPort);
      case Context::inPorts:
        return push(Context::inPort);
      case Context::arcs:
        return push(Context::arc);
      case Context::patterns:
        m_parts->shapes.back().patterns.push_back(
            {static_cast<std::int64_t>(m_parts->shapes.back().choices.size()), 0});
        return push(Context::pattern);
      case Context::pattern:
        return push(Context::choice);
      case Context::partTrees:
        return push(Context::partTree);
      case Context::rotations:
        return push(Context::rotation);
      case Context::parts:
        if (frame.key != Key::top) {
          return push(frame.key == Key::shapes      ? Context::shapes
                      : frame.key == Key::instances ? Context::instances
                                                    : Context::rotations);
        }
        break;
      case Context::shape:
        if (frame.key != Key::switches) {
          return push(shapeList(*frame.key));
        }
        break;
      case Context::skeleton:
        if (frame.key == Key::arcs) {
          return push(Context::arcs);
        }
        break;
      case Context::instance:
        if (frame.key != Key::shape) {
          return push(frame.key == Key::nodes ? Context::instanceNodes : Context::instanceSwitches);
        }
        break;
      case Context::forest:
        if (frame.key != Key::scale && frame.key != Key::parts) {
          return push(frame.key == Key::treesOfRoot ? Context::treesOfRoot
                      : frame.key == Key::paths     ? Context::paths
                                                    : Context::trees);
        }
        break;
      case Context::tree:
        if (frame.key == Key::edges) {
          return push(Context::edges);
        }
        break;
      default:
        break;
    }
    return failType("an array");
  }

  bool key(const std::string& text) {
    Frame& frame = m_frames.back();
    if (frame.context == Context::fabric) {
      return true;
    }
    const auto found = std::find(kKeyNames.begin(), kKeyNames.end(), text);
    const auto index = static_cast<unsigned>(found - kKeyNames.begin());
    const ContextKeys keys = keysOf(frame.context);
    if (found == kKeyNames.end() || ((keys.required | keys.optional) & bit(static_cast<Key>(index))) == 0) {
      if (frame.context == Context::top && (frame.seen & bit(Key::format)) == 0) {
        return fail("the key " + inQuotes(text) + " comes before any \"format\", so this is not a forest file",
                    "give a .forest.json, as coppice-cli generate writes it");
      }
      return fail("the key " + inQuotes(text) + " is not part of the format", "remove it");
    }
    frame.key = static_cast<Key>(index);
    if ((frame.seen & bit(*frame.key)) != 0) {
      return fail("the key " + inQuotes(text) + " appears twice", "keep one of the two");
    }
    frame.seen |= bit(*frame.key);
    return true;
  }

  bool end_object() {  // NOLINT(readability-identifier-naming)
    const Frame frame = m_frames.back();
    std::uint64_t missing = keysOf(frame.context).required & ~frame.seen;
    if (frame.context == Context::forest) {
      constexpr std::uint64_t kWrittenOut = bit(Key::paths) | bit(Key::trees);
      if ((frame.seen & bit(Key::parts)) == 0) {
        missing |= kWrittenOut & ~frame.seen;
      } else if ((frame.seen & kWrittenOut) != 0) {
        m_frames.back().key = std::nullopt;
        return fail("has trees and parts at once", "keep one of the two");
      }
    }
    for (unsigned i = 0; missing != 0 && i < kKeyNames.size(); ++i) {
      if ((missing & bit(static_cast<Key>(i))) != 0) {
        m_frames.back().key = std::nullopt;
        return fail("the key \"" + std::string(kKeyNames[i]) + "\" is missing", "add it, or generate the file again");
      }
    }
    m_frames.pop_back();
    if (frame.context == Context::fabric && m_frames.back().context == Context::top) {
      m_raw.fabricEnd = offset();
    }
    return true;
  }

  bool end_array() {  // NOLINT(readability-identifier-naming)
    const Context context = m_frames.back().context;
    if (!keep(context)) {
      return false;
    }
    m_frames.pop_back();
    return true;
  }

  bool parse_error(std::size_t position, const std::string& last,  // NOLINT(readability-identifier-naming)
                   const nlohmann::json::exception& exception) {
    JsonFault fault = jsonFault(m_text, position, last, exception.id);
    return fail(std::move(fault.message),
                fault.isNumberTooLarge ? "generate the file again" : "check that the file is complete");
  }

private:
  static constexpr std::size_t kMaxCuts = 4096;
  /// Numbers in an entry of parts.
  static constexpr std::size_t kMaxInEntry = 5;

  static Context shapeList(Key key) {
    switch (key) {
      case Key::nodes:
        return Context::shapeNodes;
      case Key::vias:
        return Context::vias;
      case Key::outPorts:
        return Context::outPorts;
      case Key::inPorts:
        return Context::inPorts;
      case Key::skeletons:
        return Context::skeletons;
      case Key::patterns:
        return Context::patterns;
      default:
        return Context::partTrees;
    }
  }

  struct Frame {
    Context context = Context::document;
    std::uint64_t seen = 0;
    std::optional<Key> key = {};
    std::int64_t items = 0;  ///< values begun in this array
  };

  /// Its entries are worth naming: edges, routes and the like are named as a whole.
  static bool isPlaced(const Frame& frame) {
    switch (frame.context) {
      case Context::document:
      case Context::fabric:
      case Context::edge:
      case Context::path:
      case Context::via:
      case Context::outPort:
      case Context::inPort:
      case Context::arc:
      case Context::choice:
      case Context::partTree:
      case Context::rotation:
        return false;
      default:
        return frame.items > 0;
    }
  }

  [[nodiscard]] std::size_t offset() const { return static_cast<std::size_t>(m_reached - m_text.data()); }

  bool push(Context context) {
    if (m_frames.size() > kMaxJsonDepth) {
      return failLimit("brackets nest deeper than " + std::to_string(kMaxJsonDepth));
    }
    m_frames.push_back({context});
    return true;
  }

  std::string* stringTarget(const Frame& frame) {
    if (frame.context == Context::cut && frame.key == Key::exitBandwidth) {
      return &m_raw.cuts.back().exitBandwidth;
    }
    if (frame.context == Context::forest && frame.key == Key::scale) {
      return &m_forest->scale;
    }
    if (frame.context == Context::forest && frame.key == Key::parts) {
      return &m_forest->sharedParts.emplace();
    }
    if (frame.context != Context::top || !frame.key) {
      return nullptr;
    }
    switch (*frame.key) {
      case Key::format:
        return &m_raw.format;
      case Key::collective:
        return &m_raw.collective;
      case Key::fabricName:
        return &m_raw.fabricName;
      case Key::digest:
        return &m_raw.digest;
      case Key::algbw:
        return &m_raw.algbw;
      case Key::bound:
        return &m_raw.bound;
      case Key::allreduceBound:
        return &m_raw.allreduceBound.emplace();
      default:
        return nullptr;
    }
  }

  bool number(std::int64_t value) {
    Frame& frame = m_frames.back();
    ++frame.items;
    switch (frame.context) {
      case Context::fabric:
        return true;
      case Context::gpus:
      case Context::amounts:
      case Context::treesOfRoot:
      case Context::cutNodes:
      case Context::shapeNodes:
      case Context::instanceNodes:
      case Context::instanceSwitches:
      case Context::via:
        if (m_numbers.size() >= kMaxFabricNodes) {
          return failLimit("more than " + std::to_string(kMaxFabricNodes) + " entries");
        }
        m_numbers.push_back(value);
        return true;
      case Context::path:
      case Context::edge:
        m_numbers.push_back(value);
        return true;
      case Context::outPort:
      case Context::inPort:
      case Context::arc:
      case Context::choice:
      case Context::partTree:
      case Context::rotation:
        if (m_numbers.size() < kMaxInEntry) {
          m_numbers.push_back(value);
          return true;
        }
        return fail("an entry has more than " + std::to_string(kMaxInEntry) + " numbers",
                    "see the description of the format");
      case Context::parts:
        if (frame.key == Key::top) {
          return narrow(value, m_parts->top);
        }
        break;
      case Context::shape:
        if (frame.key == Key::switches) {
          return narrow(value, m_parts->shapes.back().switchCount);
        }
        break;
      case Context::skeleton:
        if (frame.key == Key::root) {
          return narrow(value, m_parts->shapes.back().skeletons.back().root);
        }
        break;
      case Context::instance:
        if (frame.key == Key::shape) {
          return narrow(value, m_parts->instances.back().shape);
        }
        break;
      case Context::cut:
        if (frame.key == Key::demand) {
          m_raw.cuts.back().demand = value;
          return true;
        }
        break;
      case Context::tree:
        if (frame.key == Key::root) {
          return narrow(value, m_forest->forest.trees.back().root);
        }
        if (frame.key == Key::multiplicity) {
          m_forest->forest.trees.back().multiplicity = value;
          return true;
        }
        break;
      case Context::top:
        if (frame.key == Key::version) {
          m_raw.version = value;
          return checkHeader();
        }
        if (frame.key == Key::root) {
          m_raw.root = value;
          return true;
        }
        if (frame.key == Key::fixedK) {
          m_raw.fixedK = value;
          return true;
        }
        break;
      default:
        break;
    }
    return scalar("a number");
  }

  bool narrow(std::int64_t value, std::int32_t& target) {
    if (value < 0 || value > std::numeric_limits<std::int32_t>::max()) {
      return fail("the number " + std::to_string(value) + " is out of range", "generate the file again");
    }
    target = static_cast<std::int32_t>(value);
    return true;
  }

  /// Stores the numbers of an array that has just ended.
  bool keep(Context context) {
    switch (context) {
      case Context::gpus:
        m_raw.gpus = std::move(m_numbers);
        break;
      case Context::amounts:
        m_raw.amounts = std::move(m_numbers);
        break;
      case Context::treesOfRoot:
        m_forest->forest.treesOfRoot = std::move(m_numbers);
        break;
      case Context::cutNodes:
        m_raw.cuts.back().nodes = std::move(m_numbers);
        break;
      case Context::path: {
        m_route.clear();
        for (const std::int64_t node : m_numbers) {
          m_route.emplace_back();
          if (!narrow(node, m_route.back())) {
            return false;
          }
        }
        m_forest->forest.paths.add(m_route);
        break;
      }
      case Context::edge: {
        if (m_numbers.size() != 3 && m_numbers.size() != 4) {
          return fail("an edge has " + std::to_string(m_numbers.size()) + " numbers",
                      "write [parent, child, path] or [parent, child, path, pruned]");
        }
        schedule::TreeEdge edge;
        if (!narrow(m_numbers[0], edge.parent) || !narrow(m_numbers[1], edge.child) ||
            !narrow(m_numbers[2], edge.path) || (m_numbers.size() == 4 && !narrow(m_numbers[3], edge.pruned))) {
          return false;
        }
        m_forest->forest.edges.push_back(edge);
        break;
      }
      default:
        if (!keepInParts(context)) {
          return false;
        }
    }
    m_numbers.clear();
    return true;
  }

  /// The numbers of an entry, or false where there are not `count` of them.
  bool hasNumbers(std::size_t count, const char* form) {
    return m_numbers.size() == count ||
           fail("an entry has " + std::to_string(m_numbers.size()) + " numbers", std::string("write ") + form);
  }

  bool narrowAll(std::vector<int>& target, bool mayBeGpu) {
    for (const std::int64_t value : m_numbers) {
      target.push_back(FactoredForest::kGpu);
      if (!(mayBeGpu && value == FactoredForest::kGpu) && !narrow(value, target.back())) {
        return false;
      }
    }
    return true;
  }

  bool keepInParts(Context context) {
    switch (context) {
      case Context::shapeNodes:
        return narrowAll(m_parts->shapes.back().childShape, true);
      case Context::instanceNodes:
        return narrowAll(m_parts->instances.back().children, false);
      case Context::instanceSwitches:
        return narrowAll(m_parts->instances.back().switches, false);
      case Context::via: {
        FactoredForest::Shape& shape = m_parts->shapes.back();
        if (!narrowAll(shape.viaSwitches, false)) {
          return false;
        }
        shape.viaStart.push_back(static_cast<std::int64_t>(shape.viaSwitches.size()));
        return true;
      }
      case Context::outPort:
      case Context::inPort: {
        FactoredForest::Shape& shape = m_parts->shapes.back();
        FactoredForest::Port& port = (context == Context::outPort ? shape.outPorts : shape.inPorts).emplace_back();
        return hasNumbers(2, "[leaf, via]") && narrow(m_numbers[0], port.leaf) && narrow(m_numbers[1], port.via);
      }
      case Context::arc: {
        FactoredForest::Arc& arc = m_parts->shapes.back().arcs.emplace_back();
        return hasNumbers(2, "[tail, head]") && narrow(m_numbers[0], arc.tail) && narrow(m_numbers[1], arc.head);
      }
      case Context::choice: {
        FactoredForest::Shape& shape = m_parts->shapes.back();
        FactoredForest::Choice& choice = shape.choices.emplace_back();
        ++shape.patterns.back().choiceCount;
        if (!hasNumbers(5, "[count, via, tail port, head port, inner tree]")) {
          return false;
        }
        choice.count = m_numbers[0];
        return narrow(m_numbers[1], choice.via) && narrow(m_numbers[2], choice.tailPort) &&
               narrow(m_numbers[3], choice.headPort) && narrow(m_numbers[4], choice.innerTree);
      }
      case Context::partTree: {
        FactoredForest::PartTree& tree = m_parts->shapes.back().trees.emplace_back();
        if (!hasNumbers(4, "[skeleton, pattern, root leaf, multiplicity]")) {
          return false;
        }
        tree.multiplicity = m_numbers[3];
        return narrow(m_numbers[0], tree.skeleton) && narrow(m_numbers[1], tree.pattern) &&
               narrow(m_numbers[2], tree.rootLeaf);
      }
      case Context::rotation: {
        schedule::Rotation& rotation = m_forest->rotations.emplace_back();
        return hasNumbers(2, "[step, count]") && narrow(m_numbers[0], rotation.step) &&
               narrow(m_numbers[1], rotation.count);
      }
      default:
        return true;
    }
  }

  /// Refuses other formats at once; stops the parser when only the header was asked for and it is there.
  bool checkHeader() {
    const Frame& frame = m_frames.back();
    if (frame.context != Context::top) {
      return true;
    }
    if (frame.key == Key::format && m_raw.format != kFormat) {
      return fail("the format is " + inQuotes(m_raw.format) + ", not \"" + std::string(kFormat) + "\"",
                  "check that it is a forest file");
    }
    if (frame.key == Key::version && (m_raw.version < kVersion || m_raw.version > kRotatedVersion)) {
      return fail("the file has version " + std::to_string(m_raw.version) +
                      " of the format; this program reads versions " + std::to_string(kVersion) + " to " +
                      std::to_string(kRotatedVersion),
                  "generate the file again, or use a newer program");
    }
    constexpr std::uint64_t kHeader =
        bit(Key::format) | bit(Key::version) | bit(Key::collective) | bit(Key::fabricName) | bit(Key::digest);
    m_headerComplete = (frame.seen & kHeader) == kHeader;
    return !(m_headerOnly && m_headerComplete);
  }

  bool scalar(const std::string& what) { return m_frames.back().context == Context::fabric || failType(what); }

  bool failType(const std::string& what) {
    if (m_frames.back().context == Context::document) {
      return fail("the file must contain one JSON object, not " + what, "check that it is a forest file");
    }
    return fail("cannot be " + what, "see the description of the format");
  }

  bool failLimit(const std::string& message) {
    fail(message, "check that it is a forest file");
    m_error.code = ErrorCode::limit;
    return false;
  }

  bool fail(std::string message, std::string fix) {
    m_error = Error{ErrorCode::badInput, std::move(message), std::move(fix)};
    const std::string_view before = m_text.substr(0, offset());
    const std::size_t newline = before.rfind('\n');
    m_error.where.line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
    m_error.where.column =
        static_cast<int>(newline == std::string_view::npos ? before.size() : before.size() - newline - 1);
    std::string path;
    for (const Frame& frame : m_frames) {
      if (frame.key) {
        path += (path.empty() ? "" : ".") + std::string(kKeyNames[static_cast<std::size_t>(*frame.key)]);
      } else if (keysOf(frame.context).required == 0 && isPlaced(frame)) {
        path += "[" + std::to_string(frame.items - 1) + "]";
      }
    }
    if (!path.empty()) {
      m_error.where.element = {RefKind::field, std::move(path)};
    }
    return false;
  }

  std::string_view m_text;
  bool m_headerOnly;
  bool m_headerComplete = false;
  const char* m_reached = nullptr;
  std::vector<Frame> m_frames;
  std::vector<std::int64_t> m_numbers;
  std::vector<NodeIndex> m_route;
  RawForest* m_forest = nullptr;
  FactoredForest* m_parts = nullptr;
  Raw m_raw;
  Error m_error;
};

/// Carries one error out of nested helpers to the public entry.
struct Refusal {
  Error error;
};

[[noreturn]] void refuse(std::string message, const ElementRef& element, ErrorCode code = ErrorCode::badInput) {
  throw Refusal{{code, std::move(message), "generate the file again", {.element = element}}};
}

[[noreturn]] void refuse(std::string message, std::string path, ErrorCode code = ErrorCode::badInput) {
  refuse(std::move(message), ElementRef(RefKind::field, std::move(path)), code);
}

Rational readFraction(const std::string& text, const std::string& element) {
  auto value = Rational::parse(text);
  if (!value) {
    Error error = value.error();
    error.where.element = {RefKind::field, element};
    throw Refusal{std::move(error)};
  }
  return *value;
}

/// Turns the file's content into a schedule of a fabric.
class Matcher {
public:
  Matcher(Raw& raw, const fabric::Fabric& fabric) : m_raw(raw), m_fabric(fabric) {}

  Schedule match() {
    Schedule schedule;
    const auto collective = parseForestCollective(m_raw.collective);
    if (!collective) {
      refuse(inQuotes(m_raw.collective) + " is not a collective", "collective");
    }
    schedule.collective = *collective;
    if (m_raw.digest != m_fabric.digest()) {
      throw Refusal{{ErrorCode::verification,
                     "made for the fabric " + inQuotes(m_raw.fabricName) + " with digest " + inQuotes(m_raw.digest) +
                         "; this is " + inQuotes(m_fabric.name()) + " with digest \"" + m_fabric.digest() + "\"",
                     "use the fabric it was made for, or generate it again",
                     {}}};
    }
    const auto hasParts = [](const std::optional<RawForest>& forest) {
      return forest && (forest->parts || forest->sharedParts);
    };
    const auto isRotated = [](const std::optional<RawForest>& forest) { return forest && !forest->rotations.empty(); };
    const std::int64_t wanted = isRotated(m_raw.reduceForest) || isRotated(m_raw.broadcastForest) ? kRotatedVersion
                                : hasParts(m_raw.reduceForest) || hasParts(m_raw.broadcastForest) ? kPartsVersion
                                                                                                  : kVersion;
    if (m_raw.version != wanted) {
      refuse(wanted == kRotatedVersion ? "the file has rotations, but not version 3 of the format"
             : wanted == kPartsVersion
                 ? "the file has parts, but not version 2 of the format"
                 : "the file has version " + std::to_string(m_raw.version) + " of the format, but no parts",
             "version");
    }
    matchNodes();
    schedule.fabricName = m_raw.fabricName;
    schedule.fabricDigest = m_raw.digest;
    if (m_raw.root) {
      if (*m_raw.root < 0 || *m_raw.root >= m_fabric.gpuCount()) {
        refuse("rank " + std::to_string(*m_raw.root) + " is not in the fabric", "root");
      }
      schedule.root = static_cast<fabric::Rank>(*m_raw.root);
    }
    if (!m_raw.amounts.empty() && m_raw.amounts.size() != static_cast<std::size_t>(m_fabric.gpuCount())) {
      refuse("has " + std::to_string(m_raw.amounts.size()) + " entries for " + std::to_string(m_fabric.gpuCount()) +
                 " GPUs",
             "amounts");
    }
    schedule.amounts = std::move(m_raw.amounts);
    schedule.algbw = readFraction(m_raw.algbw, "algbw");
    schedule.bound = readFraction(m_raw.bound, "bound");
    schedule.fixedK = m_raw.fixedK;
    if (m_raw.allreduceBound) {
      schedule.allreduceBound = readFraction(*m_raw.allreduceBound, "allreduce_bound");
    }
    for (std::size_t i = 0; i < m_raw.cuts.size(); ++i) {
      const std::string element = "bottlenecks[" + std::to_string(i) + "]";
      schedule::Cut cut;
      for (const std::int64_t node : m_raw.cuts[i].nodes) {
        cut.nodes.push_back(nodeOf(node, element));
      }
      if (!m_isSameOrder) {
        std::sort(cut.nodes.begin(), cut.nodes.end());
      }
      cut.demand = m_raw.cuts[i].demand;
      cut.exitBandwidth = readFraction(m_raw.cuts[i].exitBandwidth, element + ".exit_bandwidth");
      schedule.bottlenecks.push_back(std::move(cut));
    }
    if (m_raw.reduceForest) {
      schedule.reduceForest = matchForest(*m_raw.reduceForest, schedule::Direction::in, "reduce_forest");
    }
    if (m_raw.broadcastForest) {
      schedule.broadcastForest = matchForest(*m_raw.broadcastForest, schedule::Direction::out, "broadcast_forest");
    }
    return schedule;
  }

private:
  void matchNodes() {
    if (m_raw.nodes.size() != static_cast<std::size_t>(m_fabric.nodeCount())) {
      refuse("names " + std::to_string(m_raw.nodes.size()) + " nodes, the fabric has " +
                 std::to_string(m_fabric.nodeCount()),
             "nodes");
    }
    std::vector<bool> taken(m_raw.nodes.size(), false);
    for (std::size_t i = 0; i < m_raw.nodes.size(); ++i) {
      const auto node = m_fabric.find(m_raw.nodes[i]);
      if (!node || taken[*node]) {
        refuse(inQuotes(m_raw.nodes[i]) + (node ? " appears twice" : " is not in the fabric"),
               "nodes[" + std::to_string(i) + "]");
      }
      taken[*node] = true;
      m_nodes.push_back(*node);
      m_isSameOrder = m_isSameOrder && static_cast<std::size_t>(*node) == i;
    }
    if (m_raw.gpus.size() != static_cast<std::size_t>(m_fabric.gpuCount())) {
      refuse(
          "names " + std::to_string(m_raw.gpus.size()) + " GPUs, the fabric has " + std::to_string(m_fabric.gpuCount()),
          "gpus");
    }
    for (std::size_t rank = 0; rank < m_raw.gpus.size(); ++rank) {
      const std::string element = "gpus[" + std::to_string(rank) + "]";
      if (nodeOf(m_raw.gpus[rank], element) != m_fabric.gpus()[rank]) {
        refuse("is not the GPU of this rank in the fabric", element);
      }
    }
  }

  [[nodiscard]] NodeIndex nodeOf(std::int64_t number, const std::string& element) const {
    if (number < 0 || static_cast<std::size_t>(number) >= m_nodes.size()) {
      refuse("node " + std::to_string(number) + " is not in the table of " + std::to_string(m_nodes.size()) + " nodes",
             element);
    }
    return m_nodes[number];
  }

  Forest matchForest(RawForest& rawForest, schedule::Direction direction, const std::string& element) {
    Forest forest = std::move(rawForest.forest);
    forest.direction = direction;
    forest.gpuCount = m_fabric.gpuCount();
    forest.scale = readFraction(rawForest.scale, element + ".scale");
    if (forest.treesOfRoot.size() != static_cast<std::size_t>(forest.gpuCount)) {
      refuse("has " + std::to_string(forest.treesOfRoot.size()) + " entries for " + std::to_string(forest.gpuCount) +
                 " GPUs",
             element + ".trees_of_root");
    }
    if (rawForest.parts || rawForest.sharedParts) {
      forest.factored = matchParts(rawForest, element + ".parts");
      return forest;
    }
    matchRoutes(forest, element);
    const std::int64_t edgesPerTree = forest.gpuCount - 1;
    for (std::size_t i = 0; i < forest.trees.size(); ++i) {
      const schedule::Tree& tree = forest.trees[i];
      const auto place = [&] { return element + ".trees[" + std::to_string(i) + "]"; };
      const std::int64_t end =
          i + 1 < forest.trees.size() ? forest.trees[i + 1].firstEdge : static_cast<std::int64_t>(forest.edges.size());
      if (end - tree.firstEdge != edgesPerTree) {
        refuse("has " + std::to_string(end - tree.firstEdge) + " edges; a tree over " +
                   std::to_string(forest.gpuCount) + " GPUs has " + std::to_string(edgesPerTree),
               place());
      }
      if (tree.root >= forest.gpuCount) {
        refuse("its root, rank " + std::to_string(tree.root) + ", is not in the fabric", place());
      }
      for (std::int64_t index = 0; index < edgesPerTree; ++index) {
        const schedule::TreeEdge& edge = forest.edges[tree.firstEdge + index];
        const auto edgePlace = [&] { return place() + ".edges[" + std::to_string(index) + "]"; };
        if (edge.parent >= forest.gpuCount || edge.child >= forest.gpuCount) {
          refuse("rank " + std::to_string(std::max(edge.parent, edge.child)) + " is not in the fabric", edgePlace());
        }
        if (edge.path >= forest.paths.size()) {
          refuse("path " + std::to_string(edge.path) + " is not among the " + std::to_string(forest.paths.size()) +
                     " paths",
                 edgePlace());
        }
        if (edge.pruned != 0 && static_cast<std::size_t>(edge.pruned) + 1 >= forest.paths[edge.path].size()) {
          refuse("prunes " + std::to_string(edge.pruned) + " hops of a path with fewer to spare", edgePlace());
        }
      }
    }
    return forest;
  }

  std::shared_ptr<const FactoredForest> matchParts(RawForest& rawForest, const std::string& element) {
    if (rawForest.sharedParts) {
      if (*rawForest.sharedParts != kSharedParts || !m_parts) {
        refuse(inQuotes(*rawForest.sharedParts) + " is no forest of this file whose parts are listed before", element);
      }
      return m_parts;
    }
    FactoredForest& parts = *rawForest.parts;
    for (std::size_t i = 0; i < parts.instances.size(); ++i) {
      for (NodeIndex& node : parts.instances[i].switches) {
        node = nodeOf(node, element + ".instances[" + std::to_string(i) + "].switches");
      }
    }
    for (std::size_t i = 0; i < parts.shapes.size(); ++i) {
      const FactoredForest::Shape& shape = parts.shapes[i];
      const auto arcsEach = static_cast<std::int64_t>(shape.childShape.size()) - 1;
      for (std::size_t k = 0; k < shape.skeletons.size(); ++k) {
        const std::int64_t end = k + 1 < shape.skeletons.size() ? shape.skeletons[k + 1].firstArc
                                                                : static_cast<std::int64_t>(shape.arcs.size());
        if (end - shape.skeletons[k].firstArc != arcsEach) {
          refuse("has " + std::to_string(end - shape.skeletons[k].firstArc) + " arcs; a skeleton of " +
                     std::to_string(shape.childShape.size()) + " nodes has " + std::to_string(arcsEach),
                 element + ".shapes[" + std::to_string(i) + "].skeletons[" + std::to_string(k) + "]");
        }
      }
    }
    for (std::size_t i = 0; i < rawForest.rotations.size(); ++i) {
      const schedule::Rotation& named = rawForest.rotations[i];
      auto rotation = schedule::rotationOf(m_fabric, named.step, named.count);
      if (!rotation) {
        refuse("the fabric has no symmetry with step " + std::to_string(named.step) + " and count " +
                   std::to_string(named.count),
               element + ".rotations[" + std::to_string(i) + "]");
      }
      parts.instances.push_back(schedule::instanceOf(*std::move(rotation)));
    }
    const auto findings = checkStructure(parts, m_fabric.gpuCount(), m_fabric.nodeCount());
    if (!findings.empty()) {
      const std::string more = findings.size() == 1 ? "" : " (and more faults)";
      refuse(
          findings.front().text + more,
          ElementRef(RefKind::field, element)
              .with(findings.front().where.element.as(RefKind::field) ? ElementRef() : findings.front().where.element),
          findings.front().code);
    }
    return m_parts = rawForest.parts;
  }

  void matchRoutes(Forest& forest, const std::string& element) const {
    PathPool paths;
    std::vector<NodeIndex> route;
    for (schedule::PathId id = 0; id < forest.paths.size(); ++id) {
      route.clear();
      for (const NodeIndex number : forest.paths[id]) {
        if (static_cast<std::size_t>(number) >= m_nodes.size()) {
          (void)nodeOf(number, element + ".paths[" + std::to_string(id) + "]");
        }
        route.push_back(m_nodes[number]);
      }
      if (route.size() < 2) {
        refuse("has fewer than two nodes", element + ".paths[" + std::to_string(id) + "]");
      }
      if (!m_isSameOrder) {
        paths.add(route);
      }
    }
    if (!m_isSameOrder) {
      forest.paths = std::move(paths);
    }
  }

  Raw& m_raw;
  const fabric::Fabric& m_fabric;
  std::vector<NodeIndex> m_nodes;  ///< by number in the file's table
  bool m_isSameOrder = true;
  std::shared_ptr<const FactoredForest> m_parts;  ///< of the reduce forest
};

Error placed(Error error, const std::string& fileName) {
  error.where.file = fileName;
  return error;
}

std::optional<Error> refusedText(std::string_view text) {
  if (text.size() > kMaxForestBytes) {
    return Error{ErrorCode::limit, "the text is longer than " + std::to_string(kMaxForestBytes) + " bytes",
                 "check that it is a forest file"};
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return Error{ErrorCode::badInput, "the file is empty", "generate it again"};
  }
  return std::nullopt;
}

/// Runs `action` and turns what it throws into an Error that names the file.
template <typename Action>
auto guarded(const std::string& fileName, const Action& action) -> decltype(action()) {
  try {
    return action();
  } catch (const Refusal& refusal) {
    return placed(refusal.error, fileName);
  } catch (const OverflowError& error) {
    return placed({ErrorCode::overflow, std::string("cannot be represented exactly: ") + error.what()}, fileName);
  } catch (const std::bad_alloc&) {
    return placed({ErrorCode::limit, "not enough memory for the forest"}, fileName);
  } catch (const CancelledError&) {
    return placed({ErrorCode::cancelled, "cancelled"}, fileName);
  } catch (const std::exception& error) {
    return placed({ErrorCode::badInput, std::string("cannot be read: ") + error.what()}, fileName);
  }
}

Raw parseAll(std::string_view text) {
  if (auto error = refusedText(text)) {
    throw Refusal{*error};
  }
  ForestReader reader(text, false);
  if (!reader.parse()) {
    throw Refusal{refusedExecutionPlan(text, {}).value_or(reader.error())};
  }
  return std::move(reader.raw());
}

}  // namespace

Outcome writeForestJson(std::ostream& out, const Schedule& schedule, const fabric::Fabric& fabric,
                        const fabric::Description* description, schedule::ForestForm form, const Progress& progress) {
  return guarded({}, [&]() -> Outcome {
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
    pen << "{\n  \"format\": \"" << kFormat << "\",\n  \"version\": "
        << (isRotated  ? kRotatedVersion
            : hasParts ? kPartsVersion
                       : kVersion)
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

Result<ForestHeader> peekForestJson(std::string_view text, const std::string& fileName) {
  return guarded(fileName, [&]() -> Result<ForestHeader> {
    if (auto error = refusedText(text)) {
      return placed(*error, fileName);
    }
    ForestReader reader(text, true);
    reader.parse();
    if (!reader.headerComplete()) {
      return placed(reader.error(), fileName);
    }
    const Raw& raw = reader.raw();
    const auto collective = parseForestCollective(raw.collective);
    if (!collective) {
      refuse(inQuotes(raw.collective) + " is not a collective", "collective");
    }
    return ForestHeader{*collective, raw.fabricName, raw.digest};
  });
}

Result<Schedule> readForestJson(std::string_view text, const fabric::Fabric& fabric, const std::string& fileName) {
  return guarded(fileName, [&]() -> Result<Schedule> {
    Raw raw = parseAll(text);
    return Matcher(raw, fabric).match();
  });
}

Result<LoadedForest> loadForest(std::string_view text, const std::string& fileName) {
  return guarded(fileName, [&]() -> Result<LoadedForest> {
    Raw raw = parseAll(text);
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
    Schedule schedule = Matcher(raw, *fabric).match();
    return LoadedForest{std::move(*description), std::move(*fabric), std::move(schedule)};
  });
}

}  // namespace coppice::io
