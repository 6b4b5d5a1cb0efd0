/* child.c -- user code in a process of its own. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "tool/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined __linux__
#include <sys/prctl.h>
#endif

#include "dsl/diag.h"
#include "dsl/tile.h"
#include "tool/tool.h"

/* What both processes see. */
typedef struct child_page {
    volatile sig_atomic_t phase;
    volatile sig_atomic_t is_done; /* work() came back */
    volatile int64_t deadline;     /* nanoseconds of the monotonic clock; 0: none */
    volatile sig_atomic_t line;
    char file[512];
} child_page;

static child_page *page; /* in the child: its own */
static int channel = -1; /* in the child: to the parent */

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- files to remove ----------------------------------------------------------------------------------- */

enum { MAX_REMOVED = 2 * OPTIONS_MAX_FILES + 8 }; /* a folder and an object for each -k FILE.c, and outputs */
static char removed[MAX_REMOVED][PATH_MAX];
static volatile sig_atomic_t nremoved;
static pid_t remover; /* only the process that registered them removes them */

static void remove_all(void) {
    if (remover == getpid()) {
        for (int i = nremoved; i-- > 0;) {
            if (unlink(removed[i]) != 0) {
                rmdir(removed[i]);
            }
        }
        nremoved = 0;
    }
}

static void stop(int signal_number) {
    remove_all();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

void child_remove_at_exit(const char *path) {
    if (remover != getpid()) {
        remover = getpid();
        nremoved = 0;
        atexit(remove_all);
        signal(SIGINT, stop);
        signal(SIGTERM, stop);
        signal(SIGHUP, stop);
    }
    if (nremoved < MAX_REMOVED) {
        snprintf(removed[nremoved], PATH_MAX, "%s", path);
        nremoved++;
    }
}

/* ---- in the child -------------------------------------------------------------------------------------- */

/* Where the builder stands.  tg_now() is asked in the building phase only, when there is a current kernel. */
static void note_place(void) {
    if (page->phase == PHASE_BUILDING) {
        const tg_kernel *k = tg_now();
        if (k && k->last.file) {
            page->line = k->last.line;
            strncpy(page->file, k->last.file, sizeof page->file - 1);
        }
    }
}

static void crash(int signal_number) {
    note_place();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* A stack of its own, because an endless recursion leaves none. */
static void watch_crashes(void) {
    static char stack[1 << 16];
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = crash;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    sigaltstack(&alternate, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        sigaction(signals[i], &action, NULL);
    }
}

#if !defined TEGULA_SANITIZED_ADDRESS
/* Bytes of address space in use: a GPU's driver alone reserves more than any sensible limit. */
static rlim_t space_in_use(void) {
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f) {
        if (fscanf(f, "%lu", &pages) != 1) {
            pages = 0;
        }
        fclose(f);
    }
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}
#endif

/* A builder that records statements for ever would take the machine's memory before its time is up.  Not
 * under the address sanitizer, which reserves more than any limit. */
static void limit_memory(bool is_limited) {
#if !defined TEGULA_SANITIZED_ADDRESS
    static const rlim_t for_building = (rlim_t)4 << 30;
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0) {
        const rlim_t most = space_in_use() + for_building;
        limit.rlim_cur =
            is_limited && (limit.rlim_max == RLIM_INFINITY || most < limit.rlim_max) ? most : limit.rlim_max;
        setrlimit(RLIMIT_AS, &limit);
    }
#else
    (void)is_limited;
#endif
}

void child_phase(child_phase_kind phase, const options *o) {
    static const double limits[] = {0, 10, 10, 60, 600};
    const double seconds = phase == PHASE_OTHER ? 0 : o->timeout > 0 ? o->timeout : limits[phase];
    if (page) {
        page->phase = (sig_atomic_t)phase;
        page->deadline = seconds > 0 ? now() + (int64_t)(seconds * 1e9) : 0;
        limit_memory(phase == PHASE_BUILDING || phase == PHASE_LOWERING || phase == PHASE_LOADING);
    }
}

void child_send(const char *bytes, size_t n) {
    while (n > 0 && channel >= 0) {
        const ssize_t sent = write(channel, bytes, n);
        if (sent < 0 && errno != EINTR) {
            return;
        }
        bytes += sent > 0 ? sent : 0;
        n -= sent > 0 ? (size_t)sent : 0;
    }
}

static bool ends_at_once;

void child_ends_at_once(void) {
    ends_at_once = true;
}

void child_detach(void) {
    static const int defaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGTERM, SIGHUP};
    const pid_t parent = getppid();
#if defined __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent) {
        _exit(STATUS_FAULTY);
    }
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) {
        signal(defaults[i], SIG_DFL);
    }
    signal(SIGINT, SIG_IGN);
    page = NULL;
    channel = -1;
}

static void be_child(int (*work)(void *), void *user, pid_t parent) {
#if defined __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a killed command leaves nothing behind that computes on */
#endif
    if (getppid() != parent) {
        _exit(STATUS_FAULTY);
    }
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    watch_crashes();
    atexit(note_place); /* for a builder that calls exit() */
    const int status = work(user);
    page->is_done = 1;
    if (ends_at_once) {
        fflush(NULL);
        _exit(status);
    }
    exit(status);
}

/* ---- interrupts ---------------------------------------------------------------------------------------- */

static bool forwards;
static volatile sig_atomic_t forward_to;

void child_forward_interrupts(void) {
    forwards = true;
}

static void forward(int signal_number) {
    if (forward_to > 0) {
        kill(forward_to, signal_number);
    }
}

/* From just before the fork on, so that no signal falls between. */
static void begin_forwarding(struct sigaction before[2]) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = forward;
    sigaction(SIGINT, &action, &before[0]);
    sigaction(SIGTERM, &action, &before[1]);
}

static void end_forwarding(const struct sigaction before[2]) {
    sigaction(SIGINT, &before[0], NULL);
    sigaction(SIGTERM, &before[1], NULL);
    forward_to = 0;
}

/* ---- in the parent ------------------------------------------------------------------------------------- */

/* Reads until the child closes its end; false past the deadline. */
static bool listen_to(int from, const child_page *shared, text *captured) {
    char bytes[4096];
    for (;;) {
        const int64_t deadline = shared->deadline;
        const int64_t left = deadline ? (deadline - now()) / 1000000 + 1 : 100;
        struct pollfd wait = {from, POLLIN, 0};
        if (deadline && left <= 0) {
            return false;
        }
        /* The deadline may move meanwhile: look again often. */
        if (poll(&wait, 1, (int)(left < 100 ? left : 100)) <= 0) {
            continue;
        }
        const ssize_t n = read(from, bytes, sizeof bytes);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return true;
        }
        if (n > 0 && captured) {
            text_add_n(captured, bytes, (size_t)n);
        }
    }
}

static const char *phase_name(sig_atomic_t phase) {
    switch ((child_phase_kind)phase) {
    case PHASE_LOADING:
        return "loading";
    case PHASE_BUILDING:
        return "its builder";
    case PHASE_LOWERING:
        return "lowering it";
    case PHASE_RUNNING:
        return "its simulation";
    case PHASE_OTHER:
        break;
    }
    return "the work on it";
}

static const char *place(const child_page *shared) {
    static char words[600];
    words[0] = '\0';
    if (shared->line > 0) {
        snprintf(words, sizeof words, " after %s:%d", diag_base(shared->file), (int)shared->line);
    }
    return words;
}

static int wait_for(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

/* Past its deadline: first it is asked where it stands, then it is killed. */
static int end_late(pid_t pid, int from, const child_page *shared, const char *what) {
    struct pollfd wait = {from, 0, 0}; /* for its end, not for what it still says */
    kill(pid, SIGALRM);
    if (poll(&wait, 1, 500) <= 0) {
        kill(pid, SIGKILL);
    }
    wait_for(pid);
    return tool_fail(STATUS_FAULTY, "%s: %s did not end in the time given (--timeout)%s", what,
                     phase_name(shared->phase), place(shared));
}

static int judge(int status, const child_page *shared, const char *what) {
    if (WIFEXITED(status) && shared->is_done) {
        return WEXITSTATUS(status);
    }
    if (WIFEXITED(status)) {
        return tool_fail(STATUS_FAULTY, "%s: %s ended the process with exit status %d%s", what,
                         phase_name(shared->phase), WEXITSTATUS(status), place(shared));
    }
    const int number = WTERMSIG(status);
    if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGPIPE) {
        stop(number);
    }
    if (number == SIGKILL) {
        return tool_fail(STATUS_LACKING, "%s: %s was killed from outside, most likely for lack of memory%s",
                         what, phase_name(shared->phase), place(shared));
    }
    return tool_fail(STATUS_FAULTY, "%s: %s crashed (%s)%s", what, phase_name(shared->phase),
                     number == SIGFPE ? "an integer divided by zero" : strsignal(number), place(shared));
}

static int supervise(pid_t pid, int from, const child_page *shared, const char *what, text *captured) {
    return listen_to(from, shared, captured) ? judge(wait_for(pid), shared, what)
                                             : end_late(pid, from, shared, what);
}

void *child_shared(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

int child_run(int (*work)(void *user), void *user, const char *what, const options *o, text *captured) {
    int ends[2];
    (void)o;
    child_page *shared = child_shared(sizeof *shared);
    if (!shared || pipe(ends) != 0) {
        return tool_fail(STATUS_LACKING, "no child process: %s", strerror(errno));
    }
    fflush(NULL);
    struct sigaction before[2];
    const bool is_forwarding = forwards;
    if (is_forwarding) {
        begin_forwarding(before);
    }
    const pid_t parent = getpid();
    const pid_t pid = fork();
    forward_to = is_forwarding ? pid : 0;
    if (pid == 0) {
        forwards = false;
        close(ends[0]);
        fcntl(ends[1], F_SETFD, FD_CLOEXEC);
        channel = ends[1];
        page = shared;
        be_child(work, user, parent);
    }
    close(ends[1]);
    int status = pid > 0 ? supervise(pid, ends[0], shared, what, captured)
                         : tool_fail(STATUS_LACKING, "no child process: %s", strerror(errno));
    if (is_forwarding) {
        end_forwarding(before);
    }
    close(ends[0]);
    munmap(shared, sizeof *shared);
    return status;
}

/* ---- other programs ------------------------------------------------------------------------------------ */

static void become(const char *const *arguments, bool both, int to) {
    dup2(to, STDOUT_FILENO);
    if (both) {
        dup2(to, STDERR_FILENO);
    }
    execvp(arguments[0], (char *const *)(uintptr_t)arguments);
    _exit(127);
}

int child_program(const char *const *arguments, bool both, text *out) {
    int ends[2];
    char bytes[4096];
    ssize_t n;
    if (pipe(ends) != 0) {
        return 127;
    }
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        become(arguments, both, ends[1]);
    }
    close(ends[1]);
    while ((n = read(ends[0], bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0) {
            text_add_n(out, bytes, (size_t)n);
        }
    }
    close(ends[0]);
    if (pid < 0) {
        return 127;
    }
    const int status = wait_for(pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
