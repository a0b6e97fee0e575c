// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/fx_dims.hpp"
#include "io/fx_graph.hpp"
#include "io/fx_text.hpp"
#include "training/problem.hpp"

/// The graph while it is made of the calls of torch.fx.
namespace coppice::io::fx {

/// What a name stands for: a node, and how its dimensions lie in the positions of torch's tensor. A position of size 1
/// has none; dimensions that the node lacks are expanded.
struct Tensor {
  int node = -1;
  std::vector<Atoms> positions = {};
  int bits = 16;
};

/// A node with dimensions that may still be cut and united.
struct Draft {
  training::Node node;  ///< without dims, indices and renamed
  Atoms dims = {};
  Atoms indices = {};
  std::vector<std::pair<Atom, Atom>> renamed = {};  ///< dimension of the output, and its name in the inputs
  std::vector<Atoms> read = {};                     ///< by input, as it lies in torch's tensor
  std::vector<Atoms> layout = {};                   ///< by position of torch's tensor
  bool isBackward = false;
  bool isView = false;  ///< of its input, which is held in its place
};

using Labels = std::vector<int>;

class Builder {
public:
  explicit Builder(std::string fileName) : m_fileName(std::move(fileName)) {}

  /// The call whose line errors name.
  void at(const Call& call) { m_line = call.line; }
  [[noreturn]] void refuse(const std::string& message, const std::string& fix) const;

  [[nodiscard]] std::int64_t sizeOf(const Atoms& position) const;
  [[nodiscard]] std::vector<std::int64_t> sizesOf(const Tensor& tensor) const;
  /// New dimensions of these sizes, none where a size is 1.
  [[nodiscard]] std::vector<Atoms> fresh(const std::vector<std::int64_t>& sizes);

  Tensor placeholder(const std::string& name, const TensorType& type, bool isConstant);
  /// The tensor with other sizes of the same elements.
  [[nodiscard]] Tensor viewed(const std::string& name, const Tensor& tensor, const std::vector<std::int64_t>& sizes);
  [[nodiscard]] Tensor expanded(const Tensor& tensor, const std::vector<std::int64_t>& sizes);

  /// Products summed over the labels that the output lacks. A label is a position of each tensor that has it.
  Tensor einsum(const std::string& name, std::vector<Tensor> tensors, const std::vector<Labels>& labels,
                const Labels& output, const Rational& work = 1);
  /// Of an einsum just made: only dimensions of these labels may be divided.
  void limit(const Tensor& made, const std::vector<Atoms>& positions);
  Tensor elementwise(const std::string& name, std::vector<Tensor> tensors, bool isLinear, int bits = 0);
  /// Elementwise over all but some positions, which no axis may divide; `kept` = they stay with their sizes.
  Tensor along(const std::string& name, std::vector<Tensor> tensors, const std::set<int>& positions, bool isKept,
               bool hasOnes);
  Tensor reduction(const std::string& name, const Tensor& tensor, const std::set<int>& positions, bool hasOnes);
  /// A run of a position, or what several tensors are put together to.
  Tensor piece(const std::string& name, const Tensor& tensor, int position, const Atoms& as);
  Tensor joined(const std::string& name, std::vector<Tensor> tensors, int position, std::int64_t size);
  /// Nothing is known but its sizes: from all of its inputs.
  Tensor opaque(const std::string& name, const std::vector<Tensor>& tensors, const std::vector<std::int64_t>& sizes,
                int bits);
  void update(const std::string& name, const Tensor& parameter, Tensor gradient);

  /// Brings the dimensions of equal labels together, under other names where a tensor would have one twice.
  std::map<int, Atoms> join(std::vector<Tensor>& tensors, const std::vector<Labels>& labels);

  [[nodiscard]] std::vector<Draft>& drafts() { return m_drafts; }
  [[nodiscard]] const std::vector<Draft>& drafts() const { return m_drafts; }
  [[nodiscard]] const Dims& dims() const { return m_dims; }
  /// The problem without a mesh, and the graph as a text. @param outputs  what the graphs return
  [[nodiscard]] FxProblem problem(const std::vector<Tensor>& outputs) const;

private:
  [[nodiscard]] bool align(const Atoms& target, const Atoms& source, std::vector<std::pair<Atom, Atom>>& renames);
  Tensor renamed(const Tensor& tensor, const std::vector<std::pair<Atom, Atom>>& pairs);
  Tensor add(const std::string& name, training::Op op, const std::vector<Tensor>& tensors, std::vector<Atoms> positions,
             int bits);
  [[nodiscard]] std::string uniqueName(const std::string& wanted);

  std::string m_fileName;
  int m_line = 0;
  Dims m_dims;
  std::vector<Draft> m_drafts;
  std::set<std::string> m_names;
  std::map<int, std::vector<int>> m_renamed;  ///< nodes that are one under other names
};

}  // namespace coppice::io::fx
