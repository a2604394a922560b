/* SPDX-License-Identifier: GPL-2.0-only */
/* Any bytes as a scenario file, and --set texts on a good one: either a scenario or words, never a crash, a leak or a long wait. */
#include <stdlib.h>
#include <string.h>

#include "../../helper/scenario.h"

static const char good[] =
    "<scenario name=\"s\"><topology kind=\"star\" hosts=\"4\"/><fabric name=\"f\"/><transport name=\"t\" kind=\"roce\"/>"
    "<transport name=\"u\" kind=\"tcp\"/><workload kind=\"poisson\"/></scenario>";

static void must(bool right)
{
    if (!right)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char err[512];
    struct scenario *sc;
    if (size > 65536)
        return 0;
    if (size > 1 && data[0] == '=') {
        char *set = malloc(size);
        if (!set)
            return 0;
        memcpy(set, data + 1, size - 1);
        set[size - 1] = '\0';
        const char *sets[] = { set };
        struct scenario_options o = { .sets = sets, .nsets = 1 };
        sc = scenario_load_memory(good, sizeof good - 1, "good.xml", &o, err, sizeof err);
        must((sc != NULL) == (err[0] == '\0'));
        scenario_free(sc);
        free(set);
        return 0;
    }
    struct scenario_options ci = { .size = "ci" };
    sc = scenario_load_memory((const char *)data, size, "fuzz.xml", &ci, err, sizeof err);
    must((sc != NULL) == (err[0] == '\0'));
    must(!sc || (sc->nvariants > 0 && sc->ntransports > 0 && sc->nfabrics > 0 && sc->nworkloads > 0));
    scenario_free(sc);
    return 0;
}
