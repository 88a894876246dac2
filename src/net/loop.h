// The event loop's names, spelled once: coroutines over one io_context, without type erasure.
//
// Rules for coroutines (g++ 12 miscompiles other shapes): one co_await a statement, alone or as
// `const auto x = co_await f(a, b);`; its arguments are names; no braces, lambdas, ?:, && or || in
// that statement; no TRY.
#pragma once

#include <chrono>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace hearth::net {

namespace asio = boost::asio;
using Failed = boost::system::error_code;
using Executor = asio::io_context::executor_type;
template <typename T>
using Task = asio::awaitable<T, Executor>;
using UseAwaitable = asio::use_awaitable_t<Executor>;
using Descriptor = asio::posix::basic_stream_descriptor<Executor>;
using Ready = asio::posix::descriptor_base::wait_type;
using Timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                         asio::wait_traits<std::chrono::steady_clock>, Executor>;

// The co_await token that puts a failure into `failed` in place of throwing.
inline auto into(Failed& failed) {
  return asio::redirect_error(UseAwaitable(), failed);
}

}  // namespace hearth::net
