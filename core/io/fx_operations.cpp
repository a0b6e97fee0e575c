// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "base/checked.hpp"
#include "io/fx_arguments.hpp"

namespace coppice::io::fx {
namespace {

using std::int64_t;

constexpr std::array<std::string_view, 9> kSame{"alias",         "detach",          "clone",
                                                "contiguous",    "lift_fresh_copy", "lift_fresh",
                                                "alias_default", "view_as",         "requires_grad_"};
constexpr std::array<std::string_view, 4> kCast{"_to_copy", "convert_element_type", "to", "type_as"};
constexpr std::array<std::string_view, 4> kView{"view", "reshape", "_unsafe_view", "_reshape_alias"};
constexpr std::array<std::string_view, 12> kMade{"full",          "zeros", "ones",  "empty", "arange",    "iota",
                                                 "scalar_tensor", "rand",  "randn", "eye",   "new_zeros", "new_full"};
constexpr std::array<std::string_view, 8> kMadeAlike{"full_like", "zeros_like", "ones_like", "empty_like",
                                                     "rand_like", "randn_like", "new_empty", "bernoulli"};
/// Linear in all of their tensors together.
constexpr std::array<std::string_view, 8> kSums{"add", "sub", "rsub", "neg", "iadd", "add_", "sub_", "where"};
/// Linear where one of their arguments is a number.
constexpr std::array<std::string_view, 5> kScales{"mul", "div", "true_divide", "mul_", "div_"};
/// The largest, the mean of squares and so on: all of the positions have to be there.
constexpr std::array<std::string_view, 16> kWhole{
    "amax",     "amin",    "max", "min", "argmax",    "argmin", "any",
    "all",      "prod",    "var", "std", "logsumexp", "norm",   "linalg_vector_norm",
    "var_mean", "std_mean"};
constexpr std::array<std::string_view, 5> kAlong{"_softmax", "_log_softmax", "softmax", "log_softmax", "cumsum"};
constexpr std::array<std::string_view, 2> kAlongBackward{"_softmax_backward_data", "_log_softmax_backward_data"};
constexpr std::array<std::string_view, 3> kNorms{"native_layer_norm", "_fused_rms_norm", "rms_norm"};
constexpr std::array<std::string_view, 2> kNormsBackward{"native_layer_norm_backward", "_fused_rms_norm_backward"};
constexpr std::array<std::string_view, 48> kPlain{"pow",
                                                  "exp",
                                                  "log",
                                                  "sqrt",
                                                  "rsqrt",
                                                  "reciprocal",
                                                  "tanh",
                                                  "sigmoid",
                                                  "relu",
                                                  "gelu",
                                                  "silu",
                                                  "gelu_backward",
                                                  "silu_backward",
                                                  "threshold_backward",
                                                  "tanh_backward",
                                                  "sigmoid_backward",
                                                  "sin",
                                                  "cos",
                                                  "abs",
                                                  "square",
                                                  "maximum",
                                                  "minimum",
                                                  "clamp",
                                                  "eq",
                                                  "ne",
                                                  "lt",
                                                  "le",
                                                  "gt",
                                                  "ge",
                                                  "logical_and",
                                                  "logical_or",
                                                  "logical_not",
                                                  "bitwise_and",
                                                  "bitwise_or",
                                                  "bitwise_not",
                                                  "masked_fill",
                                                  "native_dropout",
                                                  "dropout",
                                                  "erf",
                                                  "sign",
                                                  "isnan",
                                                  "isinf",
                                                  "clamp_min",
                                                  "clamp_max",
                                                  "expm1",
                                                  "log1p",
                                                  "leaky_relu",
                                                  "fma"};

/// Of one split.
constexpr std::int64_t kMaxParts = 4096;

class Operation : private Arguments {
public:
  Operation(Builder& builder, const Values& values, const Call& call, std::vector<std::string>& notes)
      : Arguments(builder, values, call), m_notes(notes) {}

  [[nodiscard]] std::vector<Tensor> made() {
    const std::string& op = m_call.target;
    if (op == "getitem") {
      Value part = need(0);
      const int64_t which = integer(need(1));
      if (part.part || which < 0 || which > 1 << 20) {
        m_builder.refuse("a part of a part", kAsPrinted);
      }
      part.part = static_cast<int>(which);
      return {tensorOf(part)};
    }
    if (op.find("all_gather") != std::string::npos || op.find("all_reduce") != std::string::npos ||
        op.find("reduce_scatter") != std::string::npos || op.find("all_to_all") != std::string::npos) {
      m_builder.refuse("the graph is divided over devices already: " + op, "trace the model on one device");
    }
    if (auto made = layout(op)) {
      return {*std::move(made)};
    }
    if (auto made = product(op)) {
      return {*std::move(made)};
    }
    if (auto made = several(op); !made.empty()) {
      return made;
    }
    return {rest(op)};
  }

private:
  /// What changes only how a tensor lies in memory.
  [[nodiscard]] std::optional<Tensor> layout(const std::string& op) {
    if (isOneOf(kSame, op)) {
      return tensor(0);
    }
    if (isOneOf(kView, op)) {
      Tensor of = tensor(0);
      std::vector<int64_t> sizes;
      if (m_call.type) {
        sizes = m_call.type->sizes;
      } else {
        sizes = integers(need(1, "size"));
        int64_t known = 1;
        for (const int64_t size : sizes) {
          known = size > 0 ? checkedMul(known, size) : known;
        }
        std::replace(sizes.begin(), sizes.end(), int64_t{-1},
                     m_builder.sizeOf(fx::flat(of.positions)) / std::max<int64_t>(known, 1));
      }
      return m_builder.viewed(m_call.name, of, sizes);
    }
    if (op == "permute") {
      const Tensor of = tensor(0);
      const auto order = integers(need(1, "dims"));
      Tensor moved{of.node, {}, of.bits};
      std::set<int> seen;
      for (const int64_t each : order) {
        const int at = place(each, of.positions.size());
        moved.positions.push_back(of.positions[at]);
        seen.insert(at);
      }
      if (seen.size() != of.positions.size() || order.size() != seen.size()) {
        m_builder.refuse("the order of permute is not one of all positions", kAsPrinted);
      }
      return moved;
    }
    if (op == "transpose" || op == "t" || op == "swapaxes") {
      Tensor of = tensor(0);
      const std::size_t rank = of.positions.size();
      if (rank >= 2 || op != "t") {
        std::swap(of.positions[place(op == "t" ? 0 : integer(need(1, "dim0")), rank)],
                  of.positions[place(op == "t" ? 1 : integer(need(2, "dim1")), rank)]);
      }
      return of;
    }
    if (op == "expand") {
      return m_builder.expanded(tensor(0), m_call.type ? m_call.type->sizes : integers(need(1, "size")));
    }
    if (op == "unsqueeze") {
      Tensor of = tensor(0);
      const int at = place(integer(need(1, "dim")), of.positions.size() + 1);
      of.positions.insert(of.positions.begin() + at, Atoms{});
      return of;
    }
    if (op == "squeeze") {
      const Tensor of = tensor(0);
      const std::set<int> those = places(argument(1, "dim"), of.positions.size());
      Tensor less{of.node, {}, of.bits};
      for (std::size_t i = 0; i < of.positions.size(); ++i) {
        if (!of.positions[i].empty() || !those.contains(static_cast<int>(i))) {
          less.positions.push_back(of.positions[i]);
        }
      }
      return less;
    }
    if (isOneOf(kCast, op)) {
      const Tensor of = tensor(0);
      return bitsOr(of.bits) == of.bits ? of : m_builder.elementwise(m_call.name, {of}, true, bitsOr(of.bits));
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Tensor> product(const std::string& op) {
    const std::string& name = m_call.name;
    constexpr int kSummed = 100;
    constexpr int kRight = 101;
    if (op == "mm" || op == "bmm" || op == "matmul" || op == "mv" || op == "dot") {
      const Tensor left = tensor(0);
      return matrixProduct(name, left, tensor(1));
    }
    if (op == "addmm" || op == "baddbmm") {
      const Tensor bias = tensor(0);
      const Tensor made = matrixProduct(name + "_product", tensor(1), tensor(2));
      return m_builder.elementwise(name, {made, bias}, true);
    }
    if (op == "linear") {
      const Tensor input = tensor(0);
      Labels labels = run(0, input.positions.size());
      if (labels.empty()) {
        m_builder.refuse("linear of a number", kAsPrinted);
      }
      labels.back() = kSummed;
      Labels output = labels;
      output.back() = kRight;
      const bool hasBias = isTensor(argument(2, "bias"));
      const Tensor made =
          m_builder.einsum(hasBias ? name + "_product" : name, {input, tensor(1)}, {labels, {kRight, kSummed}}, output);
      return hasBias ? m_builder.elementwise(name, {made, tensor(2, "bias")}, true) : made;
    }
    if (op == "einsum") {
      return written(name);
    }
    if (op == "embedding") {
      // A product with rows of which one is 1: no work, and an axis may divide the rows.
      const Tensor indices = tensor(1);
      Labels output = run(0, indices.positions.size());
      output.push_back(kRight);
      return m_builder.einsum(name, {tensor(0), indices}, {{kSummed, kRight}, run(0, indices.positions.size())}, output,
                              0);
    }
    if (op == "embedding_dense_backward") {
      const Tensor gradient = tensor(0);
      std::vector<int64_t> sizes = m_builder.sizesOf(tensor(1));
      sizes.push_back(integer(need(2)));
      const Tensor chosen = m_builder.placeholder(name + "_chosen", {sizes, 0}, true);
      Labels labels = run(0, sizes.size() - 1);
      Labels rows = labels;
      rows.push_back(kSummed);
      labels.push_back(kRight);
      return m_builder.einsum(name, {gradient, chosen}, {labels, rows}, {kSummed, kRight}, 0);
    }
    return std::nullopt;
  }

  /// As torch.matmul: the last two positions are multiplied, those before go together.
  [[nodiscard]] Tensor matrixProduct(const std::string& name, const Tensor& left, const Tensor& right) {
    constexpr int kSummed = 100;
    constexpr int kLeft = 101;
    constexpr int kRight = 102;
    const std::size_t a = left.positions.size();
    const std::size_t b = right.positions.size();
    if (a == 0 || b == 0) {
      m_builder.refuse("a product of matrices with a number", kAsPrinted);
    }
    const std::size_t batch = std::max<std::size_t>({a, b, 2}) - 2;
    const auto labelsOf = [&](std::size_t rank, int row, int column) {
      Labels labels = run(static_cast<int>(batch) - (static_cast<int>(rank) - 2), rank > 2 ? rank - 2 : 0);
      if (rank > 1) {
        labels.push_back(row);
      }
      labels.push_back(column);
      return labels;
    };
    const Labels first = labelsOf(a, kLeft, kSummed);
    Labels second = labelsOf(b, kSummed, kRight);
    if (b == 1) {
      second = {kSummed};
    }
    Labels output = run(0, batch);
    if (a > 1) {
      output.push_back(kLeft);
    }
    if (b > 1) {
      output.push_back(kRight);
    }
    return m_builder.einsum(name, {left, right}, {first, second}, output);
  }

  /// torch.einsum: "bsh,hf->bsf" and its tensors.
  [[nodiscard]] Tensor written(const std::string& name) {
    const std::string& equation = need(0).text;
    const std::size_t arrow = equation.find("->");
    if (arrow == std::string::npos || equation.find('.') != std::string::npos) {
      m_builder.refuse("the equation " + inQuotes(equation) + " is not written out", "write it as bsh,hf->bsf");
    }
    std::vector<Labels> labels(1);
    for (const char letter : equation.substr(0, arrow)) {
      if (letter == ',') {
        labels.emplace_back();
      } else if (letter != ' ') {
        if (std::find(labels.back().begin(), labels.back().end(), letter) != labels.back().end()) {
          m_builder.refuse("a letter twice for one tensor in " + inQuotes(equation), "take the diagonal apart");
        }
        labels.back().push_back(letter);
      }
    }
    Labels output;
    for (const char letter : equation.substr(arrow + 2)) {
      if (letter != ' ') {
        output.push_back(letter);
      }
    }
    std::vector<Tensor> all = m_call.arguments.size() > 1 && m_call.arguments[1].kind == Value::Kind::list
                                  ? tensors(m_call.arguments[1])
                                  : allTensors();
    if (all.size() != labels.size()) {
      m_builder.refuse("the equation " + inQuotes(equation) + " has not as many tensors", kAsPrinted);
    }
    return m_builder.einsum(name, std::move(all), labels, output);
  }

  /// Operations that make more than one tensor.
  [[nodiscard]] std::vector<Tensor> several(const std::string& op) {
    const std::string& name = m_call.name;
    if (op == "split" || op == "split_with_sizes" || op == "chunk" || op == "unbind") {
      return parts(op);
    }
    if (auto made = attentionOf(m_builder, m_values, m_call); !made.empty()) {
      return made;
    }
    if (isOneOf(kNorms, op)) {
      const Tensor of = tensor(0);
      const std::set<int> last = lastPlaces(need(1), of.positions.size());
      std::vector<Tensor> all{of};
      for (std::size_t i = 2; i <= 3; ++i) {
        if (isTensor(argument(i))) {
          all.push_back(tensor(i));
        }
      }
      const Tensor made = m_builder.along(name, all, last, true, true);
      const Tensor mean = m_builder.along(name + "_of_rows", {of}, last, false, true);
      return {made, mean, mean};
    }
    if (isOneOf(kNormsBackward, op)) {
      const Tensor gradient = tensor(0);
      const Tensor of = tensor(1);
      const std::set<int> last = lastPlaces(need(2), of.positions.size());
      const Tensor made = m_builder.along(name, {gradient, of}, last, true, true);
      const Labels labels = run(0, of.positions.size());
      Labels output;
      std::set<int> first;
      for (const int label : labels) {
        if (last.contains(label)) {
          output.push_back(label);
        } else {
          first.insert(label);
        }
      }
      const Tensor weight = m_builder.einsum(name + "_weight", {gradient, of}, {labels, labels}, output, 0);
      return {made, weight, m_builder.reduction(name + "_bias", gradient, first, false)};
    }
    if (op == "native_dropout") {
      const Tensor made = m_builder.elementwise(name, {tensor(0)}, false);
      return {made, m_builder.elementwise(name + "_mask", {tensor(0)}, false, 8)};
    }
    if ((op == "max" || op == "min") && argument(1, "dim") != nullptr && !isTensor(argument(1))) {
      const Tensor of = tensor(0);
      const Tensor made = m_builder.along(name, {of}, places(argument(1, "dim"), of.positions.size()), false,
                                          isTrue(argument(2, "keepdim")));
      return {made, made};
    }
    if (op == "topk") {
      const Tensor of = tensor(0);
      const Value* dim = argument(2, "dim");
      const int at = place(dim != nullptr ? integer(*dim) : -1, of.positions.size());
      Tensor made = m_builder.along(name, {of}, {at}, false, true);
      std::vector<int64_t> sizes = m_builder.sizesOf(made);
      sizes[at] = integer(need(1, "k"));
      made = m_builder.elementwise(name + "_chosen", {m_builder.expanded(made, sizes)}, false);
      return {made, made};
    }
    return {};
  }

  [[nodiscard]] std::set<int> lastPlaces(const Value& shape, std::size_t rank) const {
    const std::size_t count = shape.kind == Value::Kind::list ? shape.items.size() : 1;
    std::set<int> last;
    for (std::size_t i = 0; i < count && i < rank; ++i) {
      last.insert(static_cast<int>(rank - 1 - i));
    }
    return last;
  }

  [[nodiscard]] std::vector<Tensor> parts(const std::string& op) {
    const Tensor of = tensor(0);
    const bool isUnbound = op == "unbind";
    const Value* dim = argument(isUnbound ? 1 : 2, "dim");
    const int at = place(dim != nullptr ? integer(*dim) : 0, of.positions.size());
    const int64_t whole = m_builder.sizeOf(of.positions[at]);
    std::vector<int64_t> sizes = isUnbound ? std::vector<int64_t>{1} : integers(need(1));
    if (sizes.size() == 1) {
      const int64_t count = std::max<int64_t>(sizes[0], 1);
      const int64_t each = op == "chunk" ? (whole + count - 1) / count : count;
      sizes.assign(static_cast<std::size_t>(std::min<int64_t>((whole + each - 1) / each, kMaxParts)), each);
      sizes.back() = whole - each * static_cast<int64_t>(sizes.size() - 1);
    }
    std::vector<Tensor> made;
    std::map<int64_t, Atoms> known;
    for (const int64_t size : sizes) {
      const auto [found, isNew] = known.try_emplace(size);
      if (isNew) {
        found->second = m_builder.fresh({size})[0];
      }
      made.push_back(m_builder.piece(m_call.name, of, at, found->second));
      if (isUnbound) {
        made.back().positions.erase(made.back().positions.begin() + at);
      }
    }
    return made;
  }

  /// Sums, and what is computed element by element.
  [[nodiscard]] Tensor rest(const std::string& op) {
    const std::string& name = m_call.name;
    if (op == "sum" || op == "mean") {
      const Tensor of = tensor(0);
      return m_builder.reduction(name, of, places(argument(1, "dim"), of.positions.size()),
                                 isTrue(argument(2, "keepdim")));
    }
    if (isOneOf(kWhole, op)) {
      const Tensor of = tensor(0);
      return m_builder.along(name, {of}, places(argument(1, "dim"), of.positions.size()), false,
                             isTrue(argument(2, "keepdim")));
    }
    if (isOneOf(kAlong, op)) {
      const Tensor of = tensor(0);
      return m_builder.along(name, {of}, {place(integer(need(1, "dim")), of.positions.size())}, true, true);
    }
    if (isOneOf(kAlongBackward, op)) {
      const Tensor of = tensor(0);
      return m_builder.along(name, {of, tensor(1)}, {place(integer(need(2, "dim")), of.positions.size())}, true, true);
    }
    if (op == "cat") {
      const std::vector<Tensor> all = tensors(need(0, "tensors"));
      const Value* dim = argument(1, "dim");
      const int at = place(dim != nullptr ? integer(*dim) : 0, all.front().positions.size());
      int64_t size = 0;
      for (const Tensor& each : all) {
        size += at < static_cast<int>(each.positions.size()) ? m_builder.sizeOf(each.positions[at]) : 0;
      }
      return m_builder.joined(name, all, at, size);
    }
    if (op == "slice" || op == "select" || op == "narrow") {
      return taken(op);
    }
    const std::vector<Tensor> all = allTensors();
    if (all.empty() || isOneOf(kMade, op) || isOneOf(kMadeAlike, op)) {
      return made(op, all);
    }
    const bool isScaled = isOneOf(kScales, op) && all.size() == 1;
    const bool isSum = isOneOf(kSums, op) && (all.size() > 1 || op == "neg") && op != "where";
    const bool isKnown = isScaled || isSum || isOneOf(kSums, op) || isOneOf(kScales, op) || isOneOf(kPlain, op);
    if (isKnown || !m_call.type || isBroadcast(all)) {
      if (!isKnown) {
        note(op + " is taken as elementwise");
      }
      return m_builder.elementwise(name, all, isScaled || isSum, m_call.type ? m_call.type->bits : 0);
    }
    note(op + " is not known: it needs all of its inputs on each device, and its work is not counted");
    return m_builder.opaque(name, all, m_call.type->sizes, m_call.type->bits);
  }

  /// Whether the tensors broadcast to the sizes of the call.
  [[nodiscard]] bool isBroadcast(const std::vector<Tensor>& all) const {
    const std::vector<int64_t>& sizes = m_call.type->sizes;
    std::vector<int64_t> wide(sizes.size(), 1);
    for (const Tensor& tensor : all) {
      const std::vector<int64_t> own = m_builder.sizesOf(tensor);
      if (own.size() > sizes.size()) {
        return false;
      }
      for (std::size_t i = 0; i < own.size(); ++i) {
        int64_t& size = wide[sizes.size() - own.size() + i];
        if (own[i] != 1 && size != 1 && own[i] != size) {
          return false;
        }
        size = std::max(size, own[i]);
      }
    }
    return wide == sizes;
  }

  [[nodiscard]] Tensor taken(const std::string& op) {
    const Tensor of = tensor(0);
    const Value* dim = argument(1, "dim");
    const int at = place(dim != nullptr ? integer(*dim) : 0, of.positions.size());
    const int64_t whole = m_builder.sizeOf(of.positions[at]);
    if (op == "select") {
      Tensor made = m_builder.piece(m_call.name, of, at, {});
      made.positions.erase(made.positions.begin() + at);
      return made;
    }
    int64_t size = 0;
    if (m_call.type && at < static_cast<int>(m_call.type->sizes.size())) {
      size = m_call.type->sizes[at];
    } else if (op == "narrow") {
      size = integer(need(3, "length"));
    } else {
      const auto bound = [&](std::size_t place, const char* name, int64_t otherwise) {
        const Value* value = argument(place, name);
        const int64_t number = value != nullptr && value->kind == Value::Kind::number ? value->number : otherwise;
        return std::clamp<int64_t>(number < 0 ? number + whole : number, 0, whole);
      };
      const Value* step = argument(4, "step");
      const int64_t by = step != nullptr ? std::max<int64_t>(integer(*step), 1) : 1;
      size = std::max<int64_t>((bound(3, "end", whole) - bound(2, "start", 0) + by - 1) / by, 0);
    }
    return size == whole ? of : m_builder.piece(m_call.name, of, at, m_builder.fresh({size})[0]);
  }

  /// Constants: they cost nothing, wherever they are.
  [[nodiscard]] Tensor made(const std::string& op, const std::vector<Tensor>& all) {
    TensorType type;
    if (m_call.type) {
      type = *m_call.type;
    } else if (isOneOf(kMadeAlike, op) && !all.empty()) {
      type = {m_builder.sizesOf(all.front()), all.front().bits};
    } else if (op == "arange" || op == "iota") {
      type.sizes = {integer(need(m_call.arguments.size() > 1 && op == "arange" ? 1 : 0))};
    } else if (op == "scalar_tensor") {
      type.sizes = {};
    } else if (isOneOf(kMade, op)) {
      type.sizes = integers(need(op.starts_with("new_") ? 1 : 0, "size"));
    } else {
      m_builder.refuse("the sizes of " + inQuotes(op) + " are not told", "give what print_readable() prints");
    }
    return m_builder.placeholder(m_call.name, type, true);
  }

  void note(const std::string& text) {
    if (std::find(m_notes.begin(), m_notes.end(), text) == m_notes.end()) {
      m_notes.push_back(text);
    }
  }

  std::vector<std::string>& m_notes;
};

}  // namespace

std::vector<Tensor> operationOf(Builder& builder, const Values& values, const Call& call,
                                std::vector<std::string>& notes) {
  return Operation(builder, values, call, notes).made();
}

}  // namespace coppice::io::fx
