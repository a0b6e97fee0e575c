// SPDX-License-Identifier: Apache-2.0
#include "io/fx_builder.hpp"

#include <algorithm>
#include <numeric>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"

namespace coppice::io::fx {
namespace {

using std::int64_t;
using training::Op;

constexpr std::size_t kMaxTensors = 50'000;

bool has(const Atoms& atoms, Atom atom) {
  return std::find(atoms.begin(), atoms.end(), atom) != atoms.end();
}

}  // namespace

void Builder::refuse(const std::string& message, const std::string& fix) const {
  throw Failure{{ErrorCode::badInput, message, fix, {.file = m_fileName, .line = m_line, .element = {}}}};
}

int64_t Builder::sizeOf(const Atoms& position) const {
  int64_t size = 1;
  for (const Atom atom : position) {
    size = checkedMul(size, m_dims.size(atom));
  }
  return size;
}

std::vector<int64_t> Builder::sizesOf(const Tensor& tensor) const {
  std::vector<int64_t> sizes;
  for (const Atoms& position : tensor.positions) {
    sizes.push_back(sizeOf(position));
  }
  return sizes;
}

std::vector<Atoms> Builder::fresh(const std::vector<int64_t>& sizes) {
  std::vector<Atoms> positions;
  for (const int64_t size : sizes) {
    if (size < 1) {
      refuse("a tensor without elements", "trace the model with inputs that have elements");
    }
    positions.push_back(size == 1 ? Atoms{} : Atoms{m_dims.add(size)});
  }
  return positions;
}

std::string Builder::uniqueName(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !m_names.insert(name).second; ++i) {
    name = wanted + "_" + std::to_string(i);
  }
  return name;
}

Tensor Builder::add(const std::string& name, Op op, const std::vector<Tensor>& tensors, std::vector<Atoms> positions,
                    int bits) {
  if (m_drafts.size() >= kMaxTensors) {
    refuse("the graph has more than " + std::to_string(kMaxTensors) + " tensors", "give one block of it");
  }
  Draft draft{.node = {.name = uniqueName(name), .op = op, .bytes = Rational(bits, 8)}};
  for (const Tensor& tensor : tensors) {
    draft.node.inputs.push_back(tensor.node);
    draft.read.push_back(flat(tensor.positions));
    draft.isBackward = draft.isBackward || m_drafts[tensor.node].isBackward;
  }
  draft.dims = m_dims.leaves(flat(positions));
  if (op == Op::einsum || op == Op::reduction) {
    // What is only expanded is not stored.
    std::erase_if(draft.dims, [&](Atom leaf) {
      return std::none_of(tensors.begin(), tensors.end(),
                          [&](const Tensor& tensor) { return has(m_dims.leaves(m_drafts[tensor.node].dims), leaf); });
    });
  }
  m_dims.addTensor(m_dims.leaves(flat(positions)));
  draft.layout = positions;
  m_drafts.push_back(std::move(draft));
  return {static_cast<int>(m_drafts.size()) - 1, std::move(positions), bits};
}

Tensor Builder::placeholder(const std::string& name, const TensorType& type, bool isConstant) {
  return add(name, Op::placeholder, {}, fresh(type.sizes), isConstant ? 0 : type.bits);
}

Tensor Builder::viewed(const std::string& name, const Tensor& tensor, const std::vector<int64_t>& sizes) {
  const Atoms all = flat(tensor.positions);
  int64_t elements = 1;
  for (const int64_t size : sizes) {
    elements = checkedMul(elements, size);
  }
  if (elements != sizeOf(all)) {
    refuse("the view has " + std::to_string(elements) + " elements, its tensor " + std::to_string(sizeOf(all)),
           "give the graph as torch prints it");
  }
  Tensor view{tensor.node, {}, tensor.bits};
  std::size_t next = 0;
  for (const int64_t size : sizes) {
    Atoms& position = view.positions.emplace_back();
    for (int64_t left = size; left > 1; ++next) {
      const Atom leaf = m_dims.leaves(all)[next];
      const int64_t whole = m_dims.size(leaf);
      if (whole % left != 0 && left % whole != 0) {
        return opaque(name, {tensor}, sizes, tensor.bits);  // 2 x 3 as 3 x 2
      }
      if (left < whole) {
        m_dims.cut(leaf, left);
      }
      const Atom taken = m_dims.leaves(all)[next];
      position.push_back(taken);
      left /= m_dims.size(taken);
    }
  }
  return view;
}

Tensor Builder::expanded(const Tensor& tensor, const std::vector<int64_t>& sizes) {
  if (sizes.size() < tensor.positions.size()) {
    refuse("expand to fewer positions than the tensor has", "give the graph as torch prints it");
  }
  Tensor wide{tensor.node, {}, tensor.bits};
  const std::size_t added = sizes.size() - tensor.positions.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Atoms position = i < added ? Atoms{} : tensor.positions[i - added];
    const bool isExpanded = position.empty() && sizes[i] > 1;
    if (!isExpanded && sizes[i] > 0 && sizes[i] != sizeOf(position)) {
      refuse("expand to a size that the tensor does not have", "give the graph as torch prints it");
    }
    wide.positions.push_back(isExpanded ? fresh({sizes[i]})[0] : position);
  }
  m_dims.addTensor(m_dims.leaves(flat(wide.positions)));
  return wide;
}

bool Builder::align(const Atoms& target, const Atoms& source, std::vector<std::pair<Atom, Atom>>& renames) {
  if (sizeOf(target) != sizeOf(source)) {
    refuse("a position of " + std::to_string(sizeOf(source)) + " meets one of " + std::to_string(sizeOf(target)),
           "give the graph as torch prints it, with the sizes of the same trace");
  }
  Atoms to = m_dims.leaves(target);
  Atoms from = m_dims.leaves(source);
  for (std::size_t i = 0; i < to.size() && i < from.size(); ++i) {
    const int64_t a = m_dims.size(to[i]);
    const int64_t b = m_dims.size(from[i]);
    if (a % b != 0 && b % a != 0) {
      return false;
    }
    if (a != b) {
      m_dims.cut(a > b ? to[i] : from[i], std::min(a, b));
      to = m_dims.leaves(target);
      from = m_dims.leaves(source);
    }
    if (to[i] != from[i] && !m_dims.unite(to[i], from[i])) {
      renames.emplace_back(to[i], from[i]);
    }
    to = m_dims.leaves(target);
    from = m_dims.leaves(source);
  }
  return true;
}

Tensor Builder::renamed(const Tensor& tensor, const std::vector<std::pair<Atom, Atom>>& pairs) {
  Tensor result = tensor;
  Atoms dims = m_dims.leaves(m_drafts[tensor.node].dims);
  const auto replaced = [&](Atoms atoms) {
    for (Atom& atom : atoms) {
      for (const auto& [to, from] : pairs) {
        if (atom == from) {
          atom = to;
          break;
        }
      }
    }
    return atoms;
  };
  for (Atoms& position : result.positions) {
    position = replaced(m_dims.leaves(position));
  }
  const auto now = [&](const std::vector<std::pair<Atom, Atom>>& of) {
    std::set<std::pair<Atoms, Atoms>> leaves;
    for (const auto& [to, from] : of) {
      leaves.emplace(m_dims.leaves({to}), m_dims.leaves({from}));
    }
    return leaves;
  };
  std::vector<int>& known = m_renamed[tensor.node];
  const auto same =
      std::find_if(known.begin(), known.end(), [&](int node) { return now(m_drafts[node].renamed) == now(pairs); });
  result.node = same != known.end() ? *same : static_cast<int>(m_drafts.size());
  if (same == known.end()) {
    known.push_back(result.node);
    const Tensor whole{tensor.node, {dims}, tensor.bits};
    add(m_drafts[tensor.node].node.name + "_renamed", Op::elementwise, {whole}, {replaced(dims)}, tensor.bits);
    m_drafts.back().renamed = pairs;
    m_drafts.back().node.isLinear = true;
    m_drafts.back().isView = true;
  }
  m_dims.addTensor(m_dims.leaves(flat(result.positions)));
  return result;
}

std::map<int, Atoms> Builder::join(std::vector<Tensor>& tensors, const std::vector<Labels>& labels) {
  std::map<int, Atoms> seen;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    Tensor& tensor = tensors[k];
    if (labels[k].size() != tensor.positions.size()) {
      refuse("a tensor of " + std::to_string(tensor.positions.size()) + " positions where " +
                 std::to_string(labels[k].size()) + " are needed",
             "give the graph as torch prints it");
    }
    std::vector<std::pair<Atom, Atom>> renames;
    bool isAligned = true;
    for (std::size_t p = 0; p < labels[k].size(); ++p) {
      const Atoms& known = seen[labels[k][p]];
      if (!known.empty() && !tensor.positions[p].empty()) {
        isAligned = align(known, tensor.positions[p], renames) && isAligned;
      }
    }
    Atoms used;
    for (const auto& [label, position] : seen) {
      const Atoms leaves = m_dims.leaves(position);
      used.insert(used.end(), leaves.begin(), leaves.end());
    }
    std::vector<Atoms> targets;
    for (std::size_t p = 0; p < labels[k].size(); ++p) {
      const Atoms& known = seen[labels[k][p]];
      Atoms target = m_dims.leaves(tensor.positions[p]);
      if (known.empty()) {
        for (Atom& leaf : target) {
          if (has(used, leaf)) {
            renames.emplace_back(m_dims.add(m_dims.size(leaf)), leaf);
            leaf = renames.back().first;
          }
        }
      } else if (!target.empty()) {
        target = known;
      }
      targets.push_back(std::move(target));
    }
    if (!isAligned) {
      tensor = add(m_drafts[tensor.node].node.name + "_reshaped", Op::elementwise, {tensor}, targets, tensor.bits);
    } else if (!renames.empty()) {
      tensor = renamed(tensor, renames);
    }
    for (std::size_t p = 0; p < labels[k].size(); ++p) {
      Atoms& known = seen[labels[k][p]];
      known = known.empty() ? tensor.positions[p] : known;
    }
  }
  return seen;
}

Tensor Builder::einsum(const std::string& name, std::vector<Tensor> tensors, const std::vector<Labels>& labels,
                       const Labels& output, const Rational& work) {
  auto seen = join(tensors, labels);
  std::vector<Atoms> positions;
  int bits = 0;
  for (const int label : output) {
    positions.push_back(seen[label]);
  }
  for (const Tensor& tensor : tensors) {
    bits = std::max(bits, tensor.bits);
  }
  const Tensor made = add(name, Op::einsum, tensors, std::move(positions), bits);
  m_drafts.back().node.work = work;
  return made;
}

void Builder::limit(const Tensor& made, const std::vector<Atoms>& positions) {
  m_drafts[made.node].indices = flat(positions);
}

Tensor Builder::elementwise(const std::string& name, std::vector<Tensor> tensors, bool isLinear, int bits) {
  std::size_t rank = 0;
  for (const Tensor& tensor : tensors) {
    rank = std::max(rank, tensor.positions.size());
    bits = std::max(bits, bits > 0 ? 0 : tensor.bits);
  }
  std::vector<Labels> labels;
  for (const Tensor& tensor : tensors) {
    Labels& each = labels.emplace_back(tensor.positions.size());
    std::iota(each.begin(), each.end(), static_cast<int>(rank - tensor.positions.size()));
  }
  auto seen = join(tensors, labels);
  std::vector<Atoms> positions;
  for (std::size_t i = 0; i < rank; ++i) {
    positions.push_back(seen[static_cast<int>(i)]);
  }
  const Tensor made = add(name, Op::elementwise, tensors, std::move(positions), bits);
  m_drafts.back().node.isLinear = isLinear;
  return made;
}

Tensor Builder::along(const std::string& name, std::vector<Tensor> tensors, const std::set<int>& positions, bool isKept,
                      bool hasOnes) {
  const Tensor all = elementwise(name, std::move(tensors), false);
  Draft& draft = m_drafts.back();
  std::vector<Atoms> kept;
  Atoms free;
  for (std::size_t p = 0; p < all.positions.size(); ++p) {
    if (!positions.contains(static_cast<int>(p))) {
      kept.push_back(all.positions[p]);
      free.insert(free.end(), all.positions[p].begin(), all.positions[p].end());
    } else if (isKept) {
      kept.push_back(all.positions[p]);
    } else if (hasOnes) {
      kept.emplace_back();
    }
  }
  draft.indices = free;
  if (free.empty() && isKept) {
    // Nothing may be divided: what comes of it is not what went in.
    kept = fresh(sizesOf(all));
  }
  draft.dims = m_dims.leaves(flat(kept));
  draft.layout = kept;
  m_dims.addTensor(draft.dims);
  return {all.node, std::move(kept), all.bits};
}

Tensor Builder::reduction(const std::string& name, const Tensor& tensor, const std::set<int>& positions, bool hasOnes) {
  std::vector<Atoms> kept;
  Atoms summed;
  for (std::size_t p = 0; p < tensor.positions.size(); ++p) {
    if (!positions.contains(static_cast<int>(p))) {
      kept.push_back(tensor.positions[p]);
    } else {
      summed.insert(summed.end(), tensor.positions[p].begin(), tensor.positions[p].end());
      if (hasOnes) {
        kept.emplace_back();
      }
    }
  }
  return add(name, Op::reduction, {tensor}, std::move(kept), tensor.bits);
}

Tensor Builder::piece(const std::string& name, const Tensor& tensor, int position, const Atoms& as) {
  std::vector<Atoms> positions = tensor.positions;
  const Atoms from = m_dims.leaves(positions[position]);
  positions[position] = as;
  const Tensor made = add(name, Op::elementwise, {tensor}, std::move(positions), tensor.bits);
  m_drafts.back().node.isLinear = true;
  m_drafts.back().isView = true;
  if (!as.empty() && !from.empty()) {
    m_drafts.back().renamed = {{as.front(), from.front()}};
  }
  return made;
}

Tensor Builder::joined(const std::string& name, std::vector<Tensor> tensors, int position, int64_t size) {
  // Equal pieces under one label, so that an axis can divide all of them; others under one each.
  std::vector<Labels> labels;
  int own = static_cast<int>(tensors.front().positions.size());
  const int64_t first = sizeOf(tensors.front().positions[position]);
  for (const Tensor& tensor : tensors) {
    Labels& each = labels.emplace_back(tensor.positions.size());
    std::iota(each.begin(), each.end(), 0);
    if (position >= static_cast<int>(each.size())) {
      refuse("tensors of different ranks are put together", "give the graph as torch prints it");
    }
    each[position] = sizeOf(tensor.positions[position]) == first ? position : own++;
  }
  auto seen = join(tensors, labels);
  std::vector<Atoms> positions;
  for (std::size_t p = 0; p < tensors.front().positions.size(); ++p) {
    positions.push_back(seen[static_cast<int>(p)]);
  }
  positions[position] = fresh({size})[0];
  std::vector<std::pair<Atom, Atom>> renames;
  for (const Tensor& tensor : tensors) {
    const Atoms from = m_dims.leaves(tensor.positions[position]);
    if (!from.empty() && !positions[position].empty()) {
      const std::pair<Atom, Atom> pair{positions[position].front(), from.front()};
      if (std::find(renames.begin(), renames.end(), pair) == renames.end()) {
        renames.push_back(pair);
      }
    }
  }
  const Tensor made = add(name, Op::elementwise, tensors, std::move(positions), tensors.front().bits);
  m_drafts.back().node.isLinear = true;
  m_drafts.back().renamed = std::move(renames);
  return made;
}

Tensor Builder::opaque(const std::string& name, const std::vector<Tensor>& tensors, const std::vector<int64_t>& sizes,
                       int bits) {
  return add(name, Op::elementwise, tensors, fresh(sizes), bits);
}

void Builder::update(const std::string& name, const Tensor& parameter, Tensor gradient) {
  if (gradient.positions.size() != parameter.positions.size()) {
    refuse("the gradient of " + inQuotes(m_drafts[parameter.node].node.name) + " has other sizes",
           "give the return line as torch prints it");
  }
  Labels labels(parameter.positions.size());
  std::iota(labels.begin(), labels.end(), 0);
  std::vector<Tensor> both{parameter, std::move(gradient)};
  join(both, {labels, labels});
  const auto sorted = [&](const Tensor& tensor) {
    Atoms dims = m_dims.leaves(m_drafts[tensor.node].dims);
    std::sort(dims.begin(), dims.end());
    return dims;
  };
  if (sorted(both[0]) != sorted(both[1])) {
    both[1] = elementwise(m_drafts[both[1].node].node.name + "_whole", {both[1], both[0]}, false, both[1].bits);
  }
  add(name, Op::update, {both[1], both[0]}, parameter.positions, parameter.bits);
}

}  // namespace coppice::io::fx
