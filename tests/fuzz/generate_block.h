/* generate_block.h -- what the two files of random kernels in block view share. */
#ifndef FUZZ_GENERATE_BLOCK_H
#define FUZZ_GENERATE_BLOCK_H

#include "generate.h"

enum { MAX_TILES = 24, TILE_RANK = 3 };

typedef struct tiles {
    int n;
    int buffer[MAX_TILES]; /* shared or fragment, every element written */
} tiles;

typedef struct maker {
    program *p;
    int outputs;
    int rows; /* an extent, or NONE */
    int64_t shared_bytes;
} maker;

int64_t block_pick(program *p, const int64_t *from, int n);
int block_new_axis(program *p, variable_kind kind, const char *stem, int size, bool uniform);
void block_any_contents(gbuffer *b);
int64_t block_number_type(program *p);
void block_make_launch(maker *m, scope *s);
void block_make_extent(maker *m, scope *s);
void block_make_scalar(program *p, scope *s);
int block_make_input(maker *m, int64_t type, int rank, const int *dim);
int block_tile_extent(program *p, int rank);
int64_t block_element_count(const program *p, const int *dim, int rank);
int block_new_tile(maker *m, tg_space space, int64_t type, int rank, const int *dim);
int block_random_tile(maker *m, tg_space space, int64_t type);
tg_space block_random_space(program *p);
int block_any_tile(maker *m);
gstmt *block_alloc(program *p, int b);
void block_hold(program *p, scope *s, tiles *t, int b);
void block_let_go(const program *p, scope *s, tiles *t, int b);
gregion block_whole(program *p, int b);
gexpr *block_uniform_index(program *p, const scope *s, int64_t most);
gstmt *block_load_into(maker *m, const scope *s, int tile);
gstmt *block_load_tile(maker *m, scope *s, tiles *t);
gstmt *block_fill(maker *m, const scope *s, int b);
gstmt *block_fill_tile(maker *m, scope *s, tiles *t);
gstmt *block_fill_part(maker *m, const scope *s, const tiles *t);
gstmt *block_local_tile(maker *m, scope *s);
int block_new_view(maker *m, int of, int64_t type);
int block_perhaps_view(maker *m, int b, int percent, gstmt ***tail);
void block_hold_both(program *p, scope *s, tiles *t, int b, int v);
gstmt *block_view_tile(maker *m, scope *s, tiles *t);
gstmt *block_copy_tile(maker *m, scope *s, tiles *t);
int block_new_output(maker *m, int64_t type, int rank, const int *dim);
gstmt *block_store_tile(maker *m, int tile);

#endif
