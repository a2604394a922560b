/* SPDX-License-Identifier: GPL-2.0-only */
/* Each run is a forked child that sends its result back through an unlinked memory file. The parent owns the signals: it reads
 * them from a descriptor and tells the children through shared memory, so that what has finished is kept. */
#include "jobs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jobs_ship.h"

#define ERR_LEN 512
#define POLL_MS 200
#define STOP_PATIENCE_S 5

/* Shared with the children. */
struct shared { volatile int stop; volatile double fraction[]; };
/* What a child leaves before its result. */
struct report { int status; char err[ERR_LEN]; };

struct job { pid_t pid; size_t variant; int alive; FILE *memory; };

struct crew {
    const struct scenario *sc;
    const struct jobs_options *o;
    struct jobs_result *out;
    struct shared *shared;
    size_t shared_bytes, next;
    struct job *jobs;
    unsigned parallel, running;
    int signals;                                /* signalfd */
    sigset_t before;
    double began_s, stopped_s;                  /* stopped_s < 0: not stopping */
    char *err;
    size_t errlen;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* --- the child --- */

struct child_progress { volatile double *fraction; };

static void on_progress(void *ctx, double fraction)
{
    *((struct child_progress *)ctx)->fraction = fraction;
}

static void child(struct crew *c, size_t variant, FILE *memory) __attribute__((noreturn));
static void child(struct crew *c, size_t variant, FILE *memory)
{
    const struct variant *v = &c->sc->variants[variant];
    struct child_progress progress = { &c->shared->fraction[variant] };
    struct run_options run = c->o->run;
    struct report report = { 0 };
    struct result r;
    char name[SCENARIO_VARIANT_NAME_MAX], path[4096];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN);                    /* the parent decides */
    signal(SIGTERM, SIG_DFL);
    sigprocmask(SIG_SETMASK, &c->before, NULL);
    memset(&r, 0, sizeof r);
    run.progress = on_progress;
    run.progress_ctx = &progress;
    run.stop = &c->shared->stop;
    scenario_variant_name(c->sc, v, name, sizeof name);
    if (c->o->pcap_dir) {
        snprintf(path, sizeof path, "%s/%s/capture.pcap", c->o->pcap_dir, name);
        run.pcap_path = path;
    }
    report.status = c->o->run_one(c->sc, v, &run, &r, report.err, sizeof report.err);
    snprintf(r.name, sizeof r.name, "%s", name);
    bool ok = fwrite(&report, sizeof report, 1, memory) == 1 && (report.status != 0 || jobs_ship_write(memory, &r)) && fflush(memory) == 0;
    _exit(ok ? 0 : 1);
}

/* --- the parent --- */

static bool start(struct crew *c, struct job *j)
{
    int pipes[2], fd = memfd_create("rnicsim-result", MFD_CLOEXEC);
    j->memory = fd >= 0 ? fdopen(fd, "w+b") : NULL;
    if (!j->memory || pipe(pipes) != 0) {
        snprintf(c->err, c->errlen, "a run cannot be started: %s", strerror(errno));
        if (j->memory)
            fclose(j->memory);
        return false;
    }
    j->variant = c->next;
    fflush(NULL);
    j->pid = fork();
    if (j->pid == 0) {
        close(pipes[0]);
        for (unsigned i = 0; i < c->parallel; i++)
            if (&c->jobs[i] != j && c->jobs[i].pid > 0)
                close(c->jobs[i].alive);
        child(c, j->variant, j->memory);
    }
    close(pipes[1]);
    j->alive = pipes[0];                        /* closes when the child ends */
    if (j->pid < 0) {
        snprintf(c->err, c->errlen, "a run cannot be started: %s", strerror(errno));
        fclose(j->memory);
        close(pipes[0]);
        j->pid = 0;
        return false;
    }
    c->next++;
    c->running++;
    return true;
}

static void stop_all(struct crew *c)
{
    if (c->stopped_s < 0)
        c->stopped_s = now_s();
    c->shared->stop = 1;
}

static void fail(struct crew *c, const char *text)
{
    if (!c->out->failed && !c->out->interrupted)
        snprintf(c->err, c->errlen, "%s", text);
    c->out->failed = true;
    stop_all(c);
}

static void take_result(struct crew *c, struct job *j, int status)
{
    char text[ERR_LEN + 200], name[SCENARIO_VARIANT_NAME_MAX];
    struct report report;
    struct result *r = &c->out->results[j->variant];
    scenario_variant_name(c->sc, &c->sc->variants[j->variant], name, sizeof name);
    rewind(j->memory);
    if (WIFSIGNALED(status)) {
        snprintf(text, sizeof text, "%s: the run ended by signal %d (%s)", name, WTERMSIG(status), strsignal(WTERMSIG(status)));
        if (c->stopped_s < 0)
            fail(c, text);
    } else if (status != 0 || fread(&report, sizeof report, 1, j->memory) != 1 || (report.status == 0 && !jobs_ship_read(j->memory, r))) {
        snprintf(text, sizeof text, "%s: the run's result did not come through (out of memory?)", name);
        fail(c, text);
    } else if (report.status < 0) {
        snprintf(text, sizeof text, "%s: %s", name, report.err);
        fail(c, text);
    } else if (report.status == 0) {
        c->out->have[j->variant] = true;
        c->out->nhave++;
        c->shared->fraction[j->variant] = 1;
        if (c->o->done && c->o->done(c->o->ctx, j->variant, r) != 0)
            fail(c, "");
    }
}

static void reap(struct crew *c, struct job *j)
{
    int status = 0;
    while (waitpid(j->pid, &status, 0) < 0 && errno == EINTR)
        ;
    take_result(c, j, status);
    fclose(j->memory);
    close(j->alive);
    j->pid = 0;
    c->running--;
}

static void read_signals(struct crew *c)
{
    struct signalfd_siginfo info;
    while (read(c->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (c->out->interrupted)                /* the second one does not wait */
            c->stopped_s = now_s() - STOP_PATIENCE_S;
        c->out->interrupted = true;
        stop_all(c);
    }
}

static void kill_late(struct crew *c)
{
    if (c->stopped_s >= 0 && now_s() - c->stopped_s > STOP_PATIENCE_S)
        for (unsigned i = 0; i < c->parallel; i++)
            if (c->jobs[i].pid > 0)
                kill(c->jobs[i].pid, SIGKILL);
}

static void show_progress(const struct crew *c, bool last)
{
    double sum = 0, elapsed = now_s() - c->began_s;
    char eta[64] = "";
    if (!c->o->progress)
        return;
    if (last) {
        fprintf(stderr, "\r\033[K");
        return;
    }
    for (size_t i = 0; i < c->out->n; i++)
        sum += c->shared->fraction[i];
    double share = sum / (double)c->out->n;
    if (c->stopped_s >= 0)
        snprintf(eta, sizeof eta, ", stopping");
    else if (share > 0.02 && elapsed > 0.5)
        snprintf(eta, sizeof eta, ", about %.0f s left", elapsed * (1 - share) / share);
    fprintf(stderr, "\r%zu of %zu runs ended, %2.0f %%, %.0f s%s\033[K", c->out->nhave, c->out->n, share * 100, elapsed, eta);
    fflush(stderr);
}

static void wait_for_any(struct crew *c)
{
    struct pollfd *fds = calloc(c->parallel + 1, sizeof *fds);
    if (!fds)
        abort();
    fds[c->parallel] = (struct pollfd){ .fd = c->signals, .events = POLLIN };
    for (unsigned i = 0; i < c->parallel; i++)
        fds[i] = (struct pollfd){ .fd = c->jobs[i].pid > 0 ? c->jobs[i].alive : -1, .events = POLLIN };
    if (poll(fds, c->parallel + 1, POLL_MS) > 0) {
        if (fds[c->parallel].revents)
            read_signals(c);
        for (unsigned i = 0; i < c->parallel; i++)
            if (c->jobs[i].pid > 0 && fds[i].revents)
                reap(c, &c->jobs[i]);
    }
    kill_late(c);
    show_progress(c, false);
    free(fds);
}

static void work(struct crew *c)
{
    for (;;) {
        for (unsigned i = 0; i < c->parallel; i++)
            if (c->jobs[i].pid == 0 && c->next < c->out->n && c->stopped_s < 0 && !start(c, &c->jobs[i])) {
                c->out->failed = true;
                stop_all(c);
            }
        if (c->running == 0)
            break;
        wait_for_any(c);
    }
    show_progress(c, true);
}

int jobs_run(const struct scenario *sc, const struct jobs_options *o, struct jobs_result *out, char *err, size_t errlen)
{
    struct crew c = { .sc = sc, .o = o, .out = out, .stopped_s = -1, .err = err, .errlen = errlen, .began_s = now_s() };
    sigset_t mine;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    *err = '\0';
    memset(out, 0, sizeof *out);
    out->n = sc->nvariants;
    c.parallel = o->parallel ? o->parallel : cpus > 0 ? (unsigned)cpus : 1;
    if (c.parallel > out->n)
        c.parallel = (unsigned)out->n;
    c.shared_bytes = sizeof *c.shared + out->n * sizeof(double);
    c.shared = mmap(NULL, c.shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    c.jobs = calloc(c.parallel, sizeof *c.jobs);
    out->results = calloc(out->n, sizeof *out->results);
    out->have = calloc(out->n, sizeof *out->have);
    if (c.shared == MAP_FAILED || !c.jobs || !out->results || !out->have)
        abort();
    sigemptyset(&mine);
    sigaddset(&mine, SIGINT);
    sigaddset(&mine, SIGTERM);
    sigprocmask(SIG_BLOCK, &mine, &c.before);
    c.signals = signalfd(-1, &mine, SFD_NONBLOCK | SFD_CLOEXEC);
    work(&c);
    read_signals(&c);
    close(c.signals);
    sigprocmask(SIG_SETMASK, &c.before, NULL);
    munmap(c.shared, c.shared_bytes);
    free(c.jobs);
    return out->failed || out->interrupted ? -1 : 0;
}

void jobs_result_fini(struct jobs_result *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->have[i])
            result_fini(&r->results[i]);
    free(r->results);
    free(r->have);
    memset(r, 0, sizeof *r);
}
