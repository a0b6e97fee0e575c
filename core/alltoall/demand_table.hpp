// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/rational.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/exchange.hpp"

namespace coppice::alltoall {

/// A demand in bytes: amounts in whole units.
struct DemandTable {
  schedule::ExchangeDemand demand;
  Rational unit = 1;  ///< bytes
};

/// What the bytes take at the rate: a byte at 1 GB/s takes a nanosecond. Exact, or, beyond 64 bits, to the next
/// picosecond up or down. Throws OverflowError where that is beyond 64 bits, too.
[[nodiscard]] Rational nanosecondsOf(const Rational& bytes, const Bandwidth& rate, bool roundsUp);

/// Reads what each GPU sends to each other as a table of bytes, one row for each sender in the order of ranks, its
/// columns the receivers: numbers of 0 or more ("4096", "1.5e6", "0.5"), between commas, semicolons, tabs or spaces.
/// A first row of GPU ids, and a first column of them, name the receivers and senders. Lines that start with # are
/// comments. Errors: badInput naming line and column (no number, negative, an unknown or repeated GPU, a row of another
/// length, all 0), overflow.
[[nodiscard]] Result<DemandTable> readDemandTable(const fabric::Fabric& fabric, std::string_view text,
                                                  const std::string& name);

/// The same table as CSV with the ids of the GPUs, exact: fractions of bytes as decimals or "1/3". What a GPU keeps is
/// in it.
[[nodiscard]] std::string writeDemandTable(const fabric::Fabric& fabric, const DemandTable& table);

/// A table of whole numbers with a row for each GPU in the order of ranks, such as the tokens that each sends to each
/// expert. All rows have the same length. Errors: as above.
struct CountTable {
  int columns = 0;
  std::vector<std::int64_t> counts;  ///< row by row
};
[[nodiscard]] Result<CountTable> readCountTable(const fabric::Fabric& fabric, std::string_view text,
                                                const std::string& name);

}  // namespace coppice::alltoall
