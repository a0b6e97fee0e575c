// SPDX-License-Identifier: Apache-2.0
#include "plan/types.hpp"

#include <array>
#include <utility>

namespace coppice::executor {

std::string_view toString(DataType type) {
  switch (type) {
    case DataType::int8:
      return "int8";
    case DataType::uint8:
      return "uint8";
    case DataType::int32:
      return "int32";
    case DataType::int64:
      return "int64";
    case DataType::float16:
      return "half";
    case DataType::bfloat16:
      return "bfloat16";
    case DataType::float32:
      return "float";
    case DataType::float64:
      return "double";
  }
  return "float";
}

std::optional<DataType> parseDataType(std::string_view text) {
  for (const DataType type : kAllTypes) {
    if (text == toString(type)) {
      return type;
    }
  }
  constexpr std::array<std::pair<std::string_view, DataType>, 4> kOthers = {{{"float16", DataType::float16},
                                                                             {"float32", DataType::float32},
                                                                             {"float64", DataType::float64},
                                                                             {"bf16", DataType::bfloat16}}};
  for (const auto& [word, type] : kOthers) {
    if (text == word) {
      return type;
    }
  }
  return std::nullopt;
}

std::int64_t elementBytes(DataType type) {
  switch (type) {
    case DataType::int8:
    case DataType::uint8:
      return 1;
    case DataType::float16:
    case DataType::bfloat16:
      return 2;
    case DataType::int32:
    case DataType::float32:
      return 4;
    case DataType::int64:
    case DataType::float64:
      return 8;
  }
  return 1;
}

bool isFloating(DataType type) {
  return type == DataType::float16 || type == DataType::bfloat16 || type == DataType::float32 ||
         type == DataType::float64;
}

std::string_view toString(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return "sum";
    case ReduceOp::prod:
      return "prod";
    case ReduceOp::min:
      return "min";
    case ReduceOp::max:
      return "max";
    case ReduceOp::avg:
      return "avg";
  }
  return "sum";
}

std::optional<ReduceOp> parseReduceOp(std::string_view text) {
  for (const ReduceOp op : kAllOps) {
    if (text == toString(op)) {
      return op;
    }
  }
  return std::nullopt;
}

}  // namespace coppice::executor
