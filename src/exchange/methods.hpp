// One line per exchange method; exchange.cpp lists them.
#pragma once

namespace weft {

class ExchangeMethod;

const ExchangeMethod& shared_method();
const ExchangeMethod& mixed_method();
const ExchangeMethod& pairwise_method();
const ExchangeMethod& alltoallv_method();
const ExchangeMethod& ialltoallv_method();
const ExchangeMethod& ring_method();
const ExchangeMethod& persistent_method();
const ExchangeMethod& alltoall_method();
const ExchangeMethod& alltoallw_method();
const ExchangeMethod& scatter_method();
const ExchangeMethod& hierarchical_method();
const ExchangeMethod& rma_method();

}  // namespace weft
