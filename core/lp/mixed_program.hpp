// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"

/// Linear programs of which some columns are integers, in floating point, solved by the program cbc of COIN-OR in a
/// process of its own. Answers are proposals: what they are used for is checked exactly by the caller.
namespace coppice::lp {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct MixedColumn {
  double lower = 0;
  double upper = 1;
  double cost = 0;
  bool isInteger = false;
};

struct MixedTerm {
  int column = 0;
  double coefficient = 0;
};

/// lower <= sum of terms <= upper. No column occurs twice.
struct MixedRow {
  std::vector<MixedTerm> terms;
  double lower = -kInfinite;
  double upper = kInfinite;
};

/// Minimizes the costs.
struct MixedProgram {
  std::vector<MixedColumn> columns;
  std::vector<MixedRow> rows;

  int addColumn(const MixedColumn& column) {
    columns.push_back(column);
    return static_cast<int>(columns.size()) - 1;
  }
};

enum class MixedStatus {
  optimal,
  feasible,    ///< the best that was found in the time
  impossible,  ///< no values satisfy all rows
  undecided    ///< no values were found in the time, or the solver failed
};

/// "optimal", "feasible", "impossible", "undecided".
[[nodiscard]] std::string_view toString(MixedStatus status);

struct MixedAnswer {
  MixedStatus status = MixedStatus::undecided;
  std::vector<double> values;   ///< by column; empty where there are none
  std::optional<double> bound;  ///< nothing costs less, as the solver states it
  std::string reason;           ///< of undecided
};

struct MixedOptions {
  double seconds = 60;
  std::vector<double> start = {};  ///< values to start from, by column; empty = none
  int threads = 1;
  std::string stage = "solving";       ///< what progress is reported as
  std::filesystem::path program = {};  ///< empty = cbc in PATH
};

/// The program cbc. Errors: unavailable.
Result<std::filesystem::path> findMixedSolver();

/// Ends within 0.2 s of a cancellation, and soon after the time whatever the solver does. Throws CancelledError.
/// Errors: unavailable, io.
Result<MixedAnswer> solveMixed(const MixedProgram& program, const MixedOptions& options, const Progress& progress);

}  // namespace coppice::lp
