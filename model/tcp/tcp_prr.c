/* SPDX-License-Identifier: GPL-2.0-only */
/** Proportional rate reduction (RFC 6937): during fast recovery the window follows what the acknowledgements say was delivered, so
 *  that it comes down to ssthresh evenly over the round trip, whatever else is lost. It goes by SACK's count of what is in the network.
 */
#include "tcp_internal.h"

enum { PRR_OFF, PRR_CRB, PRR_SSRB };

void tcp_prr_enter(struct tcp_conn *c)
{
    c->prr.on = c->sack_ok && c->params->prr != PRR_OFF && c->cc.cwnd_bytes != CC_NO_WINDOW && c->cc.ssthresh_bytes != INT64_MAX;
    if (!c->prr.on)
        return;
    c->prr.delivered = c->prr.out = 0;
    c->prr.flight = c->nxt - c->una;
    c->cc.cwnd_bytes = (int64_t)tcp_board_pipe(&c->board);   /* the first retransmission goes without it */
}

void tcp_prr_ack(struct tcp_conn *c, uint64_t delivered)
{
    if (!c->prr.on || delivered == 0)
        return;
    int64_t pipe = (int64_t)tcp_board_pipe(&c->board), ssthresh = c->cc.ssthresh_bytes, send;
    c->prr.delivered += delivered;
    int64_t owed = (int64_t)c->prr.delivered - (int64_t)c->prr.out;
    if (pipe > ssthresh) {
        unsigned __int128 share = (unsigned __int128)c->prr.delivered * (uint64_t)ssthresh + c->prr.flight - 1;
        send = (int64_t)(share / c->prr.flight) - (int64_t)c->prr.out;
    } else {
        int64_t limit = owed;
        if (c->params->prr == PRR_SSRB)
            limit = (owed > (int64_t)delivered ? owed : (int64_t)delivered) + c->emss;
        send = ssthresh - pipe < limit ? ssthresh - pipe : limit;
    }
    c->cc.cwnd_bytes = pipe + (send > 0 ? send : 0);
}

void tcp_prr_leave(struct tcp_conn *c)
{
    if (c->prr.on)
        c->cc.cwnd_bytes = c->cc.ssthresh_bytes;
    c->prr.on = false;
}
