// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "designer/document/fabric_file.hpp"
#include "io/cluster_files.hpp"
#include "io/fabric_formats.hpp"
#include "io/import_choices.hpp"

/// Fabrics from and to other programs: files of every format that core reads, tables of links, and the clipboard.
namespace coppice::designer {

/// Whatever it is: `.fabric.json` with its drawing, any io::FabricFormat, or a table of links. fileName is for messages
/// and for telling the format. Errors: those of the format;
/// badInput where nothing fits. Runs a helper process for DOT, so call it from another thread for files.
Result<ReadModel> readAnyFabric(std::string_view text, const std::string& fileName, std::stop_token stop = {});

/// A text of another program, and what it is.
struct ForeignText {
  std::string text;
  io::FabricFormat format = io::FabricFormat::json;
  std::string fileName;  ///< for messages
  /// Files that describe the cluster together with this one, as io::importCluster takes them.
  std::vector<io::ClusterFile> others = {};

  /// What the files leave open.
  [[nodiscard]] std::vector<io::ImportChoice> choices() const;
};

/// The files as one text with others, the networks first, if they describe one cluster together: networks, hosts and
/// NVLink domains, and not hosts alone. nullopt for any other files, and where one cannot be read.
[[nodiscard]] std::optional<ForeignText> asCluster(const std::vector<std::string>& paths);

/// The text, if its format leaves something open that a person should say (io::choicesOf).
[[nodiscard]] std::optional<ForeignText> withOpenChoices(std::string_view text, const std::string& fileName);

struct ForeignFabric {
  ReadModel read;
  std::optional<io::ImportedServer> server;
  std::vector<io::NumberOrigin> origins = {};
};
/// Errors: those of the format.
[[nodiscard]] Result<ForeignFabric> readForeign(const ForeignText& text, const io::ImportOptions& options);

enum class ExportFormat { fabricJson, dot, adjacency, linkCsv };
/// Errors: those of the format.
Result<std::string> writeFabricAs(const Model& model, ExportFormat format);

/// The elements as text that another document, an editor or a spreadsheet takes: links alone as a table, else as
/// `.fabric.json`. Empty for nothing.
std::string clipboardText(const Model& model, const std::set<ElementId>& elements);

}  // namespace coppice::designer
