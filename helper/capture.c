/* SPDX-License-Identifier: GPL-2.0-only */
#include "capture.h"

#include "../model/wire/codec.h"
#include "../model/wire/pcap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct capture {
    struct fabric *fabric;
    FILE *f;
    uint8_t *listed;             /* by node; NULL: hosts */
    char path[4096], temp[4104];
    uint8_t frame[WIRE_FRAME_MAX];
};

static void on_frame(void *ctx, int64_t now_ps, const struct port *from, const struct pkt *p)
{
    struct capture *c = ctx;
    uint8_t head[PCAP_RECORD_HEADER_BYTES];
    bool host = c->listed ? c->listed[port_node(from)] : fabric_is_host(c->fabric, port_node(from));
    /* A PFC frame that a switch sends to a host belongs to the host's link too. */
    if (!host && (c->listed || p->kind != PKT_PFC || !fabric_is_host(c->fabric, port_peer_node(from))))
        return;
    size_t len = wire_encode(p, NULL, c->frame, sizeof c->frame);
    pcap_record_header(head, now_ps, (uint32_t)len, (uint32_t)len);
    fwrite(head, 1, sizeof head, c->f);
    fwrite(c->frame, 1, len, c->f);
}

struct capture *capture_open(struct fabric *f, const char *path, const uint32_t *nodes, size_t nnodes, char *err, size_t errlen)
{
    struct capture *c = calloc(1, sizeof *c);
    uint8_t head[PCAP_FILE_HEADER_BYTES];
    if (c && nnodes)
        c->listed = calloc(fabric_nodes(f), 1);
    if (!c || (nnodes && !c->listed)) {
        snprintf(err, errlen, "%s: out of memory", path);
        free(c);
        return NULL;
    }
    for (size_t i = 0; i < nnodes; i++)
        if (nodes[i] < fabric_nodes(f))
            c->listed[nodes[i]] = 1;
    c->fabric = f;
    snprintf(c->path, sizeof c->path, "%s", path);
    snprintf(c->temp, sizeof c->temp, "%s.part", c->path);
    c->f = fopen(c->temp, "wb");
    if (!c->f) {
        snprintf(err, errlen, "%s: cannot write: %s", path, strerror(errno));
        free(c->listed);
        free(c);
        return NULL;
    }
    pcap_file_header(head, 65535);
    fwrite(head, 1, sizeof head, c->f);
    fabric_tap_set(f, on_frame, c);
    return c;
}

int capture_close(struct capture *c, bool keep, char *err, size_t errlen)
{
    if (!c)
        return 0;
    fabric_tap_set(c->fabric, NULL, NULL);
    int bad = fflush(c->f) != 0 || ferror(c->f);
    int e = errno;
    if (fclose(c->f) != 0 && !bad) {
        bad = 1;
        e = errno;
    }
    if (keep && !bad && rename(c->temp, c->path) != 0) {
        bad = 1;
        e = errno;
    }
    if (!keep || bad)
        unlink(c->temp);
    if (bad)
        snprintf(err, errlen, "%s: cannot write: %s", c->path, strerror(e));
    free(c->listed);
    free(c);
    return bad ? -1 : 0;
}
