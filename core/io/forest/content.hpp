// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/result.hpp"
#include "schedule/factored.hpp"
#include "schedule/forest.hpp"
#include "schedule/rotation.hpp"

/// The steps between a forest file and a schedule: reader.hpp reads the text, matcher.hpp fits it to a fabric.
namespace coppice::io::forest {

inline constexpr std::string_view kFormat = "coppice-forest";
inline constexpr std::int64_t kVersion = 1;
inline constexpr std::int64_t kPartsVersion = 2;    ///< of files with parts
inline constexpr std::int64_t kRotatedVersion = 3;  ///< of files with parts and rotations
/// The key of a forest whose parts another may name.
inline constexpr std::string_view kSharedParts = "reduce_forest";

struct RawCut {
  std::vector<std::int64_t> nodes;
  std::int64_t demand = 0;
  std::string exitBandwidth;
};

struct RawForest {
  schedule::Forest forest;  ///< routes in numbers of the file's node table
  std::string scale;
  std::shared_ptr<schedule::FactoredForest> parts;  ///< switches in numbers of the file's node table
  std::vector<schedule::Rotation> rotations;        ///< steps and counts alone
  std::optional<std::string> sharedParts;           ///< the forest whose parts these are
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

/// Carries one error out of nested helpers to the public entry.
struct Refusal {
  Error error;
};

[[noreturn]] void refuse(std::string message, const ElementRef& element, ErrorCode code = ErrorCode::badInput);
/// @param path of the field, as in "reduce_forest.trees[3]"
[[noreturn]] void refuse(std::string message, std::string path, ErrorCode code = ErrorCode::badInput);

[[nodiscard]] Error placed(Error error, const std::string& fileName);

/// Runs `action` and turns what it throws into an Error that names the file.
template <typename Action>
auto guardedFile(const std::string& fileName, const Action& action) -> decltype(action()) {
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

}  // namespace coppice::io::forest
