// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/rational.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"

namespace coppice::schedule {

/// One row of a custom collective.
struct CustomShard {
  Rational share = 1;  ///< of the M bytes of the collective
  std::vector<fabric::Rank> sources;
  std::vector<fabric::Rank> destinations;
  bool combines = false;

  friend bool operator==(const CustomShard&, const CustomShard&) = default;
};

/// What a collective demands, as a table of shards. Of M bytes, as nccl-tests counts them, shard s has the given share.
/// | collective     | shards | share | sources    | destinations | combines |
/// |----------------|--------|-------|------------|--------------|----------|
/// | allgather      | N      | 1/N   | {s}        | all          | no       |
/// | broadcast      | 1      | 1     | {root}     | all          | no       |
/// | scatter        | N      | 1/N   | {root}     | {s}          | no       |
/// | gather         | N      | 1/N   | {s}        | {root}       | no       |
/// | alltoall       | N * N  | 1/N   | {s div N}  | {s mod N}    | no       |
/// | reduce_scatter | N      | 1/N   | all        | {s}          | yes      |
/// | reduce         | 1      | 1     | all        | {root}       | yes      |
/// | allreduce      | 1      | 1     | all        | all          | yes      |
/// A shard that does not combine and has several sources is the same bytes at each of them. A combining shard needs the
/// contribution of every source exactly once. The M bytes of alltoall are those of one rank's buffer.
/// The table of a collective of N ranks takes O(N) memory; only custom tables are stored row by row.
class CollectiveTable {
public:
  CollectiveTable() = default;

  /// `amounts`: relative data per rank (allgather, reduce_scatter, gather, scatter), or per pair of ranks, by source
  /// then destination (alltoall; M is then the mean of the ranks' buffers); empty = equal. Errors: badUsage (a root
  /// that is missing, out of range or not used; amounts of the wrong number, negative or all zero; custom), overflow.
  static Result<CollectiveTable> make(Collective collective, int rankCount, std::optional<fabric::Rank> root = {},
                                      std::span<const std::int64_t> amounts = {});
  /// Sorts sources and destinations. Errors: badInput naming the row: no source, no destination, a rank out of range
  /// or named twice, a share that is negative; all shares zero; no row.
  static Result<CollectiveTable> custom(int rankCount, std::span<const CustomShard> shards);

  [[nodiscard]] Collective collective() const { return m_collective; }
  [[nodiscard]] std::optional<fabric::Rank> root() const { return m_root; }
  [[nodiscard]] std::span<const std::int64_t> amounts() const { return m_amounts; }
  [[nodiscard]] std::span<const CustomShard> rows() const { return m_custom; }  ///< of a custom collective
  [[nodiscard]] int rankCount() const { return m_rankCount; }
  [[nodiscard]] std::int64_t shardCount() const { return m_shardCount; }

  [[nodiscard]] Rational share(std::int64_t shard) const;
  /// Ascending.
  [[nodiscard]] std::span<const fabric::Rank> sources(std::int64_t shard) const;
  [[nodiscard]] std::span<const fabric::Rank> destinations(std::int64_t shard) const;
  [[nodiscard]] bool combines(std::int64_t shard) const;

  friend bool operator==(const CollectiveTable&, const CollectiveTable&) = default;

private:
  [[nodiscard]] std::span<const fabric::Rank> all() const { return m_ranks; }
  [[nodiscard]] std::span<const fabric::Rank> only(std::int64_t rank) const {
    return std::span(m_ranks).subspan(static_cast<std::size_t>(rank), 1);
  }

  Collective m_collective = Collective::allgather;
  int m_rankCount = 0;
  std::int64_t m_shardCount = 0;
  std::optional<fabric::Rank> m_root;
  std::vector<std::int64_t> m_amounts;
  std::int64_t m_amountSum = 0;
  std::vector<fabric::Rank> m_ranks;  ///< 0 .. N-1
  std::vector<CustomShard> m_custom;  ///< by shard; custom only
};

/// The rank after which a shard is named: its only source, or else its only destination; -1 where there is neither.
[[nodiscard]] fabric::Rank ownerOf(const CollectiveTable& table, std::int64_t shard);

/// What the first shard that the two tables demand differently differs in, as in "shard 3: share 1/4, 1/2 is expected";
/// empty where they demand the same, whatever they are called.
[[nodiscard]] std::string differenceFrom(const CollectiveTable& wanted, const CollectiveTable& table);

}  // namespace coppice::schedule
