/* SPDX-License-Identifier: GPL-2.0-only */
#include "switch_profiles.h"

#include <string.h>

#define G INT64_C(1000000000)

static const struct switch_profile profiles[] = {
    { "trident-plus", "Broadcom Trident+ (2010)", "46,080 cells of 208 B: J. Warner's list of packet buffers (ucsc.edu)", 64, 10 * G, 46080 * 208, 208 },
    { "trident2", "Broadcom Trident II (2012)", "12 MB, 32 ports of 40 Gb/s: DCQCN (SIGCOMM'15) 6; cells: SONiC's tables", 32, 40 * G, 12000000, 208 },
    { "trident3", "Broadcom Trident 3 (2017)", "32 MB: product brief; cells of 256 B: SONiC's tables", 32, 100 * G, 32000000, 256 },
    { "tomahawk", "Broadcom Tomahawk (2014)", "16 MB: product brief and switches' manuals; cells: SONiC's tables", 32, 100 * G, 16000000, 208 },
    { "tomahawk3", "Broadcom Tomahawk 3 (2018)", "64 MB: product brief; cells of 254 B: SONiC's tables", 32, 400 * G, 64000000, 254 },
    { "spectrum", "Mellanox Spectrum (2015)", "16 MB: product brief; cells of 96 B: SONiC's tables", 32, 100 * G, 16000000, 96 },
};
#define NPROFILES (sizeof profiles / sizeof profiles[0])

const struct switch_profile *switch_profile_at(unsigned i) { return i < NPROFILES ? &profiles[i] : NULL; }

const struct switch_profile *switch_profile_find(const char *name)
{
    for (unsigned i = 0; i < NPROFILES; i++)
        if (strcmp(profiles[i].name, name) == 0)
            return &profiles[i];
    return NULL;
}

void switch_profile_apply(const struct switch_profile *s, struct switch_params *p)
{
    p->buffer_bytes = s->buffer_bytes;
    p->cell_bytes = s->cell_bytes;
}
