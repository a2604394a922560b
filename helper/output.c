/* SPDX-License-Identifier: GPL-2.0-only */
#include "output.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const run_files[] = { "messages.csv", "queue.csv", "flows.csv", "capture.pcap", "messages.csv.part", "queue.csv.part", "flows.csv.part", "capture.pcap.part" };
static const char *const top_files[] = { "summary.json", "variants.csv", "summary.json.part", "variants.csv.part" };
static const char *const plot_suffixes[] = { ".svg", ".png", ".gp", ".log", ".dat", ".part" };
#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static int fail(char *err, size_t errlen, const char *path)
{
    snprintf(err, errlen, "%s: cannot write: %s", path, strerror(errno));
    return -1;
}

static int make_dirs(const char *dir, char *err, size_t errlen)
{
    char path[PATH_MAX];
    if (!*dir || snprintf(path, sizeof path, "%s", dir) >= (int)sizeof path) {
        errno = *dir ? ENAMETOOLONG : ENOENT;
        return fail(err, errlen, dir);
    }
    for (char *p = path + 1;; p++) {
        if (*p && *p != '/')
            continue;
        char was = *p;
        *p = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return fail(err, errlen, path);
        *p = was;
        if (!was)
            return 0;
    }
}

/* A byte, too: a full disk makes empty files. */
static int probe(const char *dir, char *err, size_t errlen)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/.rnicsim-probe.part", dir) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return fail(err, errlen, dir);
    }
    FILE *f = fopen(path, "w");
    if (!f)
        return fail(err, errlen, dir);
    bool ok = fputs("probe\n", f) >= 0 && fflush(f) == 0;
    int why = errno;
    ok = fclose(f) == 0 && ok;
    unlink(path);
    errno = why;
    return ok ? 0 : fail(err, errlen, dir);
}

static void remove_files(const char *dir, const char *const *names, size_t n)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < n; i++)
        if (snprintf(path, sizeof path, "%s/%s", dir, names[i]) < (int)sizeof path)
            unlink(path);
}

static void remove_run(const char *dir, const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return;
    remove_files(path, run_files, COUNT(run_files));
    rmdir(path);                                /* stays if it holds anything else */
}

static void remove_plots(const char *dir)
{
    char path[PATH_MAX + 300];
    snprintf(path, sizeof path, "%s/plots", dir);
    DIR *d = opendir(path);
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        for (size_t i = 0; i < COUNT(plot_suffixes); i++) {
            size_t n = strlen(e->d_name), m = strlen(plot_suffixes[i]);
            if (n > m && strcmp(e->d_name + n - m, plot_suffixes[i]) == 0) {
                snprintf(path, sizeof path, "%s/plots/%s", dir, e->d_name);
                unlink(path);
            }
        }
    closedir(d);
    snprintf(path, sizeof path, "%s/plots", dir);
    rmdir(path);
}

/* variants.csv lists what an earlier run left: its first column, after the header. */
static void remove_earlier(const char *dir)
{
    char path[PATH_MAX], line[1024];
    if (snprintf(path, sizeof path, "%s/variants.csv", dir) >= (int)sizeof path)
        return;
    FILE *f = fopen(path, "r");
    if (!f)
        return;
    bool ours = fgets(line, sizeof line, f) && strncmp(line, "name,", 5) == 0;
    while (ours && fgets(line, sizeof line, f)) {
        line[strcspn(line, ",\n")] = '\0';
        if (*line && *line != '.' && !strchr(line, '/'))
            remove_run(dir, line);
    }
    fclose(f);
    if (ours) {
        remove_files(dir, top_files, COUNT(top_files));
        remove_plots(dir);
    }
}

int output_begin(const char *dir, const struct scenario *sc, char *err, size_t errlen)
{
    char path[PATH_MAX], name[SCENARIO_VARIANT_NAME_MAX];
    if (make_dirs(dir, err, errlen) != 0 || probe(dir, err, errlen) != 0)
        return -1;
    remove_earlier(dir);
    for (size_t i = 0; i < sc->nvariants; i++) {
        scenario_variant_name(sc, &sc->variants[i], name, sizeof name);
        if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
            errno = ENAMETOOLONG;
        else if (mkdir(path, 0777) == 0 || errno == EEXIST)
            continue;
        return fail(err, errlen, path);
    }
    return 0;
}

int output_run(const char *dir, const struct result *r, char *err, size_t errlen)
{
    static const struct { const char *name; int (*write)(const struct result *, const char *, char *, size_t); } file[] = {
        { "messages.csv", result_write_messages }, { "queue.csv", result_write_queue }, { "flows.csv", result_write_flows },
    };
    char path[PATH_MAX];
    for (size_t i = 0; i < COUNT(file); i++) {
        if (file[i].write == result_write_flows && r->nflows == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s/%s", dir, r->name, file[i].name);
        if (file[i].write(r, path, err, errlen) == 0)
            continue;
        while (i-- > 0) {
            snprintf(path, sizeof path, "%s/%s/%s", dir, r->name, file[i].name);
            unlink(path);
        }
        return -1;
    }
    return 0;
}

int output_end(const char *dir, const struct scenario *sc, const struct jobs_result *jobs, char *err, size_t errlen)
{
    char path[PATH_MAX], name[SCENARIO_VARIANT_NAME_MAX];
    const struct result **list = calloc(jobs->n ? jobs->n : 1, sizeof *list);
    size_t n = 0;
    int rc = 0;
    if (!list)
        abort();
    for (size_t i = 0; i < jobs->n; i++) {
        if (jobs->have[i])
            list[n++] = &jobs->results[i];
        else
            remove_run(dir, scenario_variant_name(sc, &sc->variants[i], name, sizeof name));
    }
    if (n > 0) {
        snprintf(path, sizeof path, "%s/variants.csv", dir);
        rc = result_write_index(list, n, path, err, errlen);
        snprintf(path, sizeof path, "%s/summary.json", dir);
        if (rc == 0)
            rc = result_write_summary(list, n, path, err, errlen);
    }
    free(list);
    if (rc != 0)
        output_discard(dir, sc);
    return rc;
}

void output_discard(const char *dir, const struct scenario *sc)
{
    char name[SCENARIO_VARIANT_NAME_MAX];
    for (size_t i = 0; i < sc->nvariants; i++)
        remove_run(dir, scenario_variant_name(sc, &sc->variants[i], name, sizeof name));
    remove_files(dir, top_files, COUNT(top_files));
}
