// SPDX-License-Identifier: BSD-3-Clause
// Messages of QEMU's vfio-user-pci: as they should be, and as they must not be believed.
#include <fcntl.h>
#include <sys/eventfd.h>

#include "vfio_card.h"

namespace chime::serve::test {
namespace {

TEST_F(Vfio, DescribesTheDevice) {
  connect();
  const auto info = ask(VfioCommand::device_get_info, VfioDeviceInfo{16, 0, 0, 0}).as<VfioDeviceInfo>();
  EXPECT_EQ(info.flags, unsigned{VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET});
  EXPECT_EQ(info.regions, unsigned{VFIO_PCI_NUM_REGIONS});
  EXPECT_EQ(info.irqs, unsigned{VFIO_PCI_NUM_IRQS});
  for (std::uint32_t i = 0; i < VFIO_PCI_NUM_REGIONS; ++i) {
    const auto region = ask(VfioCommand::device_get_region_info, region_number(i)).as<vfio_region_info>();
    EXPECT_EQ(region.index, i);
    EXPECT_EQ(region.size, i == bar ? model::pci::Function::bar_size : i == config ? 256u : 0u) << i;
  }
  for (std::uint32_t i = 0; i < VFIO_PCI_NUM_IRQS; ++i) {
    const auto irqs = ask(VfioCommand::device_get_irq_info, irq_number(i)).as<vfio_irq_info>();
    EXPECT_EQ(irqs.count, i == VFIO_PCI_MSIX_IRQ_INDEX ? 64u : i == VFIO_PCI_INTX_IRQ_INDEX ? 1u : 0u) << i;
  }
  refused(EINVAL, "region 9", VfioCommand::device_get_region_info, region_number(9));
  refused(EINVAL, "interrupts 5", VfioCommand::device_get_irq_info, irq_number(5));
}

TEST_F(Vfio, ReadsAndWritesConfigurationSpace) {
  connect();
  EXPECT_EQ(read(config, 0, 4), 0x101d15b3u);
  EXPECT_EQ(read(config, 2, 1), 0x1du);
  EXPECT_EQ(ask(VfioCommand::region_write, OneWrite{{0x10, config, 4}, 0xffffffff}).errnum(), 0);
  EXPECT_EQ(read(config, 0x10, 4), 0xfe000000u);
  const auto all = ask(VfioCommand::region_read, VfioAccess{0, config, 256});
  ASSERT_EQ(all.payload.size(), sizeof(VfioAccess) + 256);
  EXPECT_EQ(all.as<std::uint32_t>(sizeof(VfioAccess)), 0x101d15b3u);
  const auto odd = ask(VfioCommand::region_read, VfioAccess{1, config, 7});
  for (std::size_t i = 0; i < 7; ++i)
    EXPECT_EQ(odd.payload[sizeof(VfioAccess) + i], all.payload[sizeof(VfioAccess) + 1 + i]) << i;
}

TEST_F(Vfio, ExtendedConfigurationSpaceIsEmpty) {
  connect();
  EXPECT_EQ(read(config, 0x100, 4), 0u) << "no capability";
  EXPECT_EQ(read(config, 0xffc, 4), 0u);
  EXPECT_EQ(ask(VfioCommand::region_write, OneWrite{{0x110, config, 4}, 0xffffffff}).errnum(), 0);
  EXPECT_EQ(read(config, 0x110, 4), 0u);
  EXPECT_EQ(read(config, 0x10, 4), 0u) << "and is not the beginning once more";
  const auto over = ask(VfioCommand::region_read, VfioAccess{0xfc, config, 8});
  ASSERT_EQ(over.payload.size(), sizeof(VfioAccess) + 8);
  EXPECT_EQ(over.as<std::uint32_t>(sizeof(VfioAccess) + 4), 0u);
}

TEST_F(Vfio, ReadsAndWritesTheBarWhereverItLies) {
  connect();
  EXPECT_EQ(read(bar, 0, 4), __builtin_bswap32(35u << 16 | 22u)) << "the client decodes addresses";
  const auto written = ask(VfioCommand::region_write, OneWrite{{0x10, bar, 4}, 0x12000000});
  EXPECT_EQ(written.as<VfioAccess>().count, 4u);
  EXPECT_EQ(read(bar, 0x10, 4), 0x12000000u);
  EXPECT_EQ(read(bar, 0x13, 1), 0x12u);
}

TEST_F(Vfio, APostedWriteIsNotAnswered) {
  connect();
  client->send(VfioCommand::region_write, OneWrite{{0x10, bar, 4}, 0x34000000}, VfioHeader::no_reply);
  client->send(VfioCommand::region_write, OneWrite{{0, 9, 4}, 0}, VfioHeader::no_reply);
  served(2);
  EXPECT_FALSE(client->answer());
  EXPECT_NE(findings.last.find("region 9"), std::string::npos) << "nobody else tells of it";
  EXPECT_EQ(read(bar, 0x10, 4), 0x34000000u);
}

TEST_F(Vfio, SeveralWritesComeAtOnce) {
  connect();
  struct {
    std::uint64_t count = 3;
    VfioWrite writes[3];
  } message;
  const std::uint32_t values[] = {0x11000000, 0x22000000, 0x33000000};
  for (unsigned i = 0; i < 3; ++i) {
    message.writes[i].access = {i == 1 ? 0x14u : 0x10u, bar, 4};
    std::memcpy(message.writes[i].data, &values[i], 4);
  }
  const auto answer = ask(VfioCommand::region_write_multi, message);
  EXPECT_EQ(answer.errnum(), 0);
  EXPECT_EQ(answer.payload.size(), sizeof(std::uint64_t));
  EXPECT_EQ(answer.as<std::uint64_t>(), 3u);
  EXPECT_EQ(read(bar, 0x10, 4), 0x33000000u) << "in their order";
  message.count = 4;
  refused(EINVAL, "4 writes are announced, 3 came", VfioCommand::region_write_multi, message);
  message.count = ~std::uint64_t{0};
  refused(EINVAL, "are announced", VfioCommand::region_write_multi, message);
  refused(EINVAL, "payload of 0 bytes", VfioCommand::region_write_multi);
}

TEST_F(Vfio, RefusesAccessesThatAreNone) {
  connect();
  constexpr std::uint64_t end = model::pci::Function::bar_size;
  refused(EINVAL, "of region 0", VfioCommand::region_read, VfioAccess{end, bar, 4});
  refused(EINVAL, "of region 0", VfioCommand::region_read, VfioAccess{end - 2, bar, 4});
  refused(EINVAL, "of region 0", VfioCommand::region_read, VfioAccess{~std::uint64_t{0}, bar, 4});
  refused(EINVAL, "1, 2, 4 and 8", VfioCommand::region_read, VfioAccess{0, bar, 3});
  refused(EINVAL, "of region 7", VfioCommand::region_read, VfioAccess{0, config, 4097});
  refused(EINVAL, "of region 7", VfioCommand::region_read, VfioAccess{4096, config, 4});
  refused(EINVAL, "region 1 is none", VfioCommand::region_read, VfioAccess{0, 1, 4});
  refused(EINVAL, "payload of 8 bytes", VfioCommand::region_read, std::uint64_t{0});
  refused(EINVAL, "brings 0", VfioCommand::region_write, VfioAccess{0, bar, 4});
  refused(EINVAL, "1, 2 and 4", VfioCommand::region_write, OneWrite{{0, config, 8}, 0});
  refused(EINVAL, "brings 8", VfioCommand::region_write, OneWrite{{0, config, 255}, 0});
}

TEST_F(Vfio, MapsAndUnmapsMemory) {
  connect();
  const std::size_t before = open_descriptors();
  {
    const FileDescriptor file = memory_file(1 << 20);
    const VfioDmaMap map{32, VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE, 0x1000, 0x100000, 0x2000};
    EXPECT_EQ(ask(VfioCommand::dma_map, map, 0u, std::vector<int>{file.get()}).errnum(), 0);
    VfioDmaMap read_only = map;
    read_only.address = 0x200000;
    read_only.flags = VFIO_DMA_MAP_FLAG_READ;
    EXPECT_EQ(ask(VfioCommand::dma_map, read_only, 0u, std::vector<int>{file.get()}).errnum(), 0);
    VfioDmaMap no_file = map;
    no_file.address = 0x300000;
    EXPECT_EQ(ask(VfioCommand::dma_map, no_file).errnum(), 0);
    refused(EEXIST, "overlap", VfioCommand::dma_map, map, 0u, std::vector<int>{file.get()});
  }
  served(0);
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_NE(memory.map(0x100000, 0x2000), nullptr);
  EXPECT_EQ(memory.map(0x200000, 1), nullptr) << "a card must not write there";
  EXPECT_EQ(memory.map(0x300000, 1), nullptr);
  refused(EINVAL, "only a part", VfioCommand::dma_unmap, VfioDmaUnmap{24, 0, 0x100000, 0x1000});
  refused(ENOTSUP, "dirty pages", VfioCommand::dma_unmap, VfioDmaUnmap{24, 1, 0x100000, 0x2000});
  const auto gone = ask(VfioCommand::dma_unmap, VfioDmaUnmap{24, 0, 0x100000, 0x2000});
  EXPECT_EQ(gone.as<VfioDmaUnmap>().size, 0x2000u);
  EXPECT_EQ(memory.map(0x100000, 1), nullptr);
  EXPECT_EQ(ask(VfioCommand::dma_unmap, VfioDmaUnmap{24, 0, 0x300000, 0x2000}).errnum(), 0) << "of no file";
  EXPECT_EQ(ask(VfioCommand::dma_unmap, VfioDmaUnmap{24, VFIO_DMA_UNMAP_FLAG_ALL, 0, 0}).errnum(), 0);
}

class VfioVectors : public Vfio {
 protected:
  static constexpr std::uint32_t eventfd_set = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
  static VfioIrqSet set(std::uint32_t flags, std::uint32_t start, std::uint32_t count,
                        std::uint32_t index = VFIO_PCI_MSIX_IRQ_INDEX) {
    return {20, flags, index, start, count};
  }
  /// Times that the event was signalled.
  std::uint64_t signalled(const FileDescriptor& event) {
    std::uint64_t count = 0;
    return eventfd_read(event.get(), &count) == 0 ? count : 0;
  }
  const FileDescriptor a{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)}, b{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
};

TEST_F(VfioVectors, AreEvents) {
  connect();
  const std::size_t before = open_descriptors();
  EXPECT_FALSE(interrupts.signal(3));
  EXPECT_EQ(ask(VfioCommand::device_set_irqs, set(eventfd_set, 3, 2), 0u, std::vector<int>{a.get(), b.get()})
                .errnum(),
            0);
  EXPECT_TRUE(interrupts.signal(3));
  EXPECT_TRUE(interrupts.signal(4));
  EXPECT_TRUE(interrupts.signal(4));
  EXPECT_EQ(signalled(a), 1u);
  EXPECT_EQ(signalled(b), 2u);
  EXPECT_FALSE(interrupts.signal(5));
  EXPECT_FALSE(interrupts.signal(64));
  EXPECT_EQ(ask(VfioCommand::device_set_irqs, set(eventfd_set, 3, 1)).errnum(), 0)
      << "no descriptor: taken away";
  EXPECT_FALSE(interrupts.signal(3));
  EXPECT_TRUE(interrupts.signal(4));
  EXPECT_EQ(ask(VfioCommand::device_set_irqs, set(VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER, 0, 0))
                .errnum(),
            0);
  EXPECT_FALSE(interrupts.signal(4));
  served(0);
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(VfioVectors, ThatAreNoneAreRefused) {
  connect();
  const std::vector<int> both{a.get(), b.get()};
  refused(EINVAL, "vectors 63 to 65", VfioCommand::device_set_irqs, set(eventfd_set, 63, 2), 0u, both);
  refused(EINVAL, "the card has 64", VfioCommand::device_set_irqs, set(eventfd_set, ~0u, 1));
  refused(EINVAL, "the card has 64", VfioCommand::device_set_irqs, set(eventfd_set, 1, ~0u));
  refused(EINVAL, "2 eventfds came for 3", VfioCommand::device_set_irqs, set(eventfd_set, 0, 3), 0u, both);
  refused(ENOTSUP, "MSI-X vectors", VfioCommand::device_set_irqs,
          set(eventfd_set, 0, 1, VFIO_PCI_MSI_IRQ_INDEX));
  refused(ENOTSUP, "eventfds are set", VfioCommand::device_set_irqs,
          set(VFIO_IRQ_SET_DATA_BOOL | VFIO_IRQ_SET_ACTION_TRIGGER, 0, 1));
  refused(EINVAL, "payload", VfioCommand::device_set_irqs, std::uint32_t{0});
  EXPECT_EQ(ask(VfioCommand::device_set_irqs, set(eventfd_set, 0, 1, VFIO_PCI_INTX_IRQ_INDEX), 0u,
                std::vector<int>{a.get()})
                .errnum(),
            0)
      << "INTA#, which is never raised";
}

TEST_F(VfioVectors, AreNoPipes) {
  connect();
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const FileDescriptor reader(ends[0]), writer(ends[1]), file = memory_file(4096);
  for (const int fd : {writer.get(), file.get()}) {
    refused(EINVAL, "vector 1 is no eventfd", VfioCommand::device_set_irqs, set(eventfd_set, 0, 2), 0u,
            std::vector<int>{a.get(), fd});
  }
  EXPECT_FALSE(interrupts.signal(0)) << "all or none";
}

TEST_F(VfioVectors, NeverBlock) {
  connect();
  const FileDescriptor blocking(eventfd(0, EFD_CLOEXEC));
  ASSERT_EQ(eventfd_write(blocking.get(), ~std::uint64_t{1}), 0);
  ask(VfioCommand::device_set_irqs, set(eventfd_set, 0, 1), 0u, std::vector<int>{blocking.get()});
  EXPECT_TRUE(interrupts.signal(0)) << "a full counter has been signalled";
  EXPECT_EQ(signalled(blocking), ~std::uint64_t{1});
  EXPECT_TRUE(interrupts.signal(0));
  EXPECT_EQ(signalled(blocking), 1u);
}

TEST_F(VfioVectors, AreRaisedWithoutATable) {
  connect();
  ask(VfioCommand::device_set_irqs, set(eventfd_set, 0, 1), 0u, std::vector<int>{a.get()});
  model::pci::ConfigSpace space({});
  model::pci::Msix msix(space, interrupts, 64);
  msix.raise(0);
  msix.raise(1);
  EXPECT_EQ(signalled(a), 1u);
  EXPECT_EQ(msix.delivered(), 1u);
  EXPECT_EQ(msix.lost(), 1u);
}

TEST_F(Vfio, ADeviceResetIsAnswered) {
  connect();
  ask(VfioCommand::region_write, OneWrite{{0x10, config, 4}, 0xe0000000});
  EXPECT_EQ(ask(VfioCommand::device_reset).errnum(), 0);
  EXPECT_EQ(read(config, 0x10, 4), 0u);
}

TEST_F(Vfio, RefusesWhatItDoesNotKnow) {
  connect();
  for (const auto command :
       {VfioCommand::device_get_region_io_fds, VfioCommand::dirty_pages, VfioCommand::device_feature,
        VfioCommand::mig_data_read, VfioCommand::mig_data_write})
    refused(ENOTSUP, "not supported", command);
  for (const auto command : {VfioCommand::dma_read, VfioCommand::dma_write, VfioCommand{0}, VfioCommand{999}})
    refused(EINVAL, "no such request", command);
  EXPECT_EQ(read(config, 0, 2), 0x15b3u) << "and goes on";
}

}  // namespace
}  // namespace chime::serve::test
