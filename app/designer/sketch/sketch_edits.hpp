// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/rational.hpp"
#include "sketch/sketch.hpp"

/// Changes to a communication sketch, without anything that shows it. GPUs are counted within a node of `gpus` GPUs.
namespace coppice::designer {

/// The receivers of each sender, whichever way the sketch says them.
[[nodiscard]] std::map<int, std::vector<int>> receiversBySender(const sketch::Sketch& sketch, int gpus);
[[nodiscard]] std::set<int> sendersOf(const sketch::Sketch& sketch, int gpus);
[[nodiscard]] std::set<int> receiversOf(const sketch::Sketch& sketch, int gpus);
/// The GPUs whose data each sender sends; empty = any.
[[nodiscard]] std::map<int, std::vector<int>> ownersBySender(const sketch::Sketch& sketch, int gpus);

/// Joins senders and receivers: pair by pair where there are equally many, a block of receivers for each sender where
/// their number divides, otherwise each sender to all. Where the sketch says whose data a sender sends, all GPUs are
/// shared out again: each goes with itself, or with the last sender before it. Nothing happens for an empty set.
void joinRelays(sketch::Sketch& sketch, int gpus, const std::set<int>& senders, const std::set<int>& receivers);
/// One sender's receivers, or the GPUs whose data it sends.
void setReceivers(sketch::Sketch& sketch, int gpus, int sender, std::vector<int> receivers);
void setOwners(sketch::Sketch& sketch, int gpus, int sender, std::vector<int> owners);
/// Whose data goes by whom.
enum class RelayRule {
  any,     ///< by any sender
  listed,  ///< as the senders' lists say (gpus_to_sender_rev_map)
  blocks   ///< by one GPU of each block of GPUs (chunk_to_relay_map)
};
[[nodiscard]] RelayRule relayRuleOf(const sketch::Sketch& sketch);
/// From one rule to another: lists begin with each GPU by itself or the last sender before it, blocks with the whole
/// box and its first sender.
void setRelayRule(sketch::Sketch& sketch, int gpus, RelayRule rule);
/// The bandwidth of a sender's links is 1/n of that of a NIC (beta_split); nullopt: its share of the NICs.
void setShare(sketch::Sketch& sketch, int sender, const std::optional<Rational>& share);

/// Why a gesture on the drawing means nothing.
enum class PointFault { none, lastReceiver, noSender };
/// A GPU sends to one of other boxes; where it does already, no more. A new sender takes its own data over, and the
/// data of one that sends no more goes by the last sender before it.
[[nodiscard]] PointFault pointToReceiver(sketch::Sketch& sketch, int gpus, int sender, int receiver);
/// The data of a GPU leaves its box by this sender and no other.
[[nodiscard]] PointFault pointToRelay(sketch::Sketch& sketch, int gpus, int owner, int sender);
void setConnections(sketch::Sketch& sketch, int gpus, sketch::Connections connections);

/// Another switch of the node, with the policy of the first. The strategy becomes that of switches.
void addSwitch(sketch::Sketch& sketch, std::vector<int> gpus);
void removeSwitch(sketch::Sketch& sketch, std::size_t index);

/// "0, 2, 5"
[[nodiscard]] QString numbersText(const std::vector<int>& numbers);
/// "0, 2-5": ascending, each once. Nothing for what is not a list of numbers.
[[nodiscard]] std::optional<std::vector<int>> parseNumbers(const QString& text);

}  // namespace coppice::designer
