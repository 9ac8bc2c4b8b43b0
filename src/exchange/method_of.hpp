// MethodOf: the entry in the table of a method that sends messages and whose exchanges are made
// from the problem alone.
#pragma once

#include <utility>

#include "exchange/exchange.hpp"

namespace weft {

/// `Made` is a MessageExchange and has a constructor from an ExchangeProblem.
template <class Made>
class MethodOf final : public ExchangeMethod {
 public:
  using Obstacle = std::string (*)(const ExchangeProblem&);

  /// Without `why_not` the method can do every problem.
  explicit MethodOf(std::string_view name, Obstacle why_not = nullptr, bool blocks = false)
      : name_(name), obstacle_(why_not), blocks_(blocks) {}
  std::string_view name() const override { return name_; }
  std::string obstacle(const ExchangeProblem& problem) const override {
    return obstacle_ == nullptr ? "" : obstacle_(problem);
  }
  bool blocks() const override { return blocks_; }
  bool leaves_home(bool sends_from_sink) const override { return !sends_from_sink; }
  std::unique_ptr<Exchange> make(ExchangeProblem problem) const override {
    return std::make_unique<Made>(std::move(problem));
  }

 private:
  std::string_view name_;
  Obstacle obstacle_;
  bool blocks_;
};

}  // namespace weft
