/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTE_PMD_CHIME_H
#define RTE_PMD_CHIME_H

/**
 * @file
 * What librte_net_chime.so offers beside ethdev: reliable connections and RDMA atomics from the packet loop.
 * Link with `pkg-config --libs chime`, or look the functions up with dlsym() in an application that loads the
 * driver with `-d`. rte_pmd_chime.hpp has owners for C++.
 *
 * A *worker* is a UAR and a completion queue that one lcore owns. *Queue pairs* (RC) are made on it,
 * connected by exchanging *endpoints*, and post *operations* on *memory* that was registered on either side.
 *
 *     lcore -> post -> send ring -> doorbell -> card ~~ wire ~~ card -> memory of the peer
 *     lcore <- poll <- completion queue <- card ~~~~~~~~~~~~~~~~~~~~~~~ original value
 *
 * Numbers are in host order everywhere; the driver makes what the card reads big-endian.
 *
 * Errors: functions that return int answer 0 or a negative errno value; those that return a pointer answer
 * NULL. Both set rte_errno, and rte_pmd_chime_last_error() has the sentence. Posting and polling set
 * rte_errno only when they stop early.
 *
 * Threads: control functions may be called from any thread of the primary process and sleep; those of one
 * worker and its queue pairs only while no other thread uses them. Posting and polling belong to the lcore
 * that owns the worker, or to any thread when the worker is RTE_PMD_CHIME_WORKER_THREAD_SAFE. In a secondary
 * process everything fails with ENOTSUP: keys and rings are those of the process that opened the card.
 *
 * The port: queue pairs work as soon as they are connected, whether the port is started or not; stopping it
 * does not touch them. rte_eth_dev_reset() is refused (-EBUSY) as long as there are handles.
 * rte_eth_dev_close() and detaching can't be refused: they end what the handles reach on the card; then
 * nothing is posted (ENODEV), nothing is polled, and handles are only good for freeing. As for bursts, no
 * thread may be within a function of the port's handles while it closes.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rte_mempool;

/**
 * The version of the driver in this process, which may be newer than the one compiled against.
 *
 * @return "major.minor.patch", valid as long as the driver is loaded. Never fails; callable from any thread,
 *   also before rte_eal_init().
 */
const char* rte_pmd_chime_version(void);

/**
 * Why the last function of this file that failed in this thread did so: what was tried, what was wrong, what
 * would work. @return a sentence, valid until the thread's next call; "" when none failed
 */
const char* rte_pmd_chime_last_error(void);

/* ---- Capabilities ---- */

/** What is posted; also the kind of its completion. */
enum rte_pmd_chime_opcode {
  RTE_PMD_CHIME_WRITE = 0,
  RTE_PMD_CHIME_WRITE_IMM = 1, /**< takes a receive at the other end */
  RTE_PMD_CHIME_SEND = 2,
  RTE_PMD_CHIME_SEND_IMM = 3,
  RTE_PMD_CHIME_READ = 4,
  /* Atomics; `old` is the value at the target, which is always returned.           new value at the target */
  RTE_PMD_CHIME_FETCH_ADD = 5,    /**< operand 0: add.                         old + add */
  RTE_PMD_CHIME_COMPARE_SWAP = 6, /**< 0: swap, 1: compare.                    old == compare ? swap : old */
  RTE_PMD_CHIME_MASKED_FETCH_ADD = 7, /**< 0: add, 1: field boundary. A set bit of it is the most significant
                                           one of a field, no carry leaves it */
  RTE_PMD_CHIME_MASKED_COMPARE_SWAP = 8, /**< 0: swap, 1: compare, 2: swap mask, 3: compare mask.
                                              ((compare ^ old) & compare_mask) == 0 ?
                                              (old & ~swap_mask) | (swap & swap_mask) : old */
  RTE_PMD_CHIME_FETCH_AND = 9,           /**< operand 0.                              old & value */
  RTE_PMD_CHIME_FETCH_OR = 10,           /**< operand 0.                              old | value */
  RTE_PMD_CHIME_FETCH_XOR = 11,          /**< operand 0.                              old ^ value */
  RTE_PMD_CHIME_SWAP = 12,               /**< operand 0.                              value */
  RTE_PMD_CHIME_OPCODES = 13,
  /* Kinds of completions of receives. */
  RTE_PMD_CHIME_RECV = 0x40,
  RTE_PMD_CHIME_RECV_IMM = 0x41,
  RTE_PMD_CHIME_RECV_WRITE_IMM = 0x42 /**< `length` bytes were written where the peer chose */
};

/** What the port's card offers, by QUERY_HCA_CAP. Sizes: bit n says that operands of 2^n bytes are there. */
struct rte_pmd_chime_rdma_capa {
  uint16_t
      operations; /**< as the manual has it: 1 compare-and-swap, 2 fetch-and-add, 4 and 8 masked; 0: none */
  uint16_t sizes; /**< of masked ones; the plain ones have 8 bytes */
  uint16_t opcode_sizes[RTE_PMD_CHIME_OPCODES]; /**< by enum rte_pmd_chime_opcode, what posting accepts */
  uint8_t global;          /**< 1: atomic against the CPU and other cards too (PCI Express atomics of 8
                                bytes); 0: only against atomics through the same card */
  uint8_t endianness_mode; /**< in force: 1: the card writes 8-byte originals in host order, 0: big-endian */
  uint8_t endianness_mode_1;    /**< 1: the card has mode 1 */
  uint8_t reserved;             /**< 0 */
  uint16_t pci_fetch_add;       /**< sizes of fetch-and-add that go as PCI Express atomics */
  uint16_t pci_swap;            /**< the same of swap */
  uint16_t pci_compare_swap;    /**< the same of compare-and-swap */
  uint32_t largest_atomic;      /**< bytes; 0: none */
  uint32_t max_send_depth;      /**< basic blocks */
  uint32_t max_receive_depth;   /**< receives */
  uint32_t max_completions;     /**< of a worker */
  uint32_t max_queue_pairs;     /**< of the card, whoever makes them */
  uint32_t max_initiator_depth; /**< reads and atomics of a queue pair outstanding */
  uint32_t max_responder_depth; /**< reads and atomics that a queue pair answers at once */
  uint32_t max_inline;          /**< bytes */
  uint32_t gids;                /**< places of the GID table */
};

/** @return 0, -ENODEV (no such port, or not of this driver), -ENOTSUP (secondary process) */
int rte_pmd_chime_rdma_capa_get(uint16_t port_id, struct rte_pmd_chime_rdma_capa* capa);

/**
 * A place of the port's GID table. @param port_id of the port @param index from 0; 0 is the link-local
 * address of the port's MAC @param gid 16 bytes @param mac 6 bytes
 * @return 0, -ENODATA: the place is empty, -EINVAL: there is no such place
 */
int rte_pmd_chime_gid_get(uint16_t port_id, uint32_t index, uint8_t* gid, uint8_t* mac);
/**
 * Gives the port a GID from an IP address, for queue pairs whose packets cross routers. It stays until the
 * port is closed or reset. Who else needs to reach it asks for its MAC by ARP or neighbour discovery, which
 * the embedded HCA answers with the device argument `responder=1`; a card's kernel does.
 * @param port_id of the port @param address in network order @param length 4: IPv4, 16: IPv6
 * @return its place in the table, the old one if it has it already; -EINVAL (a multicast or zero address,
 *   another length), -ENOSPC (the table is full), -ENOTSUP (a card without RoCE)
 */
int rte_pmd_chime_gid_add(uint16_t port_id, const uint8_t* address, size_t length);

/** Which condition of a write that is atomic against atomics fails. */
enum rte_pmd_chime_write_atomicity {
  RTE_PMD_CHIME_WRITE_ATOMIC = 0,
  RTE_PMD_CHIME_WRITE_NO_ATOMICS = 1, /**< the card has none */
  RTE_PMD_CHIME_WRITE_NOT_ENABLED =
      2,                            /**< the receiving queue pair is without RTE_PMD_CHIME_QP_ATOMIC_WRITES */
  RTE_PMD_CHIME_WRITE_TOO_LONG = 3, /**< longer than the largest atomic */
  RTE_PMD_CHIME_WRITE_CROSSES_A_UNIT = 4, /**< not within one naturally aligned unit */
  RTE_PMD_CHIME_WRITE_EMPTY = 5
};

/**
 * Whether a remote write is atomic against atomics. @param port_id of the receiver (a card like it)
 * @param address of the write @param length of the write, bytes
 * @param qp_flags of the receiving queue pair @return enum rte_pmd_chime_write_atomicity, or a negative errno
 * value; where a condition fails, rte_pmd_chime_last_error() says it in words
 */
int rte_pmd_chime_write_is_atomic(uint16_t port_id, uint32_t qp_flags, uint64_t address, uint64_t length);

/* ---- Memory ---- */

/** Right of this side's own requests to write what they bring; reading for them needs none. */
#define RTE_PMD_CHIME_LOCAL_WRITE 0x1u
/** Right of the other end to RDMA READ. */
#define RTE_PMD_CHIME_REMOTE_READ 0x2u
/** Right of the other end to RDMA WRITE; of memory it needs RTE_PMD_CHIME_LOCAL_WRITE, too. */
#define RTE_PMD_CHIME_REMOTE_WRITE 0x4u
/** Right of the other end to atomics; of memory it needs RTE_PMD_CHIME_LOCAL_WRITE, too. */
#define RTE_PMD_CHIME_REMOTE_ATOMIC 0x8u

struct rte_pmd_chime_mem;

/** What another process needs to reach registered memory. Between hosts of one byte order it may be sent as
 * it is. */
struct rte_pmd_chime_mem_desc {
  uint64_t address; /**< of the first byte, as the other side's operations name it */
  uint64_t length;  /**< bytes */
  uint32_t rkey;    /**< for rte_pmd_chime_op::rkey */
  uint16_t rights;  /**< RTE_PMD_CHIME_REMOTE_..., as registered */
  uint16_t check;   /**< of the fields before; see rte_pmd_chime_mem_desc_check() */
};

/**
 * Registers a range of this process's memory. It must stay mapped until it is unregistered.
 * @param port_id of the port @param address first byte @param length bytes
 * @param rights RTE_PMD_CHIME_LOCAL_WRITE, ... @return NULL: EINVAL, EFAULT (not mapped writable), ENOMEM,
 * ENODEV
 */
struct rte_pmd_chime_mem* rte_pmd_chime_mem_register(uint16_t port_id, void* address, size_t length,
                                                     uint32_t rights);
/** Registers all memory of a mempool of anything, in as many parts as it has; of mbufs: where their data lie.
 */
struct rte_pmd_chime_mem* rte_pmd_chime_mem_register_pool(uint16_t port_id, struct rte_mempool* pool,
                                                          uint32_t rights);
/**
 * Ends the registration: the keys become invalid, on this side and the other. Requests that still use them
 * fail with local protection (0x04) here, remote access (0x13) there; a checked worker refuses them, and
 * rte_pmd_chime_qp_diagnose() names ended keys. NULL is ignored.
 */
void rte_pmd_chime_mem_unregister(struct rte_pmd_chime_mem* mem);
/** Parts that the memory was registered in; 1 for a range. */
uint32_t rte_pmd_chime_mem_parts(const struct rte_pmd_chime_mem* mem);
/** The key of the part around `address` for this side's operations. @return 0, -ENOENT: not in it, -ENODEV */
int rte_pmd_chime_mem_lkey(const struct rte_pmd_chime_mem* mem, const void* address, uint32_t* lkey);
/** The descriptor of a part. @return 0, -EINVAL, -ENODEV */
int rte_pmd_chime_mem_export(const struct rte_pmd_chime_mem* mem, uint32_t part,
                             struct rte_pmd_chime_mem_desc* desc);
/**
 * Whether a descriptor is whole, and an access lies within it, is aligned (atomics) and allowed.
 * @param desc the descriptor @param offset of the access from its address @param length of the access, bytes
 * @param right RTE_PMD_CHIME_REMOTE_READ, _WRITE or _ATOMIC; 0: any
 * @return 0, -EBADMSG (torn, or of another byte order), -ERANGE, -EACCES, -EINVAL (not aligned)
 */
int rte_pmd_chime_mem_desc_check(const struct rte_pmd_chime_mem_desc* desc, uint64_t offset, uint64_t length,
                                 uint32_t right);

/* ---- Workers ---- */

struct rte_pmd_chime_worker;

/** Posting and polling take a lock: any thread may use the worker and its queue pairs. */
#define RTE_PMD_CHIME_WORKER_THREAD_SAFE 0x1u
/** Posting looks every lkey up (a lock and a search each) and refuses what is not registered: EKEYEXPIRED. */
#define RTE_PMD_CHIME_WORKER_CHECKED 0x2u

/** What a worker is made with. */
struct rte_pmd_chime_worker_conf {
  uint32_t completions; /**< room in the completion queue, a power of two: at least the sum of the depths of
                           all queue pairs, so that it never overruns; 0: 4096 */
  uint32_t flags;       /**< RTE_PMD_CHIME_WORKER_... */
  int32_t socket;       /**< NUMA node of rings; -1: any */
};

/** Makes a worker. @param port_id of the port @param conf NULL: defaults @return NULL: EINVAL, ENOMEM,
 * ENODEV, ENOTSUP */
struct rte_pmd_chime_worker* rte_pmd_chime_worker_create(uint16_t port_id,
                                                         const struct rte_pmd_chime_worker_conf* conf);
/** Frees a worker. @return 0, -EBUSY: it has queue pairs. NULL is ignored. */
int rte_pmd_chime_worker_free(struct rte_pmd_chime_worker* worker);

/* ---- Queue pairs ---- */

struct rte_pmd_chime_qp;

#define RTE_PMD_CHIME_QP_SIGNAL_ALL 0x1u /**< as if every operation had RTE_PMD_CHIME_OP_SIGNALED */
#define RTE_PMD_CHIME_QP_ATOMIC_WRITES \
  0x2u /**< takes remote writes as atomic; see rte_pmd_chime_write_is_atomic() */

/** Atomics whose operands no request holds (compare-and-swap and its kin of 256 bytes): 1 KiB more a basic
 * block. */
#define RTE_PMD_CHIME_QP_WIDE 0x4u

/** What a queue pair is made with. */
struct rte_pmd_chime_qp_conf {
  /**
   * Room for sending in basic blocks of 64 bytes, a power of two, 16 at least; 0: 128. An operation takes
   * 1: read, write, send of one buffer; plain atomics; masked fetch-and-add of 4 and 8 bytes, masked
   *    compare-and-swap (and, or, swap) of 4 bytes;
   * 2: masked compare-and-swap of 8 bytes, masked fetch-and-add of 16 bytes;
   * more: (3 + operands * bytes / 16 + 3) / 4 with 2 operands for adding and xor, 4 for the others; and
   *    (2 + (bytes + 4 + 15) / 16 + 3) / 4 for bytes in line.
   */
  uint32_t send_depth;
  uint32_t receive_depth;   /**< receives; 0: none, or a power of two, 4 at least */
  uint32_t max_inline;      /**< bytes of RTE_PMD_CHIME_OP_INLINE */
  uint32_t flags;           /**< RTE_PMD_CHIME_QP_... */
  uint32_t rights;          /**< what the other end may do: RTE_PMD_CHIME_REMOTE_... */
  uint16_t initiator_depth; /**< reads and atomics outstanding, a power of two; 0: 16 or the most there is */
  uint16_t responder_depth; /**< reads and atomics of the other end that are answered at once; 0: as above */
  uint16_t gid_index;       /**< own address: place in the GID table, see rte_pmd_chime_gid_add() */
  uint16_t reserved;        /**< 0 */
  int32_t socket;           /**< NUMA node of rings; -1: any */
};

/** One end of a connection, for the other. */
struct rte_pmd_chime_endpoint {
  uint32_t qpn;      /**< number of the queue pair, 24 bits */
  uint32_t psn;      /**< its first packet's */
  uint8_t gid[16];   /**< an IPv4 address is mapped into IPv6 (RFC 4291, 2.5.5.2) */
  uint8_t mac[6];    /**< where its frames go; on another network that of the router there */
  uint16_t mtu;      /**< bytes of a packet's payload: 256, 512, 1024, 2048 or 4096 */
  uint16_t depth;    /**< reads and atomics that it answers at once */
  uint16_t reserved; /**< 0 */
  uint32_t check;    /**< of the fields before */
};

/** How a connection's packets are sent, and how long they are tried. */
struct rte_pmd_chime_path {
  uint16_t mtu;             /**< 0: the smaller one of the ends' */
  uint16_t udp_source_port; /**< 0: chosen by both numbers */
  uint8_t traffic_class;    /**< DSCP << 2 | ECN */
  uint8_t hop_limit;        /**< 0: 64 */
  uint8_t ack_timeout;      /**< a request is sent again after 4.096 us << n; 0: never, at most 31 */
  uint8_t retry_count;      /**< so many times, 0 to 7 */
  uint8_t rnr_retry;        /**< so many times when the receiver is not ready, 7: for ever */
  uint8_t min_rnr_timer; /**< code of the time that the other end waits then: 1: 0.01 ms, 12: 0.64 ms, 31: 491
                            ms */
};
/** ack_timeout 14 (67 ms), retry_count 7, rnr_retry 7, min_rnr_timer 12; all else 0. */
void rte_pmd_chime_path_default(struct rte_pmd_chime_path* path);

/** Makes a queue pair, in state INIT. @return NULL: EINVAL, ENOSPC (the worker has no room for its
 * completions), ENODATA (no such GID), ENOMEM, ENODEV */
struct rte_pmd_chime_qp* rte_pmd_chime_qp_create(struct rte_pmd_chime_worker* worker,
                                                 const struct rte_pmd_chime_qp_conf* conf);
/** Completions that are not polled yet are lost. NULL is ignored. */
void rte_pmd_chime_qp_destroy(struct rte_pmd_chime_qp* qp);

/** What the other end must know; another one after every reset. */
int rte_pmd_chime_qp_local(const struct rte_pmd_chime_qp* qp, struct rte_pmd_chime_endpoint* endpoint);
/**
 * To ready-to-send. @param qp in reset @param remote the other end
 * @param path NULL: as rte_pmd_chime_path_default() has it
 * @return 0, -EBADMSG (torn endpoint), -EINVAL (a field is impossible), -EISCONN (reset it first), -ENODEV
 */
int rte_pmd_chime_qp_connect(struct rte_pmd_chime_qp* qp, const struct rte_pmd_chime_endpoint* remote,
                             const struct rte_pmd_chime_path* path);
/**
 * Back to where it was before it was connected, after an error or not: with a new first PSN, so both ends
 * exchange endpoints and connect anew. Requests, receives and completions that were not polled are forgotten.
 */
int rte_pmd_chime_qp_reset(struct rte_pmd_chime_qp* qp);
/** Moves it to error: everything outstanding completes as flushed. */
int rte_pmd_chime_qp_fail(struct rte_pmd_chime_qp* qp);

/** As the manual numbers them. */
enum rte_pmd_chime_qp_state {
  RTE_PMD_CHIME_QP_RESET = 0,
  RTE_PMD_CHIME_QP_INIT = 1,
  RTE_PMD_CHIME_QP_RTR = 2,
  RTE_PMD_CHIME_QP_RTS = 3,
  RTE_PMD_CHIME_QP_SQER = 4,
  RTE_PMD_CHIME_QP_ERR = 6,
  RTE_PMD_CHIME_QP_SQD = 7
};

/** Where a queue pair stands. */
struct rte_pmd_chime_qp_info {
  uint32_t qpn;           /**< its number */
  uint32_t state;         /**< enum rte_pmd_chime_qp_state */
  uint32_t send_psn;      /**< of the next request's first packet */
  uint32_t receive_psn;   /**< of the packet that must come next */
  uint32_t outstanding;   /**< basic blocks whose completion was not polled */
  uint16_t posted;        /**< basic blocks, modulo 2^16: as posted, */
  uint16_t recorded;      /**< as the doorbell record has them, */
  uint16_t known;         /**< as the card learned from a doorbell, */
  uint16_t taken;         /**< as the card took them */
  uint8_t failure;        /**< status of the first completion with an error; 0: none */
  uint8_t failure_vendor; /**< its vendor syndrome */
  uint8_t failure_opcode; /**< its kind, enum rte_pmd_chime_opcode */
  uint8_t reserved;       /**< 0 */
};
/** Asks the card where the queue pair stands, in any state. @return 0, -ENODEV */
int rte_pmd_chime_qp_query(const struct rte_pmd_chime_qp* qp, struct rte_pmd_chime_qp_info* info);
/**
 * What probably went wrong, in a sentence with the numbers of this very case: a doorbell before its record,
 * a misaligned address, a stale or byte-swapped key, missing rights, no room for the result; else the
 * status's explanation. @return the length without NUL, or a negative errno value
 */
int rte_pmd_chime_qp_diagnose(const struct rte_pmd_chime_qp* qp, char* text, size_t size);

/* ---- Endpoints and descriptors as text ---- */

#define RTE_PMD_CHIME_TEXT_SIZE 160 /**< bytes that any of them fits in, NUL included */

/** @return the length without NUL, -ENOSPC (size is less than RTE_PMD_CHIME_TEXT_SIZE) */
int rte_pmd_chime_endpoint_format(const struct rte_pmd_chime_endpoint* endpoint, char* text, size_t size);
/** @return 0, -EINVAL (names the field), -EBADMSG (its check is wrong) */
int rte_pmd_chime_endpoint_parse(const char* text, struct rte_pmd_chime_endpoint* endpoint);
/**
 * Sets the check of an endpoint that was put together by hand: of a peer that has no such descriptor, such as
 * a queue pair of rdma-core.
 */
void rte_pmd_chime_endpoint_seal(struct rte_pmd_chime_endpoint* endpoint);
/** As rte_pmd_chime_endpoint_format(). */
int rte_pmd_chime_mem_desc_format(const struct rte_pmd_chime_mem_desc* desc, char* text, size_t size);
/** As rte_pmd_chime_endpoint_parse(). */
int rte_pmd_chime_mem_desc_parse(const char* text, struct rte_pmd_chime_mem_desc* desc);

/**
 * A TCP connection to exchange them over; an ordinary socket, to be closed with close().
 * @param where "HOST:PORT", "[IPv6]:PORT" or ":PORT" @param timeout_ms milliseconds to wait
 * @return a file descriptor, -ETIMEDOUT, -EINVAL, ...
 */
int rte_pmd_chime_exchange_accept(const char* where, uint32_t timeout_ms);
/** Tries again until the time is over: the peer may start later. */
int rte_pmd_chime_exchange_reach(const char* where, uint32_t timeout_ms);
/** Sends one's own, receives the peer's. @return 0, -ETIMEDOUT, -ECONNRESET, or as parsing answers */
int rte_pmd_chime_exchange_endpoint(int fd, const struct rte_pmd_chime_endpoint* mine,
                                    struct rte_pmd_chime_endpoint* theirs, uint32_t timeout_ms);
/** As rte_pmd_chime_exchange_endpoint(). */
int rte_pmd_chime_exchange_mem_desc(int fd, const struct rte_pmd_chime_mem_desc* mine,
                                    struct rte_pmd_chime_mem_desc* theirs, uint32_t timeout_ms);

/* ---- Posting and polling ---- */

#define RTE_PMD_CHIME_OP_SIGNALED 0x1u  /**< has a completion; others have one only when they fail */
#define RTE_PMD_CHIME_OP_FENCE 0x2u     /**< begins after earlier reads and atomics of the queue pair ended */
#define RTE_PMD_CHIME_OP_SOLICITED 0x4u /**< the peer's completion is a solicited one */
#define RTE_PMD_CHIME_OP_INLINE \
  0x8u /**< write and send: the bytes are taken while posting; lkey is ignored */

/**
 * An operand of an atomic: up to 8 bytes a number; else its 8-byte words, each in host order, the most
 * significant first. Word i, of an operand and of the original value, is that of the 8 bytes at `remote` + 8
 * * i. No source settles how a card orders the bytes within them for sizes other than 8; what is added,
 * compared and returned agrees.
 */
union rte_pmd_chime_operand {
  uint64_t value;        /**< up to 8 bytes */
  const uint64_t* words; /**< more: `length` / 8 of them; read while posting */
};

/** One operation, 72 bytes. */
struct rte_pmd_chime_op {
  uint64_t cookie;   /**< comes back in the completion */
  uint8_t opcode;    /**< enum rte_pmd_chime_opcode */
  uint8_t flags;     /**< RTE_PMD_CHIME_OP_... */
  uint16_t reserved; /**< 0 */
  uint32_t length;   /**< bytes; of an atomic: 4, 8, 16, 32, 64, 128 or 256 */
  /**
   * The bytes to write or send, or where those that are read go, or the original value of an atomic: there in
   * host order once its completion was polled (without a completion: as the card writes it). 0 for an atomic
   * of up to 8 bytes: the queue pair has room of its own.
   */
  uintptr_t local;
  uint32_t lkey;   /**< of `local`, from rte_pmd_chime_mem_lkey() */
  uint32_t rkey;   /**< of `remote`, from the other side's memory descriptor */
  uint64_t remote; /**< of an atomic: a multiple of its length */
  union {
    uint32_t imm; /**< of RTE_PMD_CHIME_WRITE_IMM and _SEND_IMM */
    union rte_pmd_chime_operand operand[4];
  };
};

/**
 * Posts operations in order; one doorbell for all that are taken. No lock, no system call.
 * @return how many were taken. Fewer than `count`: rte_errno says why the next was not: EAGAIN (the ring is
 * full: poll, post the rest again), EINVAL (misaligned, a size that is none, no room for the result, ...),
 * ENOTSUP (not offered at this size), EMSGSIZE, EKEYEXPIRED (checked workers), ENOTCONN, ENODEV;
 *   rte_pmd_chime_post_error() in words. What was taken completes in any case.
 */
uint16_t rte_pmd_chime_post(struct rte_pmd_chime_qp* qp, const struct rte_pmd_chime_op* ops, uint16_t count);
/** Why the last burst on this queue pair that stopped early did so. @return a sentence that stays valid */
const char* rte_pmd_chime_post_error(const struct rte_pmd_chime_qp* qp);

/** Room for what the other end sends. */
struct rte_pmd_chime_recv {
  uint64_t cookie; /**< comes back in the completion */
  uintptr_t local; /**< first byte */
  uint32_t length; /**< 0: for writes with immediate data */
  uint32_t lkey;   /**< with RTE_PMD_CHIME_LOCAL_WRITE */
};
/** Posts receives, before connecting or after. @return as rte_pmd_chime_post() */
uint16_t rte_pmd_chime_post_recv(struct rte_pmd_chime_qp* qp, const struct rte_pmd_chime_recv* recvs,
                                 uint16_t count);

/** What became of an operation or a receive; half a cache line. */
struct rte_pmd_chime_completion {
  uint64_t cookie;         /**< of the operation or the receive */
  uint64_t original;       /**< of an atomic of up to 8 bytes; of longer ones it is in `local` */
  uint32_t length;         /**< bytes: of a receive as many as came */
  uint32_t imm;            /**< immediate data of a receive */
  uint32_t qpn;            /**< of this side's queue pair */
  uint8_t kind;            /**< enum rte_pmd_chime_opcode */
  uint8_t status;          /**< 0, or the manual's syndrome; `original` and `length` say nothing then */
  uint8_t vendor_syndrome; /**< the maker's own number beside it */
  uint8_t reserved;        /**< 0 */
};
/**
 * Takes completions of all queue pairs of the worker, each queue pair's sends in order.
 * @return how many of `completions` were written, at most `count`
 */
uint16_t rte_pmd_chime_poll(struct rte_pmd_chime_worker* worker, struct rte_pmd_chime_completion* completions,
                            uint16_t count);

/**
 * A completion's status in a sentence: likely causes and the remedy. Thread-safe, never fails, valid for
 * ever. rte_pmd_chime_qp_diagnose() looks at the very case.
 */
const char* rte_pmd_chime_strerror(uint8_t status, uint8_t vendor_syndrome);

/** What `chime explain` prints. Syndromes by rising number, then the five classic traps. */
struct rte_pmd_chime_explanation {
  const char* name;    /**< "remote access error" */
  const char* symptom; /**< of traps; "" for syndromes */
  const char* causes;  /**< the likely ones */
  const char* remedy;  /**< what to do */
  uint8_t syndrome;    /**< 0 for traps */
};
/** @return 0, -ENOENT: there are only so many */
int rte_pmd_chime_explanation_get(uint32_t index, struct rte_pmd_chime_explanation* explanation);

/* ---- Named forms ---- */

/** An atomic of up to 8 bytes with a completion; operands are set by the functions below or by hand. */
static inline struct rte_pmd_chime_op rte_pmd_chime_atomic(uint8_t opcode, uint32_t bytes, uint64_t remote,
                                                           uint32_t rkey, uint64_t cookie) {
  struct rte_pmd_chime_op op;
  op.cookie = cookie;
  op.opcode = opcode;
  op.flags = RTE_PMD_CHIME_OP_SIGNALED;
  op.reserved = 0;
  op.length = bytes;
  op.local = 0;
  op.lkey = 0;
  op.rkey = rkey;
  op.remote = remote;
  op.operand[0].value = op.operand[1].value = op.operand[2].value = op.operand[3].value = 0;
  return op;
}

static inline void rte_pmd_chime_op_add(struct rte_pmd_chime_op* op, uint64_t add) {
  op->opcode = RTE_PMD_CHIME_FETCH_ADD;
  op->operand[0].value = add;
}
static inline void rte_pmd_chime_op_compare_swap(struct rte_pmd_chime_op* op, uint64_t compare,
                                                 uint64_t swap) {
  op->opcode = RTE_PMD_CHIME_COMPARE_SWAP;
  op->operand[0].value = swap;
  op->operand[1].value = compare;
}
static inline void rte_pmd_chime_op_and(struct rte_pmd_chime_op* op, uint64_t value) {
  op->opcode = RTE_PMD_CHIME_FETCH_AND;
  op->operand[0].value = value;
}
static inline void rte_pmd_chime_op_or(struct rte_pmd_chime_op* op, uint64_t value) {
  op->opcode = RTE_PMD_CHIME_FETCH_OR;
  op->operand[0].value = value;
}
static inline void rte_pmd_chime_op_xor(struct rte_pmd_chime_op* op, uint64_t value) {
  op->opcode = RTE_PMD_CHIME_FETCH_XOR;
  op->operand[0].value = value;
}
static inline void rte_pmd_chime_op_swap(struct rte_pmd_chime_op* op, uint64_t value) {
  op->opcode = RTE_PMD_CHIME_SWAP;
  op->operand[0].value = value;
}
/**
 * Adds to several fields at once. @param op the operation @param add summands, a field each
 * @param boundary a set bit is the most significant bit of a field
 */
static inline void rte_pmd_chime_op_add_fields(struct rte_pmd_chime_op* op, uint64_t add, uint64_t boundary) {
  op->opcode = RTE_PMD_CHIME_MASKED_FETCH_ADD;
  op->operand[0].value = add;
  op->operand[1].value = boundary;
}

/** Bits [shift, shift + width) of a word, width 1 to 64. */
static inline uint64_t rte_pmd_chime_field_mask(unsigned shift, unsigned width) {
  return (width >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << width) - 1) << shift;
}
/** A field of a completion's original value. */
static inline uint64_t rte_pmd_chime_field_of(uint64_t original, unsigned shift, unsigned width) {
  return (original & rte_pmd_chime_field_mask(shift, width)) >> shift;
}
/**
 * Fields narrower than the operation: `width` bits from bit `shift` on of the 4 or 8 bytes at `remote`; all
 * other bits stay. On a little-endian host the byte at address a is bits 8 * (a % 4) of the 4 bytes around
 * it.
 */
static inline void rte_pmd_chime_op_add_field(struct rte_pmd_chime_op* op, unsigned shift, unsigned width,
                                              uint64_t add) {
  rte_pmd_chime_op_add_fields(op, (add << shift) & rte_pmd_chime_field_mask(shift, width),
                              (uint64_t)1 << (shift + width - 1));
}
static inline void rte_pmd_chime_op_swap_field(struct rte_pmd_chime_op* op, unsigned shift, unsigned width,
                                               uint64_t value) {
  op->opcode = RTE_PMD_CHIME_MASKED_COMPARE_SWAP;
  op->operand[0].value = value << shift;
  op->operand[1].value = 0;
  op->operand[2].value = rte_pmd_chime_field_mask(shift, width);
  op->operand[3].value = 0;
}
static inline void rte_pmd_chime_op_compare_swap_field(struct rte_pmd_chime_op* op, unsigned shift,
                                                       unsigned width, uint64_t compare, uint64_t swap) {
  const uint64_t mask = rte_pmd_chime_field_mask(shift, width);
  op->opcode = RTE_PMD_CHIME_MASKED_COMPARE_SWAP;
  op->operand[0].value = swap << shift;
  op->operand[1].value = compare << shift;
  op->operand[2].value = mask;
  op->operand[3].value = mask;
}

#ifdef __cplusplus
}
#endif

#endif
