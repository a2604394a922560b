/* SPDX-License-Identifier: GPL-2.0-only */
/* Any bytes as a network or flow file: either what it holds, in range, or one sentence; never a crash, a leak or a long wait. */
#include <stdlib.h>
#include <string.h>

#include "../../helper/flows_file.h"
#include "../../helper/network_file.h"

static void must(bool right)
{
    if (!right)
        abort();
}

static void network(const uint8_t *data, size_t size)
{
    struct network_file n;
    struct network_file_error e;
    bool ok = network_file_parse((const char *)data, size, &n, &e);
    must(ok == (e.text[0] == '\0'));
    must(ok || (!n.names && !n.links && n.nhosts == 0));
    for (size_t i = 0; ok && i < n.nlinks; i++) {
        const struct topology_link *l = &n.links[i];
        must(l->a != l->b && l->a < n.nhosts + n.nswitches && l->b < n.nhosts + n.nswitches && l->rate_bps >= 0 && l->loss <= 1);
    }
    network_file_fini(&n);
}

static void flows(const uint8_t *data, size_t size, bool named)
{
    static const char *const names[] = { "0", "a", "2", "sw" };
    struct host_names h;
    struct wl_flow *f;
    struct flows_file_error e = { 0 };
    size_t n;
    must(host_names_init(&h, names, named ? 4 : 0, named ? 3 : 16));
    bool ok = flows_file_parse((const char *)data, size, &h, &f, &n, &e);
    must(ok == (e.text[0] == '\0') && ok == (f != NULL) && ok == (n > 0));
    for (size_t i = 0; ok && i < n; i++)
        must(f[i].src != f[i].dst && f[i].src < h.nhosts && f[i].dst < h.nhosts && f[i].bytes > 0 && f[i].start_ps >= 0 &&
             (f[i].prio < 8 || f[i].prio == WL_PRIO_OWN));
    free(f);
    host_names_fini(&h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 65536)
        return 0;
    if (data[0] == 'N')
        network(data + 1, size - 1);
    else
        flows(data + 1, size - 1, data[0] == 'n');
    return 0;
}
