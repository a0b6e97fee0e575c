// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/rational.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "io/exact_json.hpp"
#include "io/origin.hpp"
#include "schedule/forest.hpp"

namespace coppice::io {

inline constexpr std::string_view kForestFormat = "coppice-forest";
inline constexpr std::int64_t kForestVersion = 1;

/// A forest file: first its values, then a schedule of the fabric that it is for.
class ForestReader {
public:
  /// Both must outlive the reader.
  ForestReader(std::string_view text, const std::string& fileName);

  /// Reads the whole text. Throws Failure.
  void read();
  /// The embedded fabric in the text. Throws Failure where there is none.
  [[nodiscard]] const JsonSlice& fabric() const;
  /// Without a method where the file names none. Throws Failure.
  [[nodiscard]] Origin origin() const;
  /// Takes what was read. Throws Failure, OverflowError.
  [[nodiscard]] schedule::Schedule scheduleOf(const fabric::Fabric& fabric);

private:
  /// The rows of a forest, in the numbers of the file's table of nodes.
  struct Rows {
    schedule::PathPool paths;
    std::vector<schedule::TreeEdge> edges;
  };

  std::optional<Error> addPath(Rows& rows, std::span<const std::int64_t> numbers);
  static std::optional<Error> addEdge(Rows& rows, std::span<const std::int64_t> numbers);
  void matchNodes(const fabric::Fabric& fabric);
  schedule::Cut cut(const JsonValue& value, const std::string& path);
  schedule::Forest forest(const JsonValue& value, const std::string& path, const fabric::Fabric& fabric, Rows& rows);
  void addTrees(const JsonValue& value, const std::string& path, schedule::Forest& forest);
  void placePaths(const JsonValue& value, const std::string& path, schedule::PathPool& paths);

  [[noreturn]] void refuse(const JsonValue& at, const std::string& path, std::string message,
                           std::string fix = "generate the file again", ErrorCode code = ErrorCode::badInput) const;
  /// Refuses what is no object, and other keys.
  void checkKeys(const JsonValue& object, const std::string& path, std::initializer_list<std::string_view> keys) const;
  [[nodiscard]] const JsonValue& need(const JsonValue& object, const std::string& path, std::string_view key) const;
  [[nodiscard]] std::string string(const JsonValue& value, const std::string& path) const;
  [[nodiscard]] Rational fraction(const JsonValue& value, const std::string& path) const;
  [[nodiscard]] std::int64_t integer(const JsonValue& value, const std::string& path) const;
  /// From 0 to less than `end`.
  [[nodiscard]] int index(const JsonValue& value, const std::string& path, std::int64_t end,
                          std::string_view what) const;
  [[nodiscard]] const JsonValue& array(const JsonValue& value, const std::string& path) const;
  [[nodiscard]] std::vector<std::int64_t> integers(const JsonValue& value, const std::string& path) const;

  std::string_view m_text;
  const std::string& m_fileName;
  JsonValue m_top;
  std::array<JsonSlice, 1> m_fabric{JsonSlice{"fabric"}};
  std::array<Rows, 2> m_rows;              ///< of the reduce and of the broadcast forest
  std::vector<fabric::NodeIndex> m_nodes;  ///< by number in the file's table
  bool m_isSameOrder = true;               ///< the table is the fabric's
  std::vector<fabric::NodeIndex> m_route;
};

}  // namespace coppice::io
