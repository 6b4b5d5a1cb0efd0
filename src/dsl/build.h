/* build.h -- what the files of the builder share.  For build*.c only.
 *
 *   build.c         life of a kernel, configuration, launch arguments
 *   build_buffer.c  buffers, elements, regions
 *   build_value.c   literals, conversions, operators
 *   build_stmt.c    statements on elements
 *   build_tile.c    statements on tiles
 *   build_scope.c   the launch, loops, branches
 *   build_check.c   what can be judged only when the kernel is whole: tg_end()
 *
 * Every public function begins with build_ready() and answers poison when that is false.  A mistake is
 * recorded by diag_error() where it is found; what depends on its result is silent. */
#ifndef DSL_BUILD_H
#define DSL_BUILD_H

#include "dsl/tile.h"

/* An open scope; the handle stands in tg_scope.node. */
typedef struct build_scope {
    node handle;
    struct build_scope *outer;
    tg_scope_kind kind;
    tg_loc at;
    bool is_mistake;   /* was reported: what depends on it is silent */
    tile_stmt *stmt;   /* NULL: grid, threads */
    tile_block *block; /* the kernel's, before */
    tile_stmt *scope;
    int first_var, first_buffer; /* what was made inside ends with it */
} build_scope;

typedef struct build_state {
    int var_room, buffer_room;
    bool *var_gone, *buffer_gone; /* by id: its scope is closed */
} build_state;

enum { BUILD_MAX_SIZE = 10000 }; /* nodes of one expression, as printed */

/* ---- build.c ------------------------------------------------------------------------------------------- */
bool build_ready(tg_kernel *k, tg_loc at);
node *build_poison(tg_kernel *k);
bool build_poisoned(const node *x);
var *build_var(tg_kernel *k, tg_loc at, var_kind kind, const char *name, int64_t type);
buffer *build_new_buffer(tg_kernel *k, tg_loc at, tg_space space, const char *name, int64_t type);
/* "case.c:7" in the kernel's memory. */
const char *build_place(tg_kernel *k, tg_loc at);

/* ---- build_value.c ------------------------------------------------------------------------------------- */
/* x as a value of the type of a place; NULL after a mistake.  `place`: "'output'", as messages name it. */
node *build_convert(tg_kernel *k, tg_loc at, const char *place, int64_t type, node *x);
/* x as an index; NULL after a mistake.  `what`: "index 0 of 'a'". */
node *build_index(tg_kernel *k, tg_loc at, const char *what, node *x);
/* x as bool; NULL after a mistake.  `what`: "the condition of when". */
node *build_truth(tg_kernel *k, tg_loc at, const char *what, node *x);
/* A literal that has met no place: floats become f32. */
node *build_settle(tg_kernel *k, tg_loc at, node *x);
/* x, or poison and a mistake when it has grown beyond BUILD_MAX_SIZE. */
node *build_bounded(tg_kernel *k, tg_loc at, node *x);

/* ---- build_scope.c ------------------------------------------------------------------------------------- */
build_scope *build_enclosing(const tg_kernel *k, tg_scope_kind kind);
/* Is a statement allowed here?  Else a mistake that names `word`. */
bool build_inside(tg_kernel *k, tg_loc at, const char *word);

/* ---- build_stmt.c -------------------------------------------------------------------------------------- */
tile_stmt *build_stmt(tg_kernel *k, tg_loc at, tile_kind kind);
void build_append(tg_kernel *k, tile_stmt *s);
/* Does everything that x names still exist here, and may it be read here?  Else a mistake. */
bool build_uses(tg_kernel *k, tg_loc at, node *x);
/* A store of `word` into buffer b outside parallel needs to know which thread.  Else a mistake. */
bool build_has_thread(tg_kernel *k, tg_loc at, const char *word, buffer *b);

/* ---- build_tile.c -------------------------------------------------------------------------------------- */
/* Do all threads of the block come here?  Else a mistake.  (Uniform conditions: build_check.c.) */
bool build_collective(tg_kernel *k, tg_loc at, const char *word);

/* ---- build_check.c ------------------------------------------------------------------------------------- */
void build_check(tg_kernel *k);

#endif
