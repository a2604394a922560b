/* SPDX-License-Identifier: GPL-2.0-only */
/** What the engine and the generators share; workload*.c and wl_*.c only. */
#ifndef RNICSIM_WORKLOAD_WORKLOAD_INTERNAL_H
#define RNICSIM_WORKLOAD_WORKLOAD_INTERNAL_H

#include "../sim/rng.h"
#include "workload.h"

struct wl_stream;

typedef void wl_pair_fn(struct wl *w, uint32_t src, uint32_t dst, uint8_t prio);

/** A kind of generator. */
struct wl_generator {
    /** 0, or SIM_ERR_PARAM with a sentence. Ranges of single parameters have been checked. */
    int  (*check)(const struct wl_spec *spec, const struct wl_config *c, char *err, size_t errlen);
    /** Make the stream's state and set `live`, the number of sources that may still post. */
    void (*init)(struct wl_stream *st);
    /** Call fn for each pair that will be used, perhaps more than once, drawing as the run will. */
    void (*pairs)(struct wl_stream *st, wl_pair_fn *fn);
    void (*start)(struct wl_stream *st);
    /** The peer's application has message id. May be NULL. */
    void (*delivered)(struct wl_stream *st, uint64_t id);
    /** The requester knows; failed: with an error. May be NULL. */
    void (*completed)(struct wl_stream *st, uint64_t id, bool failed);
    void (*fini)(struct wl_stream *st);
    /** Posts in all, 0 if the window bounds them. */
    uint64_t (*expected)(const struct wl_stream *st);
};
extern const struct wl_generator wl_pingpong_generator, wl_poisson_generator, wl_incast_generator, wl_permutation_generator, wl_flows_generator;
extern const struct wl_generator *const wl_generators[WL_KIND_COUNT];

struct wl_stream {
    struct wl *w;
    struct wl_spec spec;
    const struct wl_generator *gen;
    uint16_t index;
    uint64_t live;               /* sources that may still post */
    void    *state;              /* the generator's */
};

/** A post that is due later. */
struct wl_due { struct wl_stream *st; uint32_t src, dst; uint64_t bytes, cookie; struct wl_due *next, *all; };

struct wl_pair { uint64_t key; struct wl_chan **chans; uint32_t turn; };

struct wl {
    struct sim *sim;
    struct wl_config conf;       /* with copies of the arrays */
    struct wl_host *hosts;
    struct wl_stream *streams;
    int64_t start_ps, end_ps;    /* end of posting by window */
    struct wl_message *msg;
    struct wl_row { uint64_t waits, cookie; struct wl_chan *chan; } *row; /* beside each message */
    size_t nmsg, cap;
    struct wl_pair *pairs; size_t npairs, pair_cap;
    struct wl_due *due_spare, *due_all;
    struct wl_gone { struct wl_gone *next; struct wl *w; struct wl_chan *c; } *gone;
    struct wl_progress progress;
    bool done_told;
};

/** Post now in a priority; cookie comes back with wl_cookie. Returns the id. The channel's callbacks do not run before it returns, unless
 *  the channel has failed: then completed runs with failed set. */
uint64_t wl_post_prio(struct wl_stream *st, uint32_t src, uint32_t dst, uint8_t prio, uint64_t bytes, uint64_t cookie);
/** The same in the transport's own priority. */
static inline uint64_t wl_post(struct wl_stream *st, uint32_t src, uint32_t dst, uint64_t bytes, uint64_t cookie)
{
    return wl_post_prio(st, src, dst, WL_PRIO_OWN, bytes, cookie);
}
/** Post at at_ps; until then it counts as a source that may still post. */
void wl_post_at(struct wl_stream *st, int64_t at_ps, uint32_t src, uint32_t dst, uint64_t bytes, uint64_t cookie);
static inline uint64_t wl_cookie(const struct wl_stream *st, uint64_t id) { return st->w->row[id].cookie; }
/** A source will post no more. */
void wl_retire(struct wl_stream *st, uint64_t sources);
/** Schedule the generator's own event at a host. */
void wl_at(struct wl_stream *st, int64_t at_ps, uint32_t host, sim_fn *fn, void *ctx, void *arg);

/** Largest of a list of flows, as they will be posted. */
int64_t wl_flows_max_bytes(const struct wl_spec *spec);

static inline int64_t wl_now(const struct wl_stream *st) { return sim_now(st->w->sim); }
static inline uint32_t wl_nhosts(const struct wl_stream *st) { return st->w->conf.nhosts; }
static inline bool wl_window_over(const struct wl_stream *st) { return wl_now(st) >= st->w->end_ps; }

/** A random stream of a stream's source; `who` < 2^32. */
void wl_rng(const struct wl_stream *st, uint32_t who, enum sim_rng_purpose purpose, struct sim_rng *r);
uint64_t wl_draw_size(const struct wl_stream *st, int64_t fixed_bytes, struct sim_rng *r);
double   wl_mean_size(const struct wl_spec *spec, int64_t fixed_bytes);

/** Hosts [from, from + count), count 0: to the end. false: they do not exist. */
bool wl_range(int64_t from, int64_t *count, uint32_t nhosts);
/** perm[0..n): a random cyclic permutation of 0..n-1, n >= 2: no fixed points (Sattolo). */
void wl_cyclic_permutation(uint32_t *perm, uint32_t n, struct sim_rng *r);
/** Write a sentence, return SIM_ERR_PARAM. */
int wl_refuse(char *err, size_t errlen, const char *format, ...) __attribute__((format(printf, 3, 4)));
/** calloc that aborts. */
void *wl_alloc(size_t n, size_t size);

#endif
