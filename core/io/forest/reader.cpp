// SPDX-License-Identifier: Apache-2.0
#include "io/forest/reader.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "fabric/facts.hpp"
#include "io/exact_json.hpp"
#include "io/execution_plan.hpp"
#include "io/fabric_json.hpp"
#include "io/forest_json.hpp"
#include "io/json_text.hpp"

namespace coppice::io::forest {
namespace {

using fabric::NodeIndex;
using schedule::FactoredForest;
using schedule::Forest;

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

/// SAX handler with a stack of its own: no input depth reaches the call stack, and edges and routes go straight into
/// their final arrays.
class ForestReader {
public:
  explicit ForestReader(std::string_view text) : m_text(text) { m_frames.push_back({Context::document}); }

  /// False on an error.
  bool parse() { return parseJson(m_text, m_reached, *this); }

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
    return true;
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
  const char* m_reached = nullptr;
  std::vector<Frame> m_frames;
  std::vector<std::int64_t> m_numbers;
  std::vector<NodeIndex> m_route;
  RawForest* m_forest = nullptr;
  FactoredForest* m_parts = nullptr;
  Raw m_raw;
  Error m_error;
};

}  // namespace

Raw readContent(std::string_view text) {
  if (text.size() > kMaxForestBytes) {
    throw Refusal{{ErrorCode::limit, "the text is longer than " + std::to_string(kMaxForestBytes) + " bytes",
                   "check that it is a forest file"}};
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw Refusal{{ErrorCode::badInput, "the file is empty", "generate it again"}};
  }
  ForestReader reader(text);
  if (!reader.parse()) {
    throw Refusal{refusedExecutionPlan(text, {}).value_or(reader.error())};
  }
  return std::move(reader.raw());
}

}  // namespace coppice::io::forest
