/* SPDX-License-Identifier: GPL-2.0-only */
/* What the NIC itself must remember: its connections, their contexts, payload that waits for its turn. */
#include "../wire/codec.h"
#include "host_internal.h"

struct context_use host_context(struct host *h, struct endpoint *ep)
{
    uint64_t bytes = (uint64_t)h->par.context_size_bytes;
    struct context_use use = context_cache_touch(h->contexts, &ep->context, sim_now(h->sim), h->par.dma_read_ps + pcie_time_ps(&h->pcie, PCIE_READ, bytes));
    h->stats.context_hits += use.hit;
    h->stats.context_misses += !use.hit;
    if (!use.hit)
        (void)pcie_move(&h->pcie, PCIE_READ, sim_now(h->sim), bytes);
    if (use.replaced)
        (void)pcie_move(&h->pcie, PCIE_WRITE, sim_now(h->sim), bytes);
    return use;
}

/* Where the payload of a WRITE goes: its first packet says (RETH), each later one is as many full packets on as its PSN. */
static bool write_place(struct endpoint *ep, const struct pkt *p, uint32_t *rkey, uint64_t *va)
{
    uint32_t flags = wire_roce_op[p->roce.opcode].flags;
    if (!(flags & ROCE_OP_WRITE) || p->payload_len == 0)
        return false;
    if (flags & ROCE_OP_RETH) {
        ep->write_rkey = p->roce.x.reth.rkey;
        ep->write_va = p->roce.x.reth.va;
        ep->write_psn = p->roce.psn;
        ep->write_mtu = p->payload_len;
    }
    *rkey = ep->write_rkey;
    *va = ep->write_va + (uint64_t)((p->roce.psn - ep->write_psn) & 0xffffffu) * ep->write_mtu;
    return true;
}

struct context_use host_translate(struct host *h, struct endpoint *ep, const struct pkt *p, struct context_use context)
{
    uint32_t rkey;
    uint64_t va;
    if (!write_place(ep, p, &rkey, &va))
        return context;
    uint64_t misses = h->stats.translation_misses;
    int64_t fetch_ps = h->par.dma_read_ps + pcie_time_ps(&h->pcie, PCIE_READ, HOST_TRANSLATION_BYTES);
    struct context_use use = translation_cache_touch(h->translations, rkey, va, p->payload_len, context.begin_ps, fetch_ps, &h->stats.translation_hits,
                                                     &h->stats.translation_misses);
    for (; misses < h->stats.translation_misses; misses++)
        (void)pcie_move(&h->pcie, PCIE_READ, sim_now(h->sim), HOST_TRANSLATION_BYTES);
    use.ready_ps = host_max_ps(use.ready_ps, context.ready_ps);
    return use;
}

int host_claim_connection(struct host *h, struct endpoint *ep, bool software_possible)
{
    if (ep->claimed)
        return SIM_OK;
    if (h->par.max_connections == 0 || h->stats.connections < (uint64_t)h->par.max_connections) {
        h->stats.connections++;
        ep->claimed = 1;
        return SIM_OK;
    }
    if (!software_possible || h->par.beyond == HOST_BEYOND_REFUSE) {
        h->stats.refused_connections++;
        return SIM_ERR_FULL;
    }
    h->stats.software_connections++;
    ep->offloaded = 0;
    return SIM_OK;
}

void host_place_kept(struct host *h, uint64_t bytes)
{
    int64_t now = sim_now(h->sim);
    if (h->par.reassembly_memory == HOST_REASSEMBLY_NONE)
        return;
    h->stats.kept_bytes += bytes;
    h->kept_ps = host_max_ps(h->kept_ps, pcie_move(&h->pcie, PCIE_WRITE, now, bytes));
    if (h->par.reassembly_memory == HOST_REASSEMBLY_HOST)           /* written back as it comes in */
        h->kept_ps = host_max_ps(h->kept_ps, pcie_move(&h->pcie, PCIE_READ, now, bytes) + h->par.dma_read_ps);
}

void host_pcie_bytes(const struct host *h, uint64_t *to_nic, uint64_t *to_host)
{
    *to_nic = h->pcie.bytes[PCIE_READ];
    *to_host = h->pcie.bytes[PCIE_WRITE];
}
