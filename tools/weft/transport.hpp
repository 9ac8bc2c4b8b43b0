// Which way MPI's messages take, as far as an MPI tells.
#pragma once

#include <string>

namespace weft::command {

/// "pml ob1, btl self, tcp, vader" for Open MPI: the components that it has left open after
/// MPI_Init, by the control variables that they have (MPI's tools interface). "ch4:ofi" for MPICH
/// and its kin. "not told" otherwise. To be called between MPI_Init and MPI_Finalize.
std::string transport();

/// Variables of the environment by which the user has chosen a transport, as "NAME=value ...";
/// empty when there are none.
std::string transport_variables();

/// "Open MPI v4.1.4": the beginning of what MPI says about itself.
std::string mpi_version();

}  // namespace weft::command
