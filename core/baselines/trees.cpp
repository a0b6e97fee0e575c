// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <numeric>
#include <vector>

#include "baselines/builder.hpp"

/// The double binary tree of Sanders, Speck and Traeff (2009), which NCCL runs: two trees that carry half of the data
/// each, such that the inner ranks of one are leaves of the other.
namespace coppice::baselines {
namespace {

/// Parents in the search tree over places first .. last - 1 whose roots are the numbers with most trailing zeros; odd
/// places are leaves.
void hang(std::vector<int>& parent, int first, int last, int above) {
  if (first >= last) {
    return;
  }
  int root = first;
  for (int place = first; place < last; ++place) {
    const auto zeros = [](int i) { return std::countr_zero(static_cast<unsigned>(i)); };
    root = zeros(place) > zeros(root) ? place : root;
  }
  parent[root] = above;
  hang(parent, first, root, root);
  hang(parent, root + 1, last, root);
}

/// rankAt: the rank at each place; place 0 is the root.
void addTree(Builder& builder, const std::vector<int>& rankAt, int half) {
  const int n = builder.ranks();
  const std::vector<int> parent = binaryTree(n);
  for (int place = 1; place < n; ++place) {
    const int child = rankAt[place];
    const int above = rankAt[parent[place]];
    if (reduces(builder.collective())) {
      builder.send(0, 0, half, half + 1, child, above, true);
    }
    if (builder.collective() != Collective::reduce) {
      builder.send(0, 0, half, half + 1, above, child);
    }
  }
}

}  // namespace

std::vector<int> binaryTree(int count) {
  std::vector<int> parent(count, -1);
  hang(parent, 1, count, 0);
  return parent;
}

int secondTreeMember(int place, int count) {
  return count % 2 == 0 ? count - 1 - place : (place + 1) % count;
}

void addDoubleBinaryTree(Builder& builder) {
  const int n = builder.ranks();
  builder.setAsynchronous();
  builder.setDenominator(2);
  std::vector<int> first(n);
  std::vector<int> second(n);
  for (int place = 0; place < n; ++place) {
    first[place] = (builder.root() + place) % n;
    // A rooted collective keeps its root in both trees, and the others move on by one.
    second[place] = isRooted(builder.collective())
                        ? (place == 0 ? builder.root() : (builder.root() + 1 + place % (n - 1)) % n)
                        : secondTreeMember(place, n);
  }
  addTree(builder, first, 0);
  addTree(builder, second, 1);
}

}  // namespace coppice::baselines
