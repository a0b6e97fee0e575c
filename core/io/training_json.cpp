// SPDX-License-Identifier: Apache-2.0
#include "io/training_json.hpp"

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/failure.hpp"
#include "base/text.hpp"
#include "io/exact_json.hpp"
#include "io/text_place.hpp"

namespace coppice::io {
namespace {

using training::Dim;
using training::Node;
using training::Problem;
using JsonKind = JsonValue::Kind;

constexpr std::array<const char*, training::kConversions> kRateKeys{"allgather", "reduce_scatter", "allreduce",
                                                                    "alltoall"};

class ProblemReader {
public:
  ProblemReader(std::string_view text, const std::string& fileName) : m_text(text), m_fileName(fileName) {}

  Problem run(const JsonValue& top) {
    Problem problem;
    for (const auto& [name, size] : member(top, "dims", JsonKind::object, "an object of sizes").members) {
      m_dims.emplace(name, static_cast<Dim>(problem.dims.size()));
      problem.dims.push_back({name, wholeNumber(size)});
    }
    for (const JsonValue& item : member(top, "mesh", JsonKind::array, "a list of axes").items) {
      m_element = {RefKind::field, "mesh[" + std::to_string(problem.mesh.size()) + "]"};
      training::Axis axis{wholeNumber(need(item, "size")), {}};
      for (std::size_t i = 0; i < kRateKeys.size(); ++i) {
        axis.rates[i] = number(need(item, kRateKeys[i]));
      }
      problem.mesh.push_back(axis);
    }
    m_element = {RefKind::field, "gflops"};
    problem.gflops = number(need(top, "gflops"));
    for (const JsonValue& item : member(top, "nodes", JsonKind::array, "a list of nodes").items) {
      m_element = {RefKind::field, "nodes[" + std::to_string(problem.nodes.size()) + "]"};
      problem.nodes.push_back(node(item));
      if (!m_nodes.emplace(problem.nodes.back().name, static_cast<int>(problem.nodes.size()) - 1).second) {
        refuse(item, "two nodes are named " + inQuotes(problem.nodes.back().name), "name each node once");
      }
    }
    return problem;
  }

private:
  [[noreturn]] void refuse(const JsonValue& at, std::string message, std::string fix) const {
    throw Failure{{ErrorCode::badInput, std::move(message), std::move(fix),
                   TextPlaces(m_text, m_fileName).at(at.offset, m_element)}};
  }

  const JsonValue& need(const JsonValue& of, const char* key) const {
    const JsonValue* found = of.kind == JsonKind::object ? of.find(key) : nullptr;
    if (found == nullptr) {
      refuse(of, "there is no " + inQuotes(key), "add it");
    }
    return *found;
  }

  const JsonValue& member(const JsonValue& of, const char* key, JsonKind kind, const char* what) const {
    const JsonValue& found = need(of, key);
    if (found.kind != kind) {
      refuse(found, inQuotes(key) + " is not " + what, "see the example in the manual");
    }
    return found;
  }

  [[nodiscard]] Rational number(const JsonValue& value) const {
    if (value.kind == JsonKind::number || value.kind == JsonKind::string) {
      // "100/2" and "1.5/3" are read as quotients.
      const std::size_t slash = value.text.find('/');
      const auto first = Rational::parse(std::string_view(value.text).substr(0, slash));
      const auto second = slash == std::string::npos ? Result<Rational>(Rational(1))
                                                     : Rational::parse(std::string_view(value.text).substr(slash + 1));
      if (first && second && !second->isZero()) {
        return *first / *second;
      }
    }
    refuse(value, "this is not a number", "write for example 100, 12.5 or \"100/3\"");
  }

  [[nodiscard]] std::int64_t wholeNumber(const JsonValue& value) const {
    const Rational read = number(value);
    if (!read.isInteger() || read < Rational(1)) {
      refuse(value, "this is not a whole number above 0", "write for example 64");
    }
    return read.numerator();
  }

  [[nodiscard]] bool isSet(const JsonValue& of, const char* key) const {
    const JsonValue* found = of.find(key);
    if (found != nullptr && found->kind != JsonKind::boolean) {
      refuse(*found, inQuotes(key) + " is not true or false", "write true or false");
    }
    return found != nullptr && found->text == "true";
  }

  [[nodiscard]] Dim dimension(const JsonValue& value) const {
    const auto found = m_dims.find(value.text);
    if (value.kind != JsonKind::string || found == m_dims.end()) {
      refuse(value, inQuotes(value.text) + " is not a dimension", "name it in dims with its size");
    }
    return found->second;
  }

  [[nodiscard]] Node node(const JsonValue& item) const {
    Node node;
    node.name = need(item, "name").text;
    const JsonValue& operation = need(item, "op");
    const auto parsed = training::parseOp(operation.text);
    if (!parsed) {
      refuse(operation, inQuotes(operation.text) + " is not an operation",
             "use placeholder, einsum, elementwise, reduction or update");
    }
    node.op = *parsed;
    if (const JsonValue* inputs = item.find("inputs")) {
      for (const JsonValue& input : inputs->items) {
        const auto found = m_nodes.find(input.text);
        if (found == m_nodes.end()) {
          refuse(input, inQuotes(input.text) + " is not an earlier node", "list nodes behind their inputs");
        }
        node.inputs.push_back(found->second);
      }
    }
    for (const JsonValue& dim : member(item, "dims", JsonKind::array, "a list of dimensions").items) {
      node.dims.push_back(dimension(dim));
    }
    const auto optional = [&](const char* key, Rational& into) {
      if (const JsonValue* value = item.find(key)) {
        into = number(*value);
      }
    };
    optional("bytes", node.bytes);
    optional("held", node.held);
    optional("work", node.work);
    if (const JsonValue* indices = item.find("indices")) {
      for (const JsonValue& index : indices->items) {
        node.indices.push_back(dimension(index));
      }
    }
    if (const JsonValue* renamed = item.find("renamed")) {
      for (const auto& [to, from] : renamed->members) {
        const auto found = m_dims.find(to);
        if (found == m_dims.end()) {
          refuse(from, inQuotes(to) + " is not a dimension", "name it in dims with its size");
        }
        node.renamed.emplace_back(found->second, dimension(from));
      }
    }
    node.isLinear = isSet(item, "linear");
    node.isAgain = isSet(item, "again");
    if (const JsonValue* fixed = item.find("fixed"); fixed != nullptr && fixed->kind != JsonKind::null) {
      node.fixed.emplace();
      for (const JsonValue& entry : fixed->items) {
        const bool isNamed = m_dims.contains(entry.text);
        node.fixed->push_back(!isNamed && entry.text == "R"   ? training::kReplicated
                              : !isNamed && entry.text == "P" ? training::kPartial
                                                              : dimension(entry));
      }
    }
    return node;
  }

  std::string_view m_text;
  const std::string& m_fileName;
  ElementRef m_element;
  std::map<std::string, Dim, std::less<>> m_dims;
  std::map<std::string, int, std::less<>> m_nodes;
};

}  // namespace

bool isTrainingProblem(std::string_view text) {
  const auto top = parseExactJson(text, {});
  return top && top->kind == JsonKind::object && top->find("nodes") != nullptr;
}

Result<Problem> readTrainingProblem(std::string_view text, const std::string& fileName) {
  const auto top = parseExactJson(text, fileName);
  if (!top) {
    return top.error();
  }
  auto problem = guarded([&] { return ProblemReader(text, fileName).run(*top); });
  if (problem) {
    if (auto fault = training::faultOf(*problem)) {
      fault->where.file = fileName;
      return *std::move(fault);
    }
  }
  return problem;
}

std::string writeTrainingProblem(const Problem& problem) {
  using Json = nlohmann::ordered_json;
  const auto names = [&](const std::vector<Dim>& dims) {
    Json list = Json::array();
    for (const Dim dim : dims) {
      list.push_back(dim >= 0 ? problem.dims[dim].name : dim == training::kPartial ? "P" : "R");
    }
    return list;
  };
  Json json{{"dims", Json::object()},
            {"mesh", Json::array()},
            {"gflops", problem.gflops.toString()},
            {"nodes", Json::array()}};
  for (const training::Dimension& dim : problem.dims) {
    json["dims"][dim.name] = dim.size;
  }
  for (const training::Axis& axis : problem.mesh) {
    Json each{{"size", axis.size}};
    for (std::size_t i = 0; i < kRateKeys.size(); ++i) {
      each[kRateKeys[i]] = axis.rates[i].toString();
    }
    json["mesh"].push_back(std::move(each));
  }
  for (const Node& node : problem.nodes) {
    Json each{{"name", node.name}, {"op", std::string(training::toString(node.op))}};
    for (const int input : node.inputs) {
      each["inputs"].push_back(problem.nodes[input].name);
    }
    each["dims"] = names(node.dims);
    for (const auto& [key, value, otherwise] :
         {std::tuple("bytes", node.bytes, Rational()), std::tuple("held", node.held, Rational()),
          std::tuple("work", node.work, Rational(1))}) {
      if (value != otherwise) {
        each[key] = value.toString();
      }
    }
    if (!node.indices.empty()) {
      each["indices"] = names(node.indices);
    }
    for (const auto& [to, from] : node.renamed) {
      each["renamed"][problem.dims[to].name] = problem.dims[from].name;
    }
    for (const auto& [key, isSet] : {std::pair("linear", node.isLinear), std::pair("again", node.isAgain)}) {
      if (isSet) {
        each[key] = true;
      }
    }
    if (node.fixed) {
      each["fixed"] = names(*node.fixed);
    }
    json["nodes"].push_back(std::move(each));
  }
  return json.dump(2) + "\n";
}

}  // namespace coppice::io
