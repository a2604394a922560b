/* SPDX-License-Identifier: GPL-2.0-only */
/** Routes: from every switch to every host, all shortest next hops.
 *
 *  Hosts that hang on the same switches form one destination class, so a table has a row per class, not per host, and a row is
 *  the number of a port group and the span of its ports: a fat tree of 1,024 hosts needs 128 rows of 6 bytes a switch.
 */
#ifndef RNICSIM_FABRIC_ROUTE_H
#define RNICSIM_FABRIC_ROUTE_H

#include "fabric_internal.h"

#define ROUTE_NONE  0xffffu      /* group: unreachable */
#define ROUTE_LOCAL 0xfffeu      /* group: hosts of this class hang on this very switch */
#define ROUTE_SLOW  0xfffdu      /* span: look at the group */

struct route_group { uint32_t first; uint16_t count; };

/** What a packet's way needs of a row: neighbouring ports; or ROUTE_LOCAL, hosts with one link each; or ROUTE_SLOW. count is 0 then. */
struct route_span { uint16_t first, count; };

/** One link of a host, at the switch's side. */
struct route_link { uint32_t sw; uint16_t port; };

struct route_host {
    uint32_t cls;                /* destination class */
    uint32_t links;              /* how many */
    uint32_t sw;                 /* the first link's switch and port */
    uint32_t port;
};

struct route {
    uint32_t nhosts;             /* highest host id + 1 */
    struct route_host *host;     /* by node id */
    struct route_link *link;     /* sorted by host; host h's start at first[h] */
    uint32_t *first;
    uint32_t nclasses;
};

/** What a switch holds. */
struct route_table {
    const struct route_span *span; /* by destination class */
    uint32_t seed;               /* of its ECMP hash */
    uint32_t ngroups;
    const uint16_t *group_of;    /* by destination class */
    struct route_group *group;
    uint16_t *port;
    uint32_t nports;
};

/** Compute everything. SIM_OK, or SIM_ERR_STATE and the first unreachable pair in err. */
int  route_build(struct fabric *f, char *err, size_t errlen);
/** The same again after links have failed or returned; hosts may have become unreachable. SIM_OK or SIM_ERR_NOMEM. */
int  route_rebuild(struct fabric *f);
void route_free(struct fabric *f);
/** The port at switch node `sw` towards a host, -1 if there is none. */
int  route_local_port(const struct route *r, uint32_t host, uint32_t sw, uint32_t flow_hash);
/** Bytes of all tables. */
size_t route_bytes(const struct fabric *f);

static inline uint32_t route_mix(uint32_t flow_hash, uint32_t seed)
{
    uint32_t h = flow_hash ^ seed;
    h = (h ^ h >> 16) * UINT32_C(0x85ebca6b);
    h = (h ^ h >> 13) * UINT32_C(0xc2b2ae35);
    return h ^ h >> 16;
}

/** The ports towards a host and their group; NULL if there is none or it hangs on this very switch. */
static inline const uint16_t *route_members(const struct route *r, const struct route_table *t, uint32_t dst, uint32_t *group)
{
    if (dst >= r->nhosts)
        return NULL;
    uint32_t g = t->group_of[r->host[dst].cls];
    *group = g;
    return g == ROUTE_LOCAL || g == ROUTE_NONE ? NULL : &t->port[t->group[g].first];
}

/** The same as route_lookup where spans do not tell. */
int route_lookup_slow(const struct route *r, const struct route_table *t, uint32_t self, uint32_t dst, uint32_t flow_hash);

/** The egress port for a packet, -1 if there is none. No branch goes by the packet: such branches cannot be foretold. */
static inline int route_lookup(const struct route *r, const struct route_table *t, uint32_t self, uint32_t dst, uint32_t flow_hash)
{
    if (UNLIKELY(dst >= r->nhosts))
        return -1;
    const struct route_host *h = &r->host[dst];
    struct route_span span = t->span[h->cls];
    uint32_t local = -(uint32_t)(span.first == ROUTE_LOCAL);
    uint32_t out = span.first + (uint32_t)((uint64_t)route_mix(flow_hash, t->seed) * span.count >> 32);
    out = (h->port & local) | (out & ~local);
    return UNLIKELY(out == ROUTE_SLOW) ? route_lookup_slow(r, t, self, dst, flow_hash) : (int)out;
}

#endif
