// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/backend.hpp"
#include "plan/plan.hpp"
#include "program/run_protocol.hpp"

/// Test data and what must come of it, made from the definition of the collective alone.
namespace coppice::executor {

/// Wrong elements of the ranks of this process.
struct CheckReport {
  std::int64_t wrong = 0;
  std::int64_t damagedGuards = 0;                   ///< bytes outside the buffers that were written
  std::vector<program::WrongRecord> examples = {};  ///< the first 16 of each rank
};

/// Inputs are pseudo-random and seeded, and chosen so that every order of reduction gives the same bits: small whole
/// numbers for floating sums, powers of two for products, anything for integers (which wrap around) and for data that
/// is only moved. So results are compared bit by bit, without a tolerance.
///
/// Each rank's data is a table of a prime number of elements, repeated with a new rotation each time; data that ends up
/// at another place or comes from another rank differs.
class Reference {
public:
  Reference(const Plan& plan, const Geometry& geometry, ReduceOp op, std::uint64_t seed);

  /// Poisons the outputs of the local ranks and writes their inputs. Errors: those of the backend.
  Outcome fill(Backend& backend) const;
  /// Compares the outputs of the local ranks, and out of place also the inputs, which must not change. Outputs that the
  /// collective does not define (reduce and gather off the root) are not looked at. Errors: those of the backend.
  Result<CheckReport> check(Backend& backend) const;

  /// A run of elements that come one after the other from one table.
  struct Source {
    int table = 0;  ///< rank; a reduction: ranks or more; -1 = the collective does not say
    std::int64_t first = 0;
    std::int64_t count = 0;
  };
  /// Where the output's elements from `element` on come from. @pre element < outputElements
  [[nodiscard]] Source sourceOf(int rank, std::int64_t element) const;
  /// The same of the input. @pre element < inputElements
  [[nodiscard]] Source inputOf(int rank, std::int64_t element) const;
  [[nodiscard]] bool isDefined(int rank) const;
  /// One element of a table, its bytes.
  [[nodiscard]] const std::byte* value(int table, std::int64_t element) const;

private:
  void nameSums();
  void makeTables(std::uint64_t seed);
  [[nodiscard]] Source customSource(int rank, std::int64_t element, bool ofOutput) const;
  void copyTo(std::byte* to, int table, std::int64_t first, std::int64_t count) const;
  void compare(const std::byte* data, int rank, BufferKind kind, std::int64_t begin, std::int64_t end,
               CheckReport& report) const;
  void describe(int rank, BufferKind kind, std::int64_t element, const std::byte* found, int table, std::int64_t from,
                CheckReport& report) const;
  /// Elements of the table in one piece from `element` on.
  [[nodiscard]] std::int64_t run(std::int64_t element) const;
  [[nodiscard]] std::size_t position(std::int64_t element) const;

  const Plan& m_plan;
  const Geometry& m_geometry;
  ReduceOp m_op;
  std::int64_t m_period;
  std::vector<std::vector<int>> m_sums;          ///< the ranks of each reduction
  std::vector<std::size_t> m_sumOf;              ///< custom: by shard, into m_sums where it combines
  std::vector<std::size_t> m_shardOf;            ///< custom: by chunk
  std::vector<std::vector<std::byte>> m_tables;  ///< of each rank, then of each reduction
};

/// "-3", "0.25": an element as text.
[[nodiscard]] std::string elementText(DataType type, const std::byte* element);

}  // namespace coppice::executor
