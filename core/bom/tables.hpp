// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bom/bill.hpp"

/// Bills and cables as text that spreadsheets read. Amounts are exact: decimals, or fractions where those do not end.
namespace coppice::bom {

/// "kind,part,pieces,metres,price,watts", a row per part, and one for the total.
[[nodiscard]] std::string billCsv(const Bill& bill, const Parts& parts);

/// A row per cable with the node, rack and port at both ends, its length and its part. Cables and ports count from 1;
/// the ports of a node are numbered in the order of its cables, those of a switch by the rate that they serve. "7/2" is
/// the second of the ports that port 7 is split into.
[[nodiscard]] std::string cableCsv(const fabric::Fabric& fabric, const Bill& bill, const Parts& parts);

}  // namespace coppice::bom
