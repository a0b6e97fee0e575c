// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/exchange.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "designer/document/edits.hpp"
#include "io/files.hpp"
#include "io/import_choices.hpp"
#include "io/link_csv.hpp"

namespace coppice::designer {
namespace {

ReadModel withFindings(const fabric::Description& description, std::vector<Finding> findings) {
  const bool hasPlaces = std::any_of(description.nodes.begin(), description.nodes.end(),
                                     [](const fabric::NodeDescription& node) { return node.position.has_value(); });
  ReadModel result = hasPlaces ? readModel(description) : readArranged(description);
  findings.insert(findings.end(), result.findings.begin(), result.findings.end());
  result.findings = std::move(findings);
  return result;
}

}  // namespace

Result<ReadModel> readAnyFabric(std::string_view text, const std::string& fileName, std::stop_token stop) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return Error{
        ErrorCode::badInput, "there is nothing to read", "copy a fabric, or choose a file", {.file = fileName}};
  }
  const auto format = io::detectFormat(fileName, text);
  // An adjacency table in text is not a table of links; the header or a bandwidth in the third column tells.
  const bool isForeign = format && *format != io::FabricFormat::json && *format != io::FabricFormat::adjacency;
  if (!isForeign && io::looksLikeLinkCsv(text)) {
    auto table = io::readLinkCsv(text, fileName);
    if (!table) {
      return table.error();
    }
    return withFindings(table->description, std::move(table->findings));
  }
  if (!format) {
    return format.error();
  }
  if (*format == io::FabricFormat::json) {
    return readFabricFile(text, fileName);
  }
  io::ImportOptions options;
  options.dotHelper.stop = std::move(stop);
  auto imported = readForeign({std::string(text), *format, fileName}, options);
  return imported ? Result<ReadModel>(std::move(imported->read)) : imported.error();
}

std::optional<ForeignText> withOpenChoices(std::string_view text, const std::string& fileName) {
  const auto format = io::detectFormat(fileName, text);
  if (!format || io::choicesOf(*format).empty()) {
    return std::nullopt;
  }
  return ForeignText{std::string(text), *format, fileName};
}

std::vector<io::ImportChoice> ForeignText::choices() const {
  std::vector<io::ImportChoice> open = io::choicesOf(format);
  // A network or NVLink domains say which hosts there are and how they are joined.
  const auto isOfCopies = [](io::ImportChoice choice) {
    return choice == io::ImportChoice::boxes || choice == io::ImportChoice::scaleOut ||
           choice == io::ImportChoice::nics || choice == io::ImportChoice::nvlink;
  };
  if (!others.empty()) {
    std::erase_if(open, isOfCopies);
  }
  for (const io::ClusterFile& other : others) {
    for (const io::ImportChoice choice : io::choicesOf(other.format)) {
      // Only a hint of NCCL leaves the bandwidths of NVLink and of NICs open.
      const bool isKnown = other.format == io::FabricFormat::ncclXml && other.text.find("<gpu") != std::string::npos &&
                           (choice == io::ImportChoice::nvlinkBandwidth || choice == io::ImportChoice::nicBandwidth);
      if (!isOfCopies(choice) && !isKnown && std::find(open.begin(), open.end(), choice) == open.end()) {
        open.push_back(choice);
      }
    }
  }
  return open;
}

std::optional<ForeignText> asCluster(const std::vector<std::string>& paths) {
  if (paths.size() < 2) {
    return std::nullopt;
  }
  std::vector<io::ClusterFile> files;
  for (const std::string& path : paths) {
    std::error_code fault;
    auto text = std::filesystem::is_regular_file(path, fault) ? io::readFile(path) : Error{ErrorCode::io, "no file"};
    const auto format = text ? io::detectFormat(path, *text) : text.error();
    if (!format ||
        !(io::isNetworkFormat(*format) || io::isHostFormat(*format) || *format == io::FabricFormat::nvlinkDomains)) {
      return std::nullopt;
    }
    files.push_back({*std::move(text), path, *format});
  }
  const auto rank = [](const io::ClusterFile& file) {
    return io::isNetworkFormat(file.format) ? 0 : io::isHostFormat(file.format) ? 1 : 2;
  };
  std::stable_sort(files.begin(), files.end(),
                   [&](const io::ClusterFile& a, const io::ClusterFile& b) { return rank(a) < rank(b); });
  // Hosts alone may be of different clusters; a network or NVLink domains join them.
  if (rank(files.front()) == 2 || (rank(files.front()) == 1 && rank(files.back()) == 1)) {
    return std::nullopt;
  }
  ForeignText text{std::move(files.front().text), files.front().format, std::move(files.front().name)};
  text.others.assign(std::make_move_iterator(files.begin() + 1), std::make_move_iterator(files.end()));
  return text;
}

Result<ForeignFabric> readForeign(const ForeignText& text, const io::ImportOptions& options) {
  std::vector<io::ClusterFile> files{{text.text, text.fileName, text.format}};
  files.insert(files.end(), text.others.begin(), text.others.end());
  auto imported = io::importCluster(files, options);
  if (!imported) {
    return imported.error();
  }
  return ForeignFabric{withFindings(imported->description, std::move(imported->findings)), std::move(imported->server),
                       std::move(imported->origins)};
}

Result<std::string> writeFabricAs(const Model& model, ExportFormat format) {
  switch (format) {
    case ExportFormat::dot:
      return io::exportFabric(model.description(), io::FabricFormat::dot);
    case ExportFormat::adjacency:
      return io::exportFabric(model.description(), io::FabricFormat::adjacency);
    case ExportFormat::linkCsv:
      return io::writeLinkCsv(model.description());
    case ExportFormat::fabricJson:
      break;
  }
  return writeFabricFile(model);
}

std::string clipboardText(const Model& model, const std::set<ElementId>& elements) {
  const bool hasOnlyLinks =
      std::all_of(elements.begin(), elements.end(), [](const ElementId& id) { return id.kind == ElementKind::link; });
  if (elements.empty()) {
    return {};
  }
  if (!hasOnlyLinks) {
    return writeFabricFile(edits::extract(model, elements));
  }
  fabric::Description table;
  for (const ElementId& id : elements) {
    if (const Link* link = model.find(id.link())) {
      table.links.push_back({model.nameOf(link->tail),
                             model.nameOf(link->head),
                             link->bandwidth,
                             link->duplex,
                             link->count,
                             link->latency,
                             {}});
    }
  }
  return io::writeLinkCsv(table);
}

}  // namespace coppice::designer
