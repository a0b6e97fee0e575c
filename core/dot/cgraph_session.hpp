// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <graphviz/cgraph.h>

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace coppice::dot {

/// What libcgraph said, one entry a message.
struct CgraphMessage {
  bool isError = false;
  std::string text;
};

enum class ReadState { ok, tooLarge, failed };

/// Exclusive use of libcgraph: it keeps its scanner, its parser and its error handler in global variables. Holds a
/// process-wide lock, and puts the state back for the next session.
class CgraphSession {
public:
  static constexpr std::size_t kMaxNodes = std::size_t{1} << 18;
  static constexpr std::size_t kMaxEdges = std::size_t{1} << 20;

  CgraphSession();
  ~CgraphSession();
  CgraphSession(const CgraphSession&) = delete;
  CgraphSession& operator=(const CgraphSession&) = delete;

  /// Parses the first graph of the text. The session keeps it.
  ReadState read(std::string_view text);
  /// Makes an empty digraph. The session keeps it.
  void create(const std::string& name);
  /// Whether more than blanks follow the first graph. Call once, after read().
  bool hasMore();
  std::string write();

  [[nodiscard]] Agraph_t* graph() const { return m_graph; }
  [[nodiscard]] const std::vector<CgraphMessage>& messages() const { return m_messages; }

private:
  static int hearMessage(char* text);

  std::unique_lock<std::mutex> m_lock;
  Agraph_t* m_graph = nullptr;
  std::string_view m_rest;
  std::vector<CgraphMessage> m_messages;
};

}  // namespace coppice::dot
