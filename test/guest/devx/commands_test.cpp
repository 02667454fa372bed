// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <map>
#include <set>
#include <vector>

#include "hca/user_commands.h"
#include "path.h"

/// @file
/// What the backend over the software HCA permits is what the kernel of this machine permits: every opcode is
/// tried. The kernel answers EINVAL to what it lets no user context do; what it permits goes to the card,
/// which refuses most of it, for the rest of the command means nothing.

namespace chime::test {
namespace {

using hca::Accessor;
using Opcodes = std::set<unsigned>;

constexpr unsigned opcodes = 0x1000;
constexpr std::size_t input_size = 1024;

/// A command whose dwords all hold `number`: wherever the kernel looks for the object's, there it is.
std::vector<std::byte> command(unsigned opcode, unsigned op_mod, std::uint32_t number) {
  std::vector<std::byte> in(input_size);
  for (std::size_t at = 8; at < in.size(); at += 4) prm::set_bits(in.data(), at * 8, 32, number);
  prm::set_bits(in.data(), 0, 16, opcode);
  prm::set_bits(in.data(), 48, 16, op_mod);
  return in;
}

class Commands : public testing::Test {
 protected:
  void SetUp() override {
    context = open_device();
    ASSERT_TRUE(context);
  }
  Handle<ibv_context> context;
  std::byte out[4096]{};
};

TEST_F(Commands, WithoutAnObject) {
  for (unsigned opcode = 0; opcode < opcodes; ++opcode) {
    const auto in = command(opcode, 0, 0);
    const int error = mlx5dv_devx_general_cmd(context.get(), in.data(), in.size(), out, sizeof out);
    EXPECT_EQ(error != EINVAL, hca::is_general(static_cast<prm::cmd_opcode>(opcode)))
        << std::hex << opcode << ": errno " << std::dec << error;
  }
}

TEST_F(Commands, ThatCreate) {
  for (unsigned opcode = 0; opcode < opcodes; ++opcode) {
    for (const unsigned op_mod : {0u, 1u}) {
      const auto in = command(opcode, op_mod, 0);
      errno = 0;
      const Handle<mlx5dv_devx_obj> object(
          mlx5dv_devx_obj_create(context.get(), in.data(), in.size(), out, sizeof out));
      const bool permitted = object || errno != EINVAL;
      EXPECT_EQ(permitted, hca::find_creator(static_cast<prm::cmd_opcode>(opcode), op_mod) != nullptr)
          << std::hex << opcode << ", op_mod " << op_mod << ": errno " << std::dec << errno;
    }
  }
}

struct SetEntry {
  using in = prm::set_fte_in;
  using out = prm::set_fte_out;
};

/// Objects of every kind that this card has.
class Kinds {
 public:
  explicit Kinds(ibv_context* context) : path_(context), context_(context), objects_(path_.objects()) {
    make_tables();
    make_queues();
    Command<prm::alloc_xrcd> xrcd;
    keep(xrcd, xrcd.create(context), prm::alloc_xrcd_out::xrcd);
    Command<prm::alloc_q_counter> counter;
    keep(counter, counter.create(context), prm::alloc_q_counter_out::counter_set_id);
    Command<prm::alloc_flow_counter> flow_counter;
    keep(flow_counter, flow_counter.create(context), prm::alloc_flow_counter_out::flow_counter_id);
    Command<prm::set_l2_table_entry> entry;
    entry.in.set(prm::set_l2_table_entry_in::table_index, 77);
    keep(prm::cmd_opcode::set_l2_table_entry, 77, entry.create(context));
  }

  const std::vector<Path::Made>& objects() const { return objects_; }

 private:
  void keep(prm::cmd_opcode by, std::uint32_t number, Handle<mlx5dv_devx_obj> object) {
    objects_.push_back({by, number, object.get()});
    kept_.push_back(std::move(object));
  }
  template <class C, class F>
  std::uint32_t keep(const Command<C>& done, Handle<mlx5dv_devx_obj> object, F number) {
    const auto value = static_cast<std::uint32_t>(done.out.get(number));
    keep(C::opcode, value, std::move(object));
    return value;
  }

  void make_tables() {
    Command<prm::create_flow_table> table;
    table.in.at(prm::create_flow_table_in::flow_table_context)
        .set(prm::flow_table_context::level, 64)
        .set(prm::flow_table_context::log_size, 4);
    const auto id = keep(table, table.create(context_), prm::create_flow_table_out::table_id);
    Command<prm::create_flow_group> group;
    group.in.set(prm::create_flow_group_in::table_id, id).set(prm::create_flow_group_in::end_flow_index, 15);
    const auto group_id = keep(group, group.create(context_), prm::create_flow_group_out::group_id);
    Command<SetEntry> entry;
    entry.in.set(prm::set_fte_in::table_id, id).set(prm::set_fte_in::flow_index, 5);
    entry.in.at(prm::set_fte_in::flow_context)
        .set(prm::flow_context::group_id, group_id)
        .set(prm::flow_context::action, prm::flow_action::drop);
    keep(prm::cmd_opcode::set_flow_table_entry, 5, entry.create(context_));
  }

  void make_queues() {
    std::map<prm::cmd_opcode, std::uint32_t> number;
    for (const Path::Made& made : objects_) number[made.by] = made.number;
    auto set_wq = [&](prm::View<prm::wq> wq) {
      wq.set(prm::wq::wq_type, prm::wq_type::linked_list)
          .set(prm::wq::pd, number[prm::cmd_opcode::alloc_pd])
          .set(prm::wq::log_wq_sz, 4)
          .set(prm::wq::log_wq_stride, 5)
          .set(prm::wq::wq_umem_id, path_.umem())
          .set(prm::wq::wq_umem_offset, std::uint64_t{Path::free_ring})
          .set(prm::wq::dbr_umem_id, path_.umem())
          .set(prm::wq::dbr_addr, std::uint64_t{Path::free_record});
    };
    Command<prm::create_rmp> rmp;
    rmp.in.at(prm::create_rmp_in::ctx).set(prm::rmpc::state, prm::rmpc_state::rdy);
    set_wq(rmp.in.at(prm::create_rmp_in::ctx).at(prm::rmpc::wq));
    keep(rmp, rmp.create(context_), prm::create_rmp_out::rmpn);

    Command<prm::create_qp> qp;
    qp.in.set(prm::create_qp_in::wq_umem_id, path_.umem())
        .set(prm::create_qp_in::wq_umem_offset, std::uint64_t{Path::free_ring})
        .at(prm::create_qp_in::qpc)
        .set(prm::qpc::st, prm::qpc_st::rc)
        .set(prm::qpc::pm_state, prm::qpc_pm_state::migrated)
        .set(prm::qpc::pd, number[prm::cmd_opcode::alloc_pd])
        .set(prm::qpc::uar_page, path_.uar())
        .set(prm::qpc::cqn_snd, number[prm::cmd_opcode::create_cq])
        .set(prm::qpc::cqn_rcv, number[prm::cmd_opcode::create_cq])
        .set(prm::qpc::log_rq_size, 4)
        .set(prm::qpc::log_rq_stride, 1)
        .set(prm::qpc::log_sq_size, 4)
        .set(prm::qpc::dbr_umem_id, path_.umem())
        .set(prm::qpc::dbr_addr, std::uint64_t{Path::free_record});
    keep(qp, qp.create(context_), prm::create_qp_out::qpn);

    prm::Box<prm::create_rqt_in, prm::rq_num::size> in;
    prm::Box<prm::create_rqt_out> answer;
    in.at(prm::create_rqt_in::rqt_context)
        .set(prm::rqtc::rqt_max_size, 1)
        .set(prm::rqtc::rqt_actual_size, 1)
        .at(prm::rqtc::rq_num, 0)
        .set(prm::rq_num::rq_num_, number[prm::cmd_opcode::create_rq]);
    Handle<mlx5dv_devx_obj> rqt(mlx5dv_devx_obj_create(context_, in.bytes().data(), in.bytes().size(),
                                                       answer.bytes().data(), answer.bytes().size()));
    EXPECT_TRUE(rqt) << "RQT: errno " << errno;
    keep(prm::cmd_opcode::create_rqt, answer.get(prm::create_rqt_out::rqtn), std::move(rqt));
  }

  Path path_;
  ibv_context* context_;
  std::vector<Path::Made> objects_;
  std::vector<Handle<mlx5dv_devx_obj>> kept_;
};

/// Kinds that the card does not have, and so can't decide.
const std::set<prm::cmd_opcode> undecided{
    prm::cmd_opcode::create_srq,
    prm::cmd_opcode::create_xrc_srq,  // not in a umem, and a user has no other memory
    prm::cmd_opcode::create_xrq,
    prm::cmd_opcode::create_dct,
    prm::cmd_opcode::alloc_packet_reformat_context,
    prm::cmd_opcode::alloc_modify_header_context,
    prm::cmd_opcode::create_scheduling_element,
    prm::cmd_opcode::create_general_object,
};

using Pairs = std::set<std::pair<unsigned, unsigned>>;  ///< command, the one that made its object

Pairs expected(std::span<const Accessor> list) {
  Pairs pairs;
  for (const Accessor& accessor : list) {
    if (!undecided.contains(accessor.created_by)) {
      pairs.emplace(static_cast<unsigned>(accessor.opcode), static_cast<unsigned>(accessor.created_by));
    }
  }
  return pairs;
}

std::string difference(const Pairs& some, const Pairs& others) {
  std::string text;
  for (const auto& [opcode, by] : some) {
    char entry[32];
    std::snprintf(entry, sizeof entry, " %#x of %#x", opcode, by);
    if (!others.contains({opcode, by})) text += entry;
  }
  return text;
}

template <class F>
Pairs permitted(const Kinds& kinds, std::initializer_list<unsigned> op_mods, F&& attempt) {
  Pairs pairs;
  for (const Path::Made& made : kinds.objects()) {
    for (unsigned opcode = 0; opcode < opcodes; ++opcode) {
      for (const unsigned op_mod : op_mods) {
        if (attempt(made.object, command(opcode, op_mod, made.number)) != EINVAL) {
          pairs.emplace(opcode, static_cast<unsigned>(made.by));
        }
      }
    }
  }
  return pairs;
}

TEST_F(Commands, ThatRead) {
  const Kinds kinds(context.get());
  const Pairs found = permitted(kinds, {0}, [&](mlx5dv_devx_obj* object, const std::vector<std::byte>& in) {
    return mlx5dv_devx_obj_query(object, in.data(), in.size(), out, sizeof out);
  });
  const Pairs ours = expected(hca::queries());
  EXPECT_EQ(difference(found, ours), "") << "permitted by the kernel alone";
  EXPECT_EQ(difference(ours, found), "") << "permitted by the backend alone";
}

TEST_F(Commands, ThatChange) {
  const Kinds kinds(context.get());
  const Pairs found =
      permitted(kinds, {0, 1}, [&](mlx5dv_devx_obj* object, const std::vector<std::byte>& in) {
        return mlx5dv_devx_obj_modify(object, in.data(), in.size(), out, sizeof out);
      });
  const Pairs ours = expected(hca::modifiers());
  EXPECT_EQ(difference(found, ours), "") << "permitted by the kernel alone";
  EXPECT_EQ(difference(ours, found), "") << "permitted by the backend alone";
}

}  // namespace
}  // namespace chime::test
