/* gpu_cases.c -- the table of gpu_cases.h: small kernels that have broken tile compilers, pipelines, barriers.
 *
 * Whole numbers from 0 to 8 are right for every tensor: as data, as rows, as trips. */
#include "gpu_cases.h"

/* clang-format off */
#define ENTRIES(X)                                                                     \
    X(trips_overwritten, stages, 3, threads, 64, width, 64)                            \
    X(own_trips_overwritten, threads, 96)                                              \
    X(trips_of_each, threads, 96)                                                      \
    X(decided_before, stages, 3, threads, 64, width, 64, deep, 1)                      \
    X(decided_anew, stages, 3, threads, 64, width, 64)                                 \
    X(moved_by_itself, how, 0, threads, 64, width, 64)                                 \
    X(moved_by_itself, how, 1, threads, 64, width, 64)                                 \
    X(moved_by_itself, how, 2, threads, 64, width, 64)                                 \
    X(drawn_slots, n, 9, stages, 3, threads, 64, width, 64)                            \
    X(two_readers, n, 9, threads, 64, width, 64)                                       \
    X(three_groups, n, 9, stages, 3, threads, 64, width, 64)                           \
    X(branches_in_branches, n, 9, threads, 64, width, 64)                              \
    X(padded_with_a_value, rows, 60, columns, 60, tile_rows, 64, tile_columns, 64, threads, 128) \
    X(padded_with_a_value, rows, 16, columns, 104, tile_rows, 16, tile_columns, 104, threads, 384) \
    X(every_thread_adds, threads, 96)                                                  \
    X(masked, threads, 64, width, 64)                                                  \
    X(magnitude_without_sign, threads, 64, width, 64)                                  \
    X(read_then_overwritten, n, 9, stages, 3, threads, 64, width, 64)                  \
    X(one_scratch_for_two, n, 9, stages, 3, threads, 64, width, 64)                    \
    X(copied_if, n, 9, stages, 3, threads, 64, width, 64, how, 0)                      \
    X(copied_if, n, 9, stages, 3, threads, 64, width, 64, how, 1)                      \
    X(copied_if, n, 9, stages, 3, threads, 64, width, 64, how, 2)                      \
    X(loops_of_two_depths, n, 9, stages, 3, other, 2, threads, 64, width, 64)          \
    X(loops_of_two_depths, n, 7, stages, 2, other, 4, threads, 64, width, 64)          \
    X(viewed_from, dtype, TG_F16, align, 2, off, 1, n, 64, how, 3, threads, 64)        \
    X(viewed_from, dtype, TG_F16, align, 16, off, 2, n, 64, how, 3, threads, 64)       \
    X(viewed_from, dtype, TG_U32, align, 16, off, 3, n, 31, how, 1, threads, 64)       \
    X(viewed_from, dtype, TG_I64, align, 8, off, 1, n, 31, how, 2, threads, 64)        \
    X(viewed_wide, align, 16, off, 2, lanes, 16)                                       \
    X(viewed_wide, align, 16, off, 4, lanes, 64)                                       \
    X(chosen_wide, dtype, TG_F16, lanes, 8, threads, 64)                               \
    X(chosen_wide, dtype, TG_I8, lanes, 16, threads, 64)                               \
    X(narrowed, from_type, TG_F32, to_type, TG_I8, n, 5003, threads, 64)               \
    X(narrowed, from_type, TG_U8, to_type, TG_F64, n, 5003, threads, 64)               \
    X(any_of_rows, rows, 96, cols, 128, limit, 7)                                      \
    X(any_of_rows, rows, 224, cols, 256, limit, 8)                                     \
    X(rows_of_the_launch, block_m, 4, width, 64, stages, 3, how, 0, threads, 64)       \
    X(rows_of_the_launch, block_m, 4, width, 64, stages, 3, how, 2, threads, 64)       \
    X(two_copies, n, 9, stages, 3)                                                     \
    X(into_registers, n, 9, stages, 3)                                                 \
    X(both_kinds, n, 9, stages, 3)                                                     \
    X(read_after, n, 9, stages, 3)                                                     \
    X(through_copy, n, 9, stages, 3)                                                   \
    X(nested, n, 9, stages, 3, other, 2, same, 0)                                      \
    X(registers_in_registers, n, 9, stages, 3)                                         \
    X(ragged, n, 9, stages, 3)                                                         \
    X(fill_part, threads, 128, rounds, 4)                                              \
    X(counting, threads, 128, n, 500)                                                  \
    X(three_places, threads, 64)                                                       \
    X(two_types, threads, 64, rounds, 4)                                               \
    X(two_passes, threads, 64)                                                         \
    X(behind_shared_flag, threads, 64, rounds, 4)                                      \
    X(through_global, threads, 64, shift, 1)
/* clang-format on */

#define PROTOTYPE(name, ...) void name(void);
#define ENTRY(name, ...) \
    {#name, name, {TG_COUNT(__VA_ARGS__) / 2, {TG_CAT(TG_PAIRS_, TG_COUNT(__VA_ARGS__))(__VA_ARGS__)}}},

ENTRIES(PROTOTYPE)

const gpu_entry gpu_entries[] = {ENTRIES(ENTRY)};
const int gpu_nentries = sizeof gpu_entries / sizeof *gpu_entries;
