/* SPDX-License-Identifier: Apache-2.0
 *
 * georep.h - the C ABI of Georep's core: placement, re-batching and replication windows
 * for Apache Pulsar's scalable topics.
 *
 * TIERS
 *   Simple         version, init, key hash, layout, place a batch of entries, re-batch one.
 *   Advanced       budget, window, gate, dedup: machines. They take events and return
 *                  actions; they do no I/O, read no clock and start no thread.
 *   Control plane  protobuf messages of georep.proto as bytes, their JSON, peer handshake, layout
 *                  algebra, the convergence machine, the exchange of many topics' states, and
 *                  where replication of existing data starts.
 *
 * A MINIMAL HOST
 *   georep_error e = {.struct_size = sizeof e};
 *   georep_layout dst;
 *   if (georep_start() || georep_init(NULL, &e) || georep_layout_new(json, json_len, 0, &dst, &e)) return die(e.text);
 *   georep_source src = {.struct_size = sizeof src, .profile = GEOREP_PROFILE_PIP486,
 *                        .range_end = 65535, .topic = ..., .cluster = ..., .remote = ...};
 *   georep_entry in = {.addr = (uintptr_t)bytes, .len = n, .ledger = 5, .entry = 0};
 *   georep_decision d;
 *   georep_place(dst, &src, &in, 1, &d, arena, sizeof arena, &used, &needed, &e);
 *   ... send the d.header_len bytes at d.header_addr, then the entry's payload.
 *
 * CONVENTIONS
 *   Status    every function that can fail returns georep_status: GEOREP_OK or a GEOREP_E_*
 *             number. Out-parameters are defined only as the function's text says.
 *   Errors    `err` may be NULL; else err->struct_size must be set, and on failure err->code
 *             and err->text (always NUL-terminated) are filled. There is no global last error.
 *   Threads   any thread may call any function at any time. Calls on the same budget, window,
 *             gate, dedup, converge, exchange or bootstrap handle are serialised inside. A thread that frees a
 *             handle while another uses it is safe: the other call finishes, or gets GEOREP_E_HANDLE.
 *   Memory    the caller owns every byte. Inputs are read during the call only (the one
 *             exception, entries offered to a window, is described there); results go to
 *             memory that the caller passes. Nothing is returned that has to be freed but
 *             handles.
 *   Arena     output memory for headers and payloads. Where it is too small the call says how
 *             many bytes would have been enough.
 *   Strings   are addresses with lengths, UTF-8, not NUL-terminated (NULL with 0 = empty).
 *   Handles   are numbers, never pointers: slot and generation. 0 is never valid; a handle that
 *             was freed, or belongs to another kind, gives GEOREP_E_HANDLE.
 *   Structs   have fixed offsets, no hidden padding, native byte order; they are asserted
 *             below, so that a host can read and write them through raw memory. Option
 *             structs begin with struct_size = sizeof(struct) as the caller was compiled:
 *             the library reads that much, and takes zero for what a newer version added.
 *   Numbers   every constant is append-only: none is ever changed or used again.
 *   Units     bytes, unless a name ends in _millis or _nanos. Sizes of entries are the bytes
 *             as stored; "decompressed" says so.
 *   Faults    bad bytes and bad arguments are statuses. A wild address inside a passed range
 *             is reported as GEOREP_E_FAULT where the platform allows it; do not rely on it.
 *   Process   the library holds a Go runtime: it cannot be unloaded, one copy per process.
 */
#ifndef GEOREP_H
#define GEOREP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__cplusplus)
#define GEOREP_ASSERT(c, text) static_assert(c, text)
#else
#define GEOREP_ASSERT(c, text) _Static_assert(c, text)
#endif

/* ======================================================================= constants */

#define GEOREP_ABI_MAJOR 1u /* another major: refuse to work with it */
#define GEOREP_ABI_MINOR 0u /* additions only */

typedef int32_t georep_status;

#define GEOREP_OK 0
#define GEOREP_E_ARG 1         /* null pointer, bad length, bad struct_size, bad value */
#define GEOREP_E_HANDLE 2      /* stale, foreign or zero handle */
#define GEOREP_E_FORMAT 3      /* bytes that do not parse; the text names the field or byte */
#define GEOREP_E_LIMIT 4       /* a named cap, refused before allocating */
#define GEOREP_E_SPACE 5       /* output memory too small; the exact size is in the out-parameter */
#define GEOREP_E_PANIC 6       /* a bug inside the library, recovered */
#define GEOREP_E_ABI 7         /* struct or library version that does not fit */
#define GEOREP_E_UNSUPPORTED 8 /* not available in this build or for this input */
#define GEOREP_E_STATE 9       /* a legal call at the wrong time */
#define GEOREP_E_EVENT 10      /* some events were refused, see their result; the rest was applied */
#define GEOREP_E_FAULT 11      /* an address that was passed could not be read or written */

/* What happens to an entry (core/placement.Action). */
#define GEOREP_ACTION_VERBATIM 1 /* whole, by its stamp: one segment, one bucket */
#define GEOREP_ACTION_SINGLE 2   /* whole, not a batch: by its outer key */
#define GEOREP_ACTION_UNKEYED 3  /* whole, no key in any message */
#define GEOREP_ACTION_REBATCH 4  /* has to be cut */
#define GEOREP_ACTION_PARK 5     /* no rule places it: keep it, tell somebody */
#define GEOREP_ACTION_DROP 6     /* must not travel */

/* Why (core/placement.Reason). The comment is its name in JSON and status. */
#define GEOREP_REASON_OK 0                  /* ok */
#define GEOREP_REASON_REPLICATED 1          /* replicated */
#define GEOREP_REASON_NOT_IN_REPLICATE_TO 2 /* not-in-replicate-to */
#define GEOREP_REASON_MARKER 3              /* marker */
#define GEOREP_REASON_TXN_ABORTED 4         /* txn-aborted */
#define GEOREP_REASON_EXPIRED 5             /* expired */
#define GEOREP_REASON_COMPACTED_OUT 6       /* compacted-out */
#define GEOREP_REASON_SEGMENT_MISFIT 7      /* segment-misfit */
#define GEOREP_REASON_BUCKET_MISFIT 8       /* bucket-misfit */
#define GEOREP_REASON_UNSTAMPED 9           /* unstamped */
#define GEOREP_REASON_UNKEYED_UNPROVEN 10   /* unkeyed-unproven */
#define GEOREP_REASON_TOO_LARGE 11          /* too-large */
#define GEOREP_REASON_MASKED 12             /* masked */
#define GEOREP_REASON_MALFORMED 13          /* malformed */
#define GEOREP_REASON_ENCRYPTED_BATCH 14    /* encrypted-batch */
#define GEOREP_REASON_CHUNK_INCOMPLETE 15   /* chunk-incomplete */
#define GEOREP_REASON_NO_DESTINATION 16     /* no-destination */
#define GEOREP_REASON_CODEC 17              /* codec */
#define GEOREP_REASON_SIZE_MISMATCH 18      /* size-mismatch */
#define GEOREP_REASON_CHECKSUM 19           /* checksum */
#define GEOREP_REASON_OVERTAKEN 20          /* overtaken */
#define GEOREP_REASON_TOO_LARGE_SINGLE 21   /* too-large-single */
#define GEOREP_REASON_LEGACY_DESTINATION 22 /* legacy-destination */

/* How a key finds its segment (core/keyhash.Profile). */
#define GEOREP_PROFILE_M1 1     /* low 16 bits of Murmur3; no buckets, no stamps */
#define GEOREP_PROFILE_PIP486 2 /* high 16 bits segment, low 16 bits bucket */

#define GEOREP_WHOLE INT64_MAX       /* part number of an entry that was sent whole */
#define GEOREP_NO_SEGMENT UINT64_MAX /* "no segment" */

typedef uint64_t georep_layout;
typedef uint64_t georep_budget;
typedef uint64_t georep_window;
typedef uint64_t georep_gate;
typedef uint64_t georep_dedup;
typedef uint64_t georep_converge;
typedef uint64_t georep_bootstrap;
typedef uint64_t georep_exchange;

/* ======================================================================= plain structs */

/* Error text of one call, in the caller's memory. */
typedef struct georep_error {
    uint32_t struct_size; /* in: sizeof(georep_error) */
    int32_t code;         /* out: the status */
    char text[504];       /* out: NUL-terminated UTF-8 */
} georep_error;
GEOREP_ASSERT(sizeof(georep_error) == 512, "georep_error");

/* Bytes in the caller's memory. */
typedef struct georep_bytes {
    uint64_t addr;
    uint32_t len;
    uint32_t reserved; /* 0 */
} georep_bytes;
GEOREP_ASSERT(sizeof(georep_bytes) == 16, "georep_bytes");

/* Process-wide options. Keep max_procs above the number of host threads that make long calls
 * (re-batching): a short call that finds no room waits tens of milliseconds for it. */
typedef struct georep_options {
    uint32_t struct_size;
    uint32_t max_procs;              /* threads that may be inside the library at once; 0 = 16 */
    uint32_t gc_percent;             /* Go's GOGC; 0 = leave */
    uint32_t hash_tag_min;           /* MessageMetadata field of entry_hash_min; 0 = 33 */
    uint32_t hash_tag_max;           /* ... of entry_hash_max; 0 = 34 */
    uint32_t max_messages;           /* messages in one batch; 0 = 100000 */
    uint64_t memory_limit;           /* soft limit of the Go heap in bytes; 0 = none */
    uint64_t max_entry_bytes;        /* one entry as stored; 0 = 16 MiB */
    uint64_t max_decompressed_bytes; /* one batch decompressed; 0 = 128 MiB */
} georep_options;
GEOREP_ASSERT(sizeof(georep_options) == 48, "georep_options");

/* The source side of a replication: who sends, from which segment, to which remote. */
typedef struct georep_source {
    uint32_t struct_size;
    uint32_t profile;      /* GEOREP_PROFILE_* of the source segment */
    georep_bytes cluster;  /* this cluster's name: written as replicated_from */
    georep_bytes remote;   /* the destination cluster's name: looked up in replicate_to */
    georep_bytes topic;    /* topic://tenant/namespace/name, for the origin record */
    georep_bytes instance; /* topic instance id, for the origin record */
    uint64_t generation;
    uint64_t segment;
    uint32_t range_start; /* the source segment's hash range, inclusive, 0..65535 */
    uint32_t range_end;
    uint32_t legacy;                /* 1 = legacy segment: never verbatim by range */
    uint32_t place_encrypted_batch; /* 1 = a misfit encrypted batch goes whole, 0 = park */
    uint32_t max_message_bytes;     /* the destination's limit for header + payload; 0 = none */
    uint32_t reserved;
} georep_source;
GEOREP_ASSERT(sizeof(georep_source) == 112, "georep_source");

#define GEOREP_ENTRY_EXPIRED 1u     /* flag: past its TTL */
#define GEOREP_ENTRY_TXN_ABORTED 2u /* flag: belongs to an aborted transaction */

/* One entry as read from the source's log (with or without broker entry metadata). */
typedef struct georep_entry {
    uint64_t addr;
    uint32_t len;
    uint32_t flags; /* GEOREP_ENTRY_* */
    int64_t ledger;
    int64_t entry;
} georep_entry;
GEOREP_ASSERT(sizeof(georep_entry) == 32, "georep_entry");

/* georep_place's answer for one entry. */
typedef struct georep_decision {
    uint32_t action;         /* GEOREP_ACTION_* */
    uint32_t reason;         /* GEOREP_REASON_* */
    uint64_t segment;        /* destination segment, GEOREP_NO_SEGMENT where there is none */
    uint64_t header_addr;    /* inside the arena; 0 = no header (not sent whole, or no room) */
    uint32_t header_len;     /* set whenever the entry is sent whole */
    int32_t bucket;          /* destination bucket, -1 where there is none */
    uint32_t route;          /* 16-bit hash that placed an entry which is sent whole */
    uint32_t payload_offset; /* the payload's place in the entry: send header, then this */
    uint32_t payload_len;
    uint32_t messages;     /* in the entry; 1 if it is not a batch */
    uint32_t error_offset; /* reason malformed: the byte that was not understood */
    uint32_t reserved;
} georep_decision;
GEOREP_ASSERT(sizeof(georep_decision) == 56, "georep_decision");

typedef struct georep_rebatch_options {
    uint32_t struct_size;
    uint32_t keep_codec;         /* 1 = parts use the entry's codec, 0 = uncompressed */
    uint32_t max_message_bytes;  /* 0 = the source's, which may be 0 = none */
    uint32_t set_schema_version; /* 1 = replace schema_version by the bytes below */
    georep_bytes schema_version;
    georep_bytes mask; /* messages still to send, bit i of byte i/8; empty = all */
} georep_rebatch_options;
GEOREP_ASSERT(sizeof(georep_rebatch_options) == 48, "georep_rebatch_options");

/* One part: header_len bytes of header at addr, payload_len bytes of payload behind them. */
typedef struct georep_part {
    uint64_t segment;
    int64_t part; /* rank of its last message among those of the entry that go to segment */
    uint64_t addr;
    uint32_t header_len;
    uint32_t payload_len;
    int32_t bucket;
    uint32_t messages;
    uint32_t first_message; /* lowest batch index inside */
    uint32_t hash_min;      /* of the bucket hashes inside */
    uint32_t hash_max;
    uint32_t uncompressed_bytes;
} georep_part;
GEOREP_ASSERT(sizeof(georep_part) == 56, "georep_part");

#ifndef GEOREP_TYPES_ONLY

/* ======================================================================= tier: simple */

/* Returns GEOREP_ABI_MAJOR << 16 | GEOREP_ABI_MINOR of the library. Never fails. */
uint32_t georep_abi_version(void);

/* Writes the library's version text ("0.1.0", NUL-terminated) into buf; *len gets its length
 * without the NUL. E_SPACE if cap <= *len. */
georep_status georep_version(char *buf, uint64_t cap, uint64_t *len);

/* Starts the Go runtime where loading does not (on musl): there, a host calls it before any other
 * function but georep_abi_version, which would wait for ever.
 * Harmless, and GEOREP_OK, where it is not needed. Loading through JNI calls it. E_STATE: another
 * copy of the library runs in this process. */
georep_status georep_start(void);

/* Sets the process-wide options; opt NULL = all defaults. Call it before the first entry is
 * given to the library: hash tags and caps may not change while machines exist (E_STATE once a
 * window or dedup has been created, unless they are equal). E_ABI: a struct_size that is no
 * version of georep_options. */
georep_status georep_init(const georep_options *opt, georep_error *err);

/* Hashes a key's text: *hash = raw Murmur3_32 (seed 0), *segment_hash = the 16 bits that choose
 * the segment under profile, *bucket_hash = the 16 bits that choose the bucket. Each out may be
 * NULL. */
georep_status georep_key_hash(const void *key, uint32_t len, uint32_t profile, uint32_t *hash, uint32_t *segment_hash,
                              uint32_t *bucket_hash, georep_error *err);

/* Makes a layout from Pulsar's ScalableTopicMetadata JSON: as stored, as admin HTTP prints it,
 * or as the Java admin client does; "entryBucketSplits" per segment is optional. profile is that
 * of segments that record none; 0 = pip486 if any segment has entryBucketSplits, else m1.
 *
 * Layouts are immutable and may be shared by any number of calls and machines, which keep what
 * they need: free it as soon as no more calls name it. E_FORMAT names the field. */
georep_status georep_layout_new(const void *json, uint32_t len, uint32_t profile, georep_layout *out,
                                georep_error *err);

/* The same from the bytes of a georep.v1.Layout. */
georep_status georep_layout_from_proto(const void *bytes, uint32_t len, georep_layout *out, georep_error *err);

/* Writes the georep.v1.Layout of a layout. *len = its size, also when E_SPACE. */
georep_status georep_layout_to_proto(georep_layout layout, void *out, uint64_t cap, uint64_t *len, georep_error *err);

/* Frees a layout. E_HANDLE if it is stale; 0 too. */
georep_status georep_layout_free(georep_layout layout);

/* Decides for n entries (up to 65536) where each goes on the destination layout, and writes the
 * spliced header of each that goes whole into the arena (origin record, replicated_from, source
 * position, checksum; the payload is not touched). Wire bytes = header, then the entry's payload.
 *
 * *needed is the arena size that holds all headers (always set), *arena_used = bytes written.
 * arena_cap 0 decides only: GEOREP_OK, header_len set, header_addr 0. With an arena that is too
 * small the headers that do not fit have header_addr 0, every decision is valid, and the status is
 * E_SPACE. An entry that cannot be parsed is not an error of the call: action park, reason
 * malformed, error_offset. Allocates nothing. */
georep_status georep_place(georep_layout destination, const georep_source *source, const georep_entry *entries,
                           uint32_t n, georep_decision *decisions, void *arena, uint64_t arena_cap,
                           uint64_t *arena_used, uint64_t *needed, georep_error *err);

/* Cuts one batch for which georep_place answers rebatch into parts, each for one segment and one
 * bucket, in sending order. A batch that turns out to have no keys comes back as one part with
 * the number GEOREP_WHOLE; one whose messages are all compacted out as no part: drop it.
 *
 * *n_parts and *needed (arena bytes) are exact, also for E_SPACE (arena or parts_cap too small;
 * then nothing in parts is valid). A mask leaves messages out without changing any part number
 * or cut. options may be NULL. E_UNSUPPORTED: the entry is not one to be cut; E_FORMAT: it
 * cannot be opened or its checksum is wrong, the text begins with the reason to park it for;
 * E_LIMIT: a cap. */
georep_status georep_rebatch(georep_layout destination, const georep_source *source,
                             const georep_rebatch_options *options, const georep_entry *entry, void *arena,
                             uint64_t arena_cap, georep_part *parts, uint32_t parts_cap, uint32_t *n_parts,
                             uint64_t *needed, georep_error *err);

#endif /* GEOREP_TYPES_ONLY */

/* ======================================================================= tier: advanced */

/* ----------------------------------------------------------------------- budget
 * One per process: decides who may decompress a batch now. Callers are numbers (`key`), one per
 * window; remotes are numbers too. At most one request per key. */

#ifndef GEOREP_TYPES_ONLY

/* config: bytes of a georep.v1.BudgetConfig. E_ARG: a rate or slots of zero or less. */
georep_status georep_budget_new(const void *config, uint32_t len, georep_budget *out, georep_error *err);
georep_status georep_budget_free(georep_budget budget);

/* Asks for a slot and for `bytes` decompressed bytes. Repeating it changes nothing. */
georep_status georep_budget_request(georep_budget budget, uint64_t key, uint32_t remote, int64_t bytes);

/* Gives the slot back, or cancels the request. Unknown keys are ignored. */
georep_status georep_budget_return(georep_budget budget, uint64_t key);

/* Counts bytes in flight to a remote, and takes them off: payloads that were handed to a producer
 * and have no outcome yet. A remote at its cap of them gets no slot. */
georep_status georep_budget_charge(georep_budget budget, uint32_t remote, int64_t bytes);
georep_status georep_budget_uncharge(georep_budget budget, uint32_t remote, int64_t bytes);

/* Counts bytes of entries that were read for a remote and are not released, and takes them off.
 * They bound reading (georep_budget_room) and never a slot: what was read may be waiting for one. */
georep_status georep_budget_hold(georep_budget budget, uint32_t remote, int64_t bytes);
georep_status georep_budget_unhold(georep_budget budget, uint32_t remote, int64_t bytes);

/* *bytes = how much more may be read for the remote now; 0 or less: nothing. */
georep_status georep_budget_room(georep_budget budget, uint32_t remote, int64_t *bytes);

/* Tells the time: monotonic nanoseconds, never backward. */
georep_status georep_budget_advance(georep_budget budget, int64_t now_nanos);

/* Drains new grants into keys[cap]; *n of them. Call again if *n == cap. *wake_nanos (may be
 * NULL) = when to call advance again for the next grant; 0 = no time to wait for. */
georep_status georep_budget_granted(georep_budget budget, uint64_t *keys, uint32_t cap, uint32_t *n,
                                    int64_t *wake_nanos);

/* Writes a georep.v1.BudgetStatus; *len = its size, also when E_SPACE. */
georep_status georep_budget_status(georep_budget budget, void *out, uint64_t cap, uint64_t *len, georep_error *err);

#endif /* GEOREP_TYPES_ONLY */

/* ----------------------------------------------------------------------- window
 * One per (source segment, remote). Feed what happened, do what it says:
 *
 *     read entries -> OFFER          SEND           -> publish, later OUTCOME
 *     receipts     -> OUTCOME        DELETE         -> delete from the cursor, DELETED/DELETE_FAILED
 *     budget       -> GRANTED        RELEASE        -> the entry's memory is yours again
 *     clock        -> TICK           ASK_BUDGET     -> georep_budget_request, later GRANTED
 *                                    RETURN_BUDGET  -> georep_budget_return
 *                                    ASK_WATERMARK  -> ask the remote, WATERMARK
 *                                    ASK_SCHEMA     -> register it there, SCHEMA_MAPPED/_FAILED
 *                                    CLOSE_PRODUCER -> close that segment's producer
 *     cursor       -> CURSOR         PARKED         -> alarm
 *                                    LAPSE          -> alarm: the cursor lost entries that were not sent
 *
 * BORROWED MEMORY. The bytes of an offered entry must stay where they are, unchanged, until the
 * RELEASE action with its position, or until georep_window_free has returned. SEND actions point
 * into them. An OFFER whose result is not GEOREP_OK, and an OFFER of a position that the window
 * already has (result GEOREP_OK, code set to GEOREP_OFFER_KNOWN), is not borrowed.
 *
 * The arena of georep_window_step belongs to the caller again as soon as the call has returned:
 * SEND actions may point into it, so copy or send those bytes before it is used again. */

typedef struct georep_event {
    uint32_t kind;  /* GEOREP_EV_* */
    uint32_t code;  /* outcome, watermark status, block, or 0/1 */
    uint64_t id;    /* send id or segment */
    int64_t ledger; /* position */
    int64_t entry;
    int64_t part;   /* GEOREP_WHOLE = whole */
    uint64_t addr;  /* entry bytes, or local schema version */
    uint64_t addr2; /* remote schema version */
    uint32_t len;   /* of addr */
    uint32_t len2;  /* of addr2 */
    uint32_t flags; /* OFFER: GEOREP_ENTRY_* */
    int32_t result; /* out: GEOREP_OK or why this event was refused */
    int64_t millis; /* TICK: milliseconds, never backward */
    uint64_t reserved[2];
} georep_event;
GEOREP_ASSERT(sizeof(georep_event) == 96, "georep_event");

/* Event kinds, with the fields they use. */
#define GEOREP_EV_OFFER 1         /* ledger entry addr len flags; entries in rising order */
#define GEOREP_EV_OUTCOME 2       /* id=send id, code=GEOREP_OUTCOME_*; unknown ids are ignored */
#define GEOREP_EV_SEALED 3        /* id=segment: its producer was told "topic terminated" */
#define GEOREP_EV_WATERMARK 4     /* id=segment, code=GEOREP_WATERMARK_*, ledger entry part */
#define GEOREP_EV_GRANTED 5       /* the budget granted this window's request */
#define GEOREP_EV_SCHEMA_MAPPED 6 /* addr/len=local version, addr2/len2=remote version */
#define GEOREP_EV_SCHEMA_FAILED 7 /* addr/len=local version */
#define GEOREP_EV_DELETED 8       /* ledger entry: the cursor has deleted it */
#define GEOREP_EV_DELETE_FAILED 9 /* ledger entry: will be asked for again */
#define GEOREP_EV_SKIP 10         /* ledger entry: an operator lets a parked entry go */
#define GEOREP_EV_PAUSE 11        /* code=1 pause, 0 go on */
#define GEOREP_EV_GATE 12         /* code=1 open, 0 closed (georep_gate_open) */
#define GEOREP_EV_TICK 13         /* millis */
#define GEOREP_EV_BLOCK 14        /* code=GEOREP_BLOCK_*; georep_window_set_remote unblocks */
#define GEOREP_EV_SOURCE_ENDED 15 /* the source segment is sealed, and all that it holds was offered */
#define GEOREP_EV_CURSOR 16       /* ledger entry=mark-delete, id=positions gone since the start, read before it */

#define GEOREP_OFFER_KNOWN 1 /* OFFER, out, in code: already held, not borrowed again */

/* Outcomes of a SEND. After any but ACKED and DUPLICATE the host closes that segment's producer:
 * every other send in flight to it then gets its own outcome, UNKNOWN where nothing is known.
 * Outcomes of one segment are given in the order of its sends, and a send is published once: a host
 * that sent it again by itself could not say for which try a receipt is. The destination must store
 * nothing of a connection behind an entry that it refused. */
#define GEOREP_OUTCOME_ACKED 1
#define GEOREP_OUTCOME_DUPLICATE 2 /* the receipt says the destination had it already */
#define GEOREP_OUTCOME_REFUSED 3   /* certainly not stored by this send */
#define GEOREP_OUTCOME_UNKNOWN 4   /* connection or producer lost: stored or not */
#define GEOREP_OUTCOME_TOO_LARGE 5
#define GEOREP_OUTCOME_CHECKSUM_ERROR 6

#define GEOREP_WATERMARK_KNOWN 1     /* ledger, entry, part: sealed, so they are final */
#define GEOREP_WATERMARK_NONE 2      /* sealed, and nothing of this stream is stored there */
#define GEOREP_WATERMARK_NOT_FINAL 3 /* not sealed yet: asked again later */
#define GEOREP_WATERMARK_GONE 4      /* pruned */
#define GEOREP_WATERMARK_FAILED 5    /* asked again later */

#define GEOREP_BLOCK_HANDSHAKE 1
#define GEOREP_BLOCK_UNSUPPORTED 2
#define GEOREP_BLOCK_INCOMPATIBLE 3
#define GEOREP_BLOCK_DENIED 4 /* the remote refuses this cluster's credentials */

typedef struct georep_action {
    uint32_t kind;    /* GEOREP_DO_* */
    uint32_t path;    /* SEND: GEOREP_ACTION_* that sent it */
    uint32_t reason;  /* GEOREP_REASON_* */
    int32_t bucket;   /* SEND; -1 where there is none */
    uint64_t send_id; /* SEND: to be named in OUTCOME */
    uint64_t segment; /* destination segment */
    int64_t ledger;   /* position of the source entry */
    int64_t entry;
    int64_t part;          /* SEND: part number, GEOREP_WHOLE for a whole entry */
    uint64_t header_addr;  /* SEND: in the arena */
    uint64_t payload_addr; /* SEND: in the entry or the arena; ASK_SCHEMA: the local version */
    uint32_t header_len;
    uint32_t payload_len;
    int64_t bytes;     /* ASK_BUDGET: decompressed bytes; LAPSE: entries; PARKED: 1 = later entries pass it */
    uint32_t messages; /* SEND: messages inside */
    uint32_t reserved;
} georep_action;
GEOREP_ASSERT(sizeof(georep_action) == 96, "georep_action");

/* Action kinds. Sends to one segment must be published in the order given. */
#define GEOREP_DO_SEND 1
#define GEOREP_DO_DELETE 2
#define GEOREP_DO_RELEASE 3
#define GEOREP_DO_ASK_BUDGET 4
#define GEOREP_DO_RETURN_BUDGET 5
#define GEOREP_DO_ASK_WATERMARK 6
#define GEOREP_DO_ASK_SCHEMA 7
#define GEOREP_DO_CLOSE_PRODUCER 8
#define GEOREP_DO_PARKED 9
#define GEOREP_DO_LAPSE 10 /* so many entries (bytes) left the cursor unsent; ledger entry=where it stands */

#ifndef GEOREP_TYPES_ONLY

/* config: bytes of a georep.v1.WindowConfig. The window starts blocked (handshake), with its
 * gate closed. */
georep_status georep_window_new(const void *config, uint32_t len, georep_window *out, georep_error *err);

/* Ends a window: everything it borrowed is free when this returns. */
georep_status georep_window_free(georep_window window);

/* Tells the id of the remote topic's present life, before georep_window_set_remote. Where it
 * differs from the one before, the topic was deleted there and made again: everything that is
 * behind the cursor goes to the new one after the next georep_window_set_remote. */
georep_status georep_window_remote_instance(georep_window window, const void *id, uint32_t len, georep_error *err);

/* The remote's layout and largest message, after a successful handshake and at every change. The
 * window keeps the layout: its handle may be freed. Follow with georep_window_step. Applied at
 * once: give the events that came before, a GEOREP_EV_BLOCK above all, to a step first. */
georep_status georep_window_set_remote(georep_window window, georep_layout layout, uint32_t max_message_bytes,
                                       georep_error *err);

/* Applies events[n_events] in order, then drains what is ready into actions[actions_cap].
 * n_events may be 0. Each event's `result` is set; refused ones change nothing, the others are
 * applied, and the status is E_EVENT (actions are valid then, too).
 *
 * Call again with n_events 0 while *n_actions == actions_cap, or *needed > 0: the next action
 * needs that much free arena (nothing is lost; *arena_used of this call may be consumed first).
 * *arena_used = bytes of the arena that this call's actions point to. */
georep_status georep_window_step(georep_window window, georep_event *events, uint32_t n_events, void *arena,
                                 uint64_t arena_cap, georep_action *actions, uint32_t actions_cap, uint32_t *n_actions,
                                 uint64_t *arena_used, uint64_t *needed, georep_error *err);

/* How much more the host may read from its cursor now; 0 entries = stop reading until a step
 * has made room. */
georep_status georep_window_want(georep_window window, uint32_t *entries, uint64_t *bytes);

/* Writes a georep.v1.WindowStatus; *len = its size, also when E_SPACE. */
georep_status georep_window_status(georep_window window, void *out, uint64_t cap, uint64_t *len, georep_error *err);

/* ----------------------------------------------------------------------- gate
 * Parent-drain gate, one per (source segment, remote): open when every ancestor is drained. */

georep_status georep_gate_new(uint64_t segment, georep_gate *out, georep_error *err);
georep_status georep_gate_free(georep_gate gate);

/* The source cluster's layout, at the start and at every change. */
georep_status georep_gate_layout(georep_gate gate, georep_layout layout, georep_error *err);

/* Answer about one ancestor: `backlog` entries behind the remote's cursor, read while the segment
 * was sealed (sealed_when_read; otherwise the answer does not count); found 0 = no such cursor. */
georep_status georep_gate_backlog(georep_gate gate, uint64_t segment, uint32_t sealed_when_read, int64_t backlog,
                                  uint32_t found);

/* Writes the ancestors to ask about now; *n = how many there are (E_SPACE if more than cap). */
georep_status georep_gate_ask(georep_gate gate, uint64_t *segments, uint32_t cap, uint32_t *n);

/* *open = 1 when the segment may publish. Give it to the window as GEOREP_EV_GATE. */
georep_status georep_gate_open(georep_gate gate, uint32_t *open);

#endif /* GEOREP_TYPES_ONLY */

/* ----------------------------------------------------------------------- dedup
 * The destination's side: one per segment topic. Every published entry that carries an origin
 * record bound to this topic is checked before it is stored. */

#define GEOREP_VERDICT_NOT_OURS 0  /* no origin record, or bound to another topic: store it */
#define GEOREP_VERDICT_NEW 1       /* store it, then call georep_dedup_persisted */
#define GEOREP_VERDICT_DUPLICATE 2 /* stored already: answer the producer "duplicate" */
#define GEOREP_VERDICT_UNKNOWN 3   /* accepted earlier, perhaps not stored: answer "try again" */
#define GEOREP_VERDICT_FULL 4      /* a new origin beyond max_keys: refuse it, nothing was stored */

#define GEOREP_FORM_METADATA 0 /* bytes are a MessageMetadata */
#define GEOREP_FORM_ENTRY                                                                                              \
    1 /* bytes are a whole entry: [broker metadata] [checksum] size
                                  metadata payload; the payload is not read */

/* What georep_dedup_check read: give it back to georep_dedup_persisted unchanged. */
typedef struct georep_dedup_ticket {
    uint32_t struct_size; /* in */
    uint32_t verdict;     /* GEOREP_VERDICT_* */
    uint64_t key;         /* the origin key's number inside this table */
    int64_t ledger;       /* source position */
    int64_t entry;
    int64_t part;
    uint64_t segment; /* origin segment */
    uint64_t generation;
} georep_dedup_ticket;
GEOREP_ASSERT(sizeof(georep_dedup_ticket) == 56, "georep_dedup_ticket");

typedef struct georep_position {
    int64_t ledger;
    int64_t entry;
    int64_t part; /* GEOREP_WHOLE = whole */
} georep_position;
GEOREP_ASSERT(sizeof(georep_position) == 24, "georep_position");

#ifndef GEOREP_TYPES_ONLY

/* bound_topic: this segment topic's own name, as senders write it into the origin record:
 * segment://tenant/namespace/name/0000-7fff-3. max_keys bounds the table; 0 = 65536. */
georep_status georep_dedup_new(const void *bound_topic, uint32_t len, uint32_t max_keys, georep_dedup *out,
                               georep_error *err);
georep_status georep_dedup_free(georep_dedup dedup);

/* Judges one entry that is about to be stored: only give it what a replication producer sent,
 * an ordinary producer's entries must never move a watermark. NEW moves the "pushed" position.
 * NOT_OURS: no replicated_from, or no record, or one of an unknown version, of another cluster
 * or bound to another topic. E_FORMAT: the bytes, or the record of a replicated entry, do not
 * parse; then it must not be stored. */
georep_status georep_dedup_check(georep_dedup dedup, uint32_t form, const void *bytes, uint32_t len,
                                 georep_dedup_ticket *ticket, georep_error *err);

/* The entry of that ticket is stored. Tickets with another verdict than NEW change nothing. */
georep_status georep_dedup_persisted(georep_dedup dedup, const georep_dedup_ticket *ticket);

/* Publishes failed, or the topic was fenced and opened again: "pushed" falls back to what is
 * known to be stored. */
georep_status georep_dedup_failed(georep_dedup dedup);

/* Rebuild after a reload: every stored entry since the snapshot, in log order. Entries that are
 * not ours are ignored. E_FORMAT: this one cannot be read, nothing changed, go on. E_LIMIT: more
 * origins than max_keys, dedup would not be safe: do not open the topic. */
georep_status georep_dedup_replay(georep_dedup dedup, uint32_t form, const void *bytes, uint32_t len,
                                  georep_error *err);

/* Writes a snapshot of what is known to be stored; *len = its size, also when E_SPACE. */
georep_status georep_dedup_snapshot(georep_dedup dedup, void *out, uint64_t cap, uint64_t *len, georep_error *err);
/* Loads one; watermarks only rise. On an error nothing changes: E_FORMAT where it is corrupt or
 * of another topic, then replay the whole log instead. */
georep_status georep_dedup_load(georep_dedup dedup, const void *snapshot, uint32_t len, georep_error *err);

/* key: bytes of a georep.v1.OriginKey. *found = 1 and *out, the highest stored position; or 0. */
georep_status georep_dedup_watermark(georep_dedup dedup, const void *key, uint32_t len, uint32_t *found,
                                     georep_position *out, georep_error *err);

/* Forgets a key: only when its origin says that the segment is gone. */
georep_status georep_dedup_prune(georep_dedup dedup, const void *key, uint32_t len, georep_error *err);

/* Writes a georep.v1.DedupStatus; *len = its size, also when E_SPACE. */
georep_status georep_dedup_status(georep_dedup dedup, void *out, uint64_t cap, uint64_t *len, georep_error *err);

/* ======================================================================= tier: control plane
 * Messages are named without package: "PeerState" is georep.v1.PeerState. In all functions *len
 * is the size of the result, also when E_SPACE; call with cap 0 to learn it. */

/* Protobuf bytes to proto3 JSON and back. Unknown JSON fields are an error that names them, but in an
 * ExchangeRequest, ExchangeResponse and ExchangeEvent, where a newer peer may say more: there they are ignored. */
georep_status georep_proto_to_json(const void *name, uint32_t name_len, const void *bytes, uint32_t n, void *out,
                                   uint64_t cap, uint64_t *len, georep_error *err);
georep_status georep_proto_from_json(const void *name, uint32_t name_len, const void *json, uint32_t n, void *out,
                                     uint64_t cap, uint64_t *len, georep_error *err);

/* StateRequest in, PeerState out: what this cluster answers in a handshake. */
georep_status georep_state_build(const void *request, uint32_t n, void *out, uint64_t cap, uint64_t *len,
                                 georep_error *err);

/* Two PeerStates in, PeerCheck out: may local write to remote? */
georep_status georep_peer_check(const void *local, uint32_t local_len, const void *remote, uint32_t remote_len,
                                void *out, uint64_t cap, uint64_t *len, georep_error *err);

/* This cluster's PeerState and a remote's DedupStatus in, OriginKeys out: streams of this cluster that
 * the remote may forget, because their segment or topic instance is gone. The state must have been
 * built from a record that was read after the status had been received. */
georep_status georep_peer_gone(const void *state, uint32_t state_len, const void *held, uint32_t held_len, void *out,
                               uint64_t cap, uint64_t *len, georep_error *err);

/* TopicFilter in, TopicVerdicts out: which remotes the namespace's patterns let a topic go to. */
georep_status georep_topic_filter(const void *request, uint32_t n, void *out, uint64_t cap, uint64_t *len,
                                  georep_error *err);

/* JoinRequest in, Shape out: the layout that has every boundary of all, on both rings. E_FORMAT
 * where one cannot be joined (legacy segments, buckets not known, other routing profile). */
georep_status georep_join(const void *request, uint32_t n, void *out, uint64_t cap, uint64_t *len, georep_error *err);

/* PlanRequest in, PlanResponse out: the splits and rebuckets that bring the local layout to the join,
 * at most one for a segment. E_LIMIT where the join is beyond the caps; nothing is planned then. */
georep_status georep_plan(const void *request, uint32_t n, void *out, uint64_t cap, uint64_t *len, georep_error *err);

/* DiffRequest in, DiffResponse out: the ranges where two layouts differ. */
georep_status georep_diff(const void *request, uint32_t n, void *out, uint64_t cap, uint64_t *len, georep_error *err);

/* ----------------------------------------------------------------------- convergence of one topic
 * The machine of a topic's controller leader (core/converge). Feed events, then do what ready says, in
 * order.
 *
 *   georep_converge_new -> { georep_converge_step, georep_converge_ready }* -> georep_converge_free */

/* config: bytes of a ConvergeConfig. */
georep_status georep_converge_new(const void *config, uint32_t n, georep_converge *out, georep_error *err);
georep_status georep_converge_free(georep_converge converge);

/* event: bytes of a ConvergeEvent. E_FORMAT where it cannot be read, and nothing has changed then. */
georep_status georep_converge_step(georep_converge converge, const void *event, uint32_t n, georep_error *err);

/* Writes a ConvergeResult: what there is to do, and when the next tick is due. After E_SPACE the same
 * result is given again; after OK it is forgotten. */
georep_status georep_converge_ready(georep_converge converge, void *out, uint64_t cap, uint64_t *len,
                                    georep_error *err);

/* Writes a ConvergeStatus; now_millis is the clock of the events. */
georep_status georep_converge_status(georep_converge converge, int64_t now_millis, void *out, uint64_t cap,
                                     uint64_t *len, georep_error *err);

/* ----------------------------------------------------------------------- exchange with other clusters
 * One for each broker (core/exchange): makes few calls of many topics' pushes, and takes calls apart.
 *
 *   topic's machine                    exchange                        other cluster
 *     converge_ready: push    ---->  push       call     -- HTTP -->   received
 *     converge_step           <----  deliver    returned <-- HTTP --   respond
 *     converge_step           <----  deliver    received <-- HTTP --   call
 *     converge_ready: answer  ---->  replied    respond  -- HTTP -->   returned
 *
 * What is delivered is a ConvergeEvent: step the topic's machine with it as it is. */

/* config: bytes of an ExchangeConfig. */
georep_status georep_exchange_new(const void *config, uint32_t n, georep_exchange *out, georep_error *err);
georep_status georep_exchange_free(georep_exchange exchange);

/* event: bytes of an ExchangeEvent. Nothing has changed after an error but in "returned", where a response that does
 * not fit the call fails all its pushes. E_FORMAT: the text names the field; answer a received call with 400 and
 * that text. E_LIMIT: beyond a cap, 413. E_STATE: too many calls are being answered, 429. */
georep_status georep_exchange_step(georep_exchange exchange, const void *event, uint32_t n, georep_error *err);

/* Writes an ExchangeResult: what there is to do, and when the next tick is due. After E_SPACE the same
 * result is given again; after OK it is forgotten. */
georep_status georep_exchange_ready(georep_exchange exchange, void *out, uint64_t cap, uint64_t *len,
                                    georep_error *err);

/* Writes an ExchangeStatus; now_millis is the clock of the events. */
georep_status georep_exchange_status(georep_exchange exchange, int64_t now_millis, void *out, uint64_t cap,
                                     uint64_t *len, georep_error *err);

/* ----------------------------------------------------------------------- where existing data starts
 * One machine for each (segment, remote) whose cursor has no position yet (core/bootstrap), until it says begin:
 *
 *   hold --held--> read --read--> [find --found-->] place --placed--> begin
 *     ^              ^ |
 *     '---failed---' '-' not known yet, or failed: again after a pause; the cursor stands at the log start */

/* config: bytes of a BootstrapConfig. */
georep_status georep_bootstrap_new(const void *config, uint32_t n, georep_bootstrap *out, georep_error *err);
georep_status georep_bootstrap_free(georep_bootstrap bootstrap);

/* event: bytes of a BootstrapEvent. E_FORMAT where it cannot be read or ends an action that was not asked for; nothing
 * has changed then. Ledgers that no log has are no error, but a failed read. */
georep_status georep_bootstrap_step(georep_bootstrap bootstrap, const void *event, uint32_t n, georep_error *err);

/* Writes a BootstrapResult: what there is to do, and when the next tick is due. After E_SPACE the same result is given
 * again; after OK it is forgotten. */
georep_status georep_bootstrap_ready(georep_bootstrap bootstrap, void *out, uint64_t cap, uint64_t *len,
                                     georep_error *err);

/* Writes a BootstrapStatus. */
georep_status georep_bootstrap_status(georep_bootstrap bootstrap, void *out, uint64_t cap, uint64_t *len,
                                      georep_error *err);

/* StartQuery in, StartChoice out: where a remote starts by properties, or what an operator's words mean. */
georep_status georep_start_choose(const void *request, uint32_t n, void *out, uint64_t cap, uint64_t *len,
                                  georep_error *err);

/* ResetRequest in, ResetPlan out: what moving cursors would do, whether it may be done, and what is to be done. */
georep_status georep_reset_plan(const void *request, uint32_t n, void *out, uint64_t cap, uint64_t *len,
                                georep_error *err);

/* The layout inside a PeerState. */
georep_status georep_layout_from_state(const void *state, uint32_t len, georep_layout *out, georep_error *err);

#endif /* GEOREP_TYPES_ONLY */

#ifdef __cplusplus
}
#endif
#endif /* GEOREP_H */
