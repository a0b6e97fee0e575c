// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "topology/digraph.hpp"

/// Base graphs of the dissertation (Table A.3). All check their parameters; errors: badUsage, limit.
namespace coppice::topology {

/// K_m, degree m-1.
[[nodiscard]] Result<Digraph> complete(int nodes);
/// All nodes linked to all, floor(d/(m-1)) times, and the links that are left over to the nearest (the opposite first
/// where they are odd). @param degree m-1 or more
[[nodiscard]] Result<Digraph> multiComplete(int nodes, int degree);
/// K_{d,d}.
[[nodiscard]] Result<Digraph> completeBipartite(int degree);
/// Jumps 1 .. d on d+2 nodes.
[[nodiscard]] Result<Digraph> directedCirculant(int degree);
/// i joined to i+a and i-a for every jump a; a jump of half the nodes is one link.
[[nodiscard]] Result<Digraph> circulant(int nodes, std::span<const int> jumps);
/// C(n,{m,m+1}) with the smallest diameter m of two jumps (Theorem 22), every link `copies`-fold. @param nodes above 6
[[nodiscard]] Result<Digraph> denseCirculant(int nodes, int copies = 1);
/// Diameter of denseCirculant: ceil((sqrt(2n-1)-1)/2).
[[nodiscard]] int denseCirculantSteps(int nodes);
/// degree/2 links to each of the two neighbours. @param degree even @param nodes 3 or more
[[nodiscard]] Result<Digraph> biRing(int degree, int nodes);
/// `degree` links to the next node.
[[nodiscard]] Result<Digraph> uniRing(int degree, int nodes);
/// Pi_{d,m}: x -> -d x - a mod m, a = 1 .. d (Definition 16); self-loops unless (d+1) divides m.
[[nodiscard]] Result<Digraph> generalizedKautz(int degree, int nodes);
/// x -> d x + a mod d^k, a = 0 .. d-1; d self-loops.
[[nodiscard]] Result<Digraph> deBruijn(int degree, int symbols);
/// H(n,q) = K_q^n.
[[nodiscard]] Result<Digraph> hamming(int dimensions, int side);
/// Z^2 modulo the lattice of (width, 0) and (twist, height): a width x height torus whose columns close with a shift.
[[nodiscard]] Result<Digraph> twistedTorus(int width, int height, int twist);
/// The twisted cube of Hilbers, Koopman and van de Snepscheut: odd dimension n from 3, diameter (n+1)/2.
[[nodiscard]] Result<Digraph> twistedCube(int dimension);

}  // namespace coppice::topology
