/* child.h -- user code in a process of its own, so that its crashes and endless loops end nothing else.
 *
 *     parent                                     child
 *     child_run() -- fork ---------------------> work(user)
 *     waits; kills it past the deadline          child_phase(..) says what begins and how long it may take
 *     "gemv.c:12: the builder crashed .."        its last DSL line lies in a page that both see
 *
 * Calls may nest. */
#ifndef TOOL_CHILD_H
#define TOOL_CHILD_H

#include "dsl/arena.h"
#include "tool/options.h"

typedef enum child_phase_kind {
    PHASE_OTHER,   /* no user code: no limit */
    PHASE_LOADING, /* a shared object's constructors */
    PHASE_BUILDING,
    PHASE_LOWERING,
    PHASE_RUNNING
} child_phase_kind;

/* Runs work(user) in a child process and returns its exit status.  `captured` (may be NULL) gets what it
 * wrote by child_send().  A crash, an exit() or a passed deadline is STATUS_FAULTY, with a message that names
 * `what`. */
int child_run(int (*work)(void *user), void *user, const char *what, const options *o, text *captured);

/* Memory of zeros that this process and the children to come share; NULL without any.  It goes with the process. */
void *child_shared(size_t size);

/* In the child: the next phase.  Building and lowering may also take only so much memory. */
void child_phase(child_phase_kind phase, const options *o);
void child_send(const char *bytes, size_t n);

/* In the child: it ends without putting anything in order, because that would wait for a GPU that never comes back. */
void child_ends_at_once(void);

/* In a process that the child has forked: it no longer speaks to child_run()'s parent, is ended with its own parent,
 * and takes no interrupt: the one who forked it decides. */
void child_detach(void);
/* Before child_run(): what stops the command (Ctrl-C) is told to the child, which ends when it has put things in
 * order; its exit status is the command's. */
void child_forward_interrupts(void);

/* Ends with every process started here when the user stops the command: removes these files first. */
void child_remove_at_exit(const char *path);

/* Runs a program found by its name, its arguments ending with NULL.  Its output (and with `both` what it says
 * on stderr) goes to `out`.  The exit status, 127 when it cannot be started, 128 + signal. */
int child_program(const char *const *arguments, bool both, text *out);

#endif
