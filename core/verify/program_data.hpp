// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "verify/program_execution.hpp"
#include "verify/program_flat.hpp"
#include "verify/program_values.hpp"

/// Symbolic execution: the contents of every buffer on every rank.
namespace coppice::verify {

/// Where the buffers of each rank lie. In place, the caller's two buffers share memory (formats note, 1.4): i is
/// o[rank*c…] for allgather and gather, o is i[rank*c…] for reduce_scatter and scatter, both are one for the others.
class Layout {
public:
  Layout(const program::Program& program, Collective goal, bool inPlace);

  [[nodiscard]] std::uint32_t location(int rank, program::Buffer buffer, int offset) const {
    return static_cast<std::uint32_t>(m_base[rank][static_cast<std::size_t>(buffer)] + offset);
  }
  /// Chunks of memory on a rank.
  [[nodiscard]] std::size_t size(int rank) const { return m_size[rank]; }
  [[nodiscard]] BufferSizes caller() const { return m_caller; }
  [[nodiscard]] bool inPlace() const { return m_inPlace; }

private:
  std::vector<std::array<int, 3>> m_base;
  std::vector<std::size_t> m_size;
  BufferSizes m_caller;
  bool m_inPlace;
};

/// "o[12]"; "the buffer" for a location that no buffer has. In place, what i and o share is called o.
[[nodiscard]] std::string nameLocation(const Layout& layout, int rank, std::uint32_t location);

/// What the race check needs to know of an execution, per rank.
struct RankHistory {
  /// For each event in the order of execution: its threadblock's id.
  std::vector<std::uint32_t> events;
  /// (later, earlier) events: the later one received data that left this rank in the earlier one and nowhere else, so
  /// the earlier one happened before. Sorted by the later one.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> echoes;
};

/// The visitor that moves values. Reports reads of unwritten data, and writes to the caller's input out of place.
class DataRun {
public:
  DataRun(const FlatProgram& flat, const Layout& layout, Values& values, std::uint32_t depth, int chunksPerMessage,
          program::FindingSink& sink);

  void operator()(const Event& event);

  /// Compares the final contents with what the goal demands and reports the first wrong chunk.
  /// @param root of rooted goals; -1 = whichever the data show  @return that root; -1 for the other goals
  int checkResult(Collective goal, int root);
  /// The same for a custom collective.
  void checkCustom(const std::vector<CustomShard>& shards);
  [[nodiscard]] const std::vector<RankHistory>& history() const { return m_history; }
  [[nodiscard]] Value at(int rank, std::uint32_t location) const { return m_memory[rank][location]; }
  /// What the output of a rank must hold in the end, by chunk; kUnwritten = anything. @param root as checkResult says
  [[nodiscard]] std::vector<Value> wanted(Collective goal, int root, int rank) const;

private:
  static constexpr std::uint32_t kSeveral = ~std::uint32_t{0};

  Value read(int block, const Event& event, program::Buffer buffer, int offset);
  void write(int rank, const FlatStep& step, int chunk, Value value);
  void noteSent(int rank, Value value, std::uint32_t event);
  void noteReceived(int rank, Value value, std::uint32_t event);
  [[nodiscard]] Value output(int rank, int chunk) const;
  [[nodiscard]] Value expected(Collective goal, int root, int rank, int chunk) const;
  [[nodiscard]] int rootOf(Collective goal, int chunk, int rank) const;
  [[nodiscard]] int inferRoot(Collective goal);
  void reportCustom(const CustomShard& shard, int rank, int chunk);

  const FlatProgram& m_flat;
  const Layout& m_layout;
  Values& m_values;
  int m_chunksPerMessage;
  program::FindingSink& m_sink;
  int m_ranks;
  std::size_t m_slotsPerConnection;
  std::vector<std::vector<Value>> m_memory;  ///< per rank
  std::vector<Value> m_inFlight;             ///< per connection, slot and chunk of the message
  std::vector<RankHistory> m_history;
  std::vector<std::vector<std::uint32_t>> m_sentIn;  ///< per rank and own chunk: event that sent it + 1, or kSeveral
};

}  // namespace coppice::verify
