// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/collective.hpp"

namespace coppice::executor {

enum class DataType { int8, uint8, int32, int64, float16, bfloat16, float32, float64 };
/// "int8", "uint8", "int32", "int64", "half", "bfloat16", "float", "double": nccl-tests' words.
[[nodiscard]] std::string_view toString(DataType type);
/// The words above and "float16", "float32", "float64".
[[nodiscard]] std::optional<DataType> parseDataType(std::string_view text);
[[nodiscard]] std::int64_t elementBytes(DataType type);
[[nodiscard]] bool isFloating(DataType type);
inline constexpr DataType kAllTypes[] = {DataType::int8,    DataType::uint8,    DataType::int32,   DataType::int64,
                                         DataType::float16, DataType::bfloat16, DataType::float32, DataType::float64};

/// avg = sum, divided by the number of ranks at the end (finishOp); until then it is sum.
enum class ReduceOp { sum, prod, min, max, avg };
/// "sum", "prod", "min", "max", "avg".
[[nodiscard]] std::string_view toString(ReduceOp op);
[[nodiscard]] std::optional<ReduceOp> parseReduceOp(std::string_view text);
inline constexpr ReduceOp kAllOps[] = {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::avg};

/// Elements are addressed in buffers of a rank. In place, input and output share memory: see Geometry::aliasOffset.
enum class Place { outOfPlace, inPlace };

}  // namespace coppice::executor
