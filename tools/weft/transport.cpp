// Asks MPI's tools interface, its version text and the environment. See transport.hpp.
#include "transport.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include "world.hpp"

namespace weft::command {
namespace {

std::string library_text() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  return {text, static_cast<std::size_t>(length)};
}

/// Names of all control variables; none where there is no tools interface.
std::vector<std::string> control_variables() {
  int provided = 0;
  int count = 0;
  std::vector<std::string> names;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return names;
  if (MPI_T_cvar_get_num(&count) != MPI_SUCCESS) count = 0;
  for (int i = 0; i < count; ++i) {
    char name[256] = "";
    int length = sizeof name;
    int verbosity = 0;
    int bind = 0;
    int scope = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const int status = MPI_T_cvar_get_info(i, name, &length, &verbosity, &type, nullptr, nullptr,
                                           nullptr, &bind, &scope);
    if (status == MPI_SUCCESS) names.emplace_back(name);
  }
  MPI_T_finalize();
  return names;
}

/// The components of an Open MPI framework: "btl_tcp_links" is a variable of the component tcp.
std::set<std::string> components(const std::vector<std::string>& variables,
                                 const std::string& framework) {
  std::set<std::string> result;
  for (const std::string& name : variables) {
    if (name.rfind(framework + "_", 0) != 0) continue;
    const std::string rest = name.substr(framework.size() + 1);
    const std::string component = rest.substr(0, rest.find('_'));
    if (component.size() < rest.size() && component != "base") result.insert(component);
  }
  return result;
}

std::string open_mpi_transport() {
  const std::vector<std::string> variables = control_variables();
  const std::set<std::string> pml = components(variables, "pml");
  if (pml.empty()) return "not told";
  std::string text = fmt::format("pml {}", fmt::join(pml, ", "));
  // The pml decides which layer is below it: ob1 has btls, cm has mtls, ucx has neither.
  for (const auto& [upper, lower] : {std::pair{"ob1", "btl"}, std::pair{"cm", "mtl"}})
    if (pml.count(upper) > 0)
      text += fmt::format(", {} {}", lower, fmt::join(components(variables, lower), ", "));
  return text;
}

}  // namespace

std::string mpi_version() {
  const std::string version = library_text();
  return version.substr(0, version.find_first_of(",\n"));
}

std::string transport() {
  const std::string version = library_text();
  if (version.rfind("Open MPI", 0) == 0) return open_mpi_transport();
  const std::size_t device = version.find("ch4:");
  if (device == std::string::npos) return "not told";
  return version.substr(device, version.find_first_of(" \t\n", device) - device);
}

std::string transport_variables() {
  std::string text;
  for (const char* name :
       {"OMPI_MCA_pml", "OMPI_MCA_btl", "OMPI_MCA_mtl", "OMPI_MCA_btl_tcp_if_include", "UCX_TLS",
        "UCX_NET_DEVICES", "FI_PROVIDER", "I_MPI_FABRICS", "I_MPI_OFI_PROVIDER",
        "MPIR_CVAR_OFI_USE_PROVIDER"})
    if (const char* value = std::getenv(name); value != nullptr)
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

}  // namespace weft::command
