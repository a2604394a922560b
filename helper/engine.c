/* SPDX-License-Identifier: GPL-2.0-only */
#include "engine.h"

#include "../model/ns3/engine.h"

#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The library stands beside the command in a build, in ../lib when installed; a test program may be deeper. By absolute path:
 * under ASan a bare name ignores RUNPATH. dlopen itself remembers what is open, so nothing is kept here. */
static void *open_module(char *err, size_t errlen)
{
    static const char *const places[] = { "libns3-rnic.so", "../lib/libns3-rnic.so", "../libns3-rnic.so", "../../libns3-rnic.so" };
    char exe[3000], path[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n < 0) {
        snprintf(err, errlen, "/proc/self/exe cannot be read");
        return NULL;
    }
    exe[n] = 0;
    const char *dir = dirname(exe);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, places[i]);
        if (access(path, R_OK) != 0)
            continue;
        void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!lib)
            snprintf(err, errlen, "the ns-3 module cannot be loaded: %s", dlerror());
        return lib;
    }
    snprintf(err, errlen, "built without ns-3 (libns3-rnic.so is not beside the command)");
    return NULL;
}

static void *symbol(const char *name, char *err, size_t errlen)
{
    void *lib = open_module(err, errlen);
    void *sym = lib ? dlsym(lib, name) : NULL;
    if (lib && !sym)
        snprintf(err, errlen, "the ns-3 module lacks %s: rebuild it", name);
    return sym;
}

bool run_engine_available(enum run_engine engine, char *err, size_t errlen)
{
    return engine == RUN_NATIVE || symbol("rnic_ns3_run", err, errlen) != NULL;
}

int engine_run(enum run_engine engine, struct sim *s, int64_t until_ps, char *err, size_t errlen)
{
    if (engine == RUN_NATIVE) {
        sim_run(s, until_ps);
        return SIM_OK;
    }
    rnic_ns3_run_fn *run;
    *(void **)&run = symbol("rnic_ns3_run", err, errlen);
    return run ? run(s, until_ps, engine == RUN_NS3_STOCK, err, errlen) : SIM_ERR_STATE;
}

const char *engine_describe(enum run_engine engine, char *buf, size_t len)
{
    char err[200];
    rnic_ns3_version_fn *version;
    if (engine == RUN_NATIVE) {
        snprintf(buf, len, "native");
        return buf;
    }
    *(void **)&version = symbol("rnic_ns3_version", err, sizeof err);
    snprintf(buf, len, "ns-3 %s (%s)", version ? version() : "?", engine == RUN_NS3 ? "RnicSimulatorImpl" : "stock");
    return buf;
}

double engine_stock_event_ns(unsigned pending, unsigned long events)
{
    char err[200];
    rnic_ns3_stock_event_ns_fn *measure;
    *(void **)&measure = symbol("rnic_ns3_stock_event_ns", err, sizeof err);
    return measure ? measure(pending, events) : -1;
}
