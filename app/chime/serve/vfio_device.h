// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/error.h"
#include "guest_memory.h"
#include "listener.h"
#include "message_stream.h"
#include "model/diagnostics.h"
#include "model/pci/function.h"
#include "transport.h"
#include "vfio_interrupts.h"
#include "vfio_message.h"

namespace chime::serve {

/// Makes the messages of QEMU's vfio-user-pci (10.1 and later) accesses to a PCI function. QEMU connects to
/// our socket, once: from when a version is agreed on, others are refused. A guest's stores come as posted
/// writes: it does not wait for them.
///
/// A request that makes no sense is answered with an error, and told to the diagnostics; what is no request
/// ends the connection.
class VfioDevice final : public Transport {
 public:
  /// All that is referred to outlives the device.
  VfioDevice(Listener listener, model::pci::Function& function, GuestMemory& memory,
             VfioInterrupts& interrupts, model::Diagnostics& diagnostics) noexcept
      : listener_(std::move(listener)),
        function_(function),
        memory_(memory),
        interrupts_(interrupts),
        diagnostics_(diagnostics) {}

  int fd() const noexcept override { return stream_ ? stream_->fd() : listener_.fd(); }
  short events() const noexcept override { return stream_ ? stream_->events() : short{POLLIN}; }
  Result<unsigned> serve() noexcept override;

 private:
  struct Request {
    VfioHeader header;
    std::span<const std::byte> payload;
    std::span<const int> descriptors;
  };
  /// The payload of an answer, in answer_ or in the request.
  using Answer = Result<std::span<const std::byte>>;

  Result<unsigned> serve_newcomer() noexcept;
  Result<unsigned> serve_connection() noexcept;
  Result<> execute(const MessageStream::Message& message) noexcept;
  Result<> answer(const VfioHeader& request, std::span<const std::byte> payload, int errnum) noexcept;
  Answer dispatch(const Request& request) noexcept;
  Answer negotiate(const Request& request) noexcept;
  Answer map_memory(const Request& request) noexcept;
  Answer unmap_memory(const Request& request) noexcept;
  Answer describe_device(const Request& request) noexcept;
  Answer describe_region(const Request& request) noexcept;
  Answer describe_irq(const Request& request) noexcept;
  Answer set_irqs(const Request& request) noexcept;
  Answer read_region(const Request& request) noexcept;
  Answer write_region(const Request& request) noexcept;
  Answer write_regions(const Request& request) noexcept;
  Result<> write(const VfioAccess& access, std::span<const std::byte> data) noexcept;
  template <class T>
  Answer answer_with(const T& value) noexcept;

  Listener listener_;
  std::optional<MessageStream> stream_;
  model::pci::Function& function_;
  GuestMemory& memory_;
  VfioInterrupts& interrupts_;
  model::Diagnostics& diagnostics_;
  bool negotiated_ = false;
  std::array<std::byte, vfio_largest> answer_;  ///< room for its header at the beginning
};

}  // namespace chime::serve
