/* test_records.c -- tuned records: what is written is read back, torn and foreign lines are skipped, the winner is
 * computed. */
#define _DEFAULT_SOURCE /* mkdtemp */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/records.h"

static record some_record(void) {
    record r = {.kernel = "k",
                .device = "NVIDIA \"H200\" \\",
                .cc_major = 9,
                .sms = 132,
                .params = TG_CONFIG(N, 4096, dtype, TG_F16),
                .config = TG_CONFIG(block_n, 32, block_k, -1),
                .status = RECORD_OK,
                .mode = RECORD_STREAM,
                .median_us = 27.4375,
                .low_us = 27.25,
                .high_us = 28.5,
                .min_us = 27,
                .launches = 480,
                .registers = 40,
                .spill_bytes = 16,
                .shared_bytes = 1024,
                .compile_ms = 33.5,
                .code = 0xfedcba9876543210u,
                .tegula = "0.1.0 abc",
                .nvrtc = "13.0",
                .driver = "13.0",
                .clock_mhz = 1980,
                .seed = UINT64_MAX,
                .time = 1764460000};
    return r;
}

static records parse(const char *bytes) {
    records all;
    cr_assert_eq(records_parse(bytes, strlen(bytes), &all), TG_OK);
    return all;
}

Test(records, what_is_written_is_read_back) {
    const record r = some_record();
    text line = {0};
    record_print(&r, &line);
    cr_assert_eq(line.s[line.length - 1], '\n');
    records all = parse(line.s);
    cr_assert(all.n == 1 && all.skipped == 0, "%s", line.s);
    const record *x = &all.item[0];
    cr_expect_str_eq(x->kernel, r.kernel);
    cr_expect_str_eq(x->device, r.device);
    cr_expect(x->cc_major == 9 && x->cc_minor == 0 && x->sms == 132);
    cr_expect(records_same_config(&x->params, &r.params) && records_same_config(&x->config, &r.config));
    cr_expect(x->status == RECORD_OK && x->mode == RECORD_STREAM);
    cr_expect(x->median_us == r.median_us && x->low_us == r.low_us && x->high_us == r.high_us &&
              x->min_us == r.min_us && x->compile_ms == r.compile_ms);
    cr_expect(x->launches == 480 && x->registers == 40 && x->spill_bytes == 16 && x->shared_bytes == 1024);
    cr_expect(x->code == r.code && x->seed == r.seed && x->time == r.time && x->clock_mhz == 1980);
    cr_expect_str_eq(x->tegula, r.tegula);
    text again = {0};
    record_print(x, &again);
    cr_expect_str_eq(again.s, line.s);
    text_free(&line);
    text_free(&again);
    records_free(&all);
}

Test(records, a_reason_of_any_characters_survives) {
    record r = some_record();
    r.status = RECORD_WRONG;
    r.mode = RECORD_NOT_TIMED;
    strcpy(r.reason, "a \"quote\", a \\, a tab\t and \x01, \xc3\xa9");
    text line = {0};
    record_print(&r, &line);
    cr_expect_null(memchr(line.s, '\n', line.length - 1));
    records all = parse(line.s);
    cr_assert_eq(all.n, 1);
    cr_expect_str_eq(all.item[0].reason, r.reason);
    cr_expect_eq(all.item[0].status, RECORD_WRONG);
    text_free(&line);
    records_free(&all);
}

static const char good[] =
    "{\"kernel\":\"k\",\"device\":\"G\",\"sms\":4,\"params\":{\"N\":8},\"config\":{\"b\":1},"
    "\"status\":\"ok\",\"mode\":\"look\",\"median_us\":2}";

Test(records, what_a_later_version_adds_is_passed_over) {
    text line = {0};
    text_print(&line, "  {\"new\":[1,{\"a\":null,\"b\":[true,false,-1.5e3,\"x\\u00e9\\\"]\"]}],%s\r\n",
               good + 1);
    records all = parse(line.s);
    cr_expect(all.n == 1 && all.skipped == 0);
    text_free(&line);
    records_free(&all);
}

Test(records, lines_that_are_no_record_are_counted) {
    static const char *const bad[] = {
        "",
        "{}",
        "[]",
        "null",
        "{\"kernel\":\"k\"}",
        "{\"kernel\":\"k\",\"device\":\"G\",\"sms\":4,\"params\":{},\"config\":{}}",
        "{\"kernel\":\"k\",\"device\":\"G\",\"sms\":4,\"status\":\"ok\"}",
        "{\"kernel\":\"k\",\"device\":\"G\",\"sms\":4,\"status\":\"splendid\",\"mode\":\"look\",\"median_"
        "us\":2}",
        "{\"kernel\":\"k\",\"device\":\"G\",\"sms\":4,\"status\":\"ok\",\"mode\":\"look\",\"median_us\":-2}",
        "{\"kernel\":\"k\",\"device\":\"G\",\"sms\":4,\"status\":\"ok\",\"mode\":\"look\",\"median_us\":"
        "1e999}",
        "{\"kernel\":\"k\",\"device\":\"G\",\"sms\":99999999999,\"status\":\"wrong\"}",
        "{\"kernel\":\"k\",\"device\":\"G\",\"sms\":4,\"status\":\"wrong\",\"config\":{\"b\":\"f17\"}}",
        "{\"kernel\":\"k\",\"device\":\"G\",\"sms\":4,\"status\":\"wrong\",\"config\":{\"b\":1.5}}",
        "{\"kernel\":\"k\",\"device\":\"G\",\"sms\":4,\"status\":\"wrong\",\"config\":{\"b\":1,\"b\":2}}",
        "{\"kernel\":\"k\",\"device\":\"G\",\"sms\":4,\"status\":\"wrong\",\"code\":\"12\"}",
        "{\"kernel\":\"k\\u12\",\"device\":\"G\",\"sms\":4,\"status\":\"wrong\"}",
        "{\"kernel\":\"k\",\"device\":\"G\",\"sms\":4,\"status\":\"wrong\"} x",
    };
    for (size_t i = 1; i < sizeof bad / sizeof *bad; i++) {
        text lines = {0};
        text_print(&lines, "%s\n%s\n\n%s", good, bad[i], good);
        records all = parse(lines.s);
        cr_expect(all.n == 2 && all.skipped == 1 && all.first_skipped == 2, "%s", bad[i]);
        text_free(&lines);
        records_free(&all);
    }
}

/* Cut at every byte: never a crash, and all lines before the cut stay. */
Test(records, a_torn_last_line_is_skipped) {
    const record r = some_record();
    text line = {0}, file = {0};
    record_print(&r, &line);
    text_print(&file, "%s\n%s", good, line.s);
    const size_t whole = strlen(good) + 1;
    for (size_t cut = whole; cut < file.length; cut++) {
        char *bytes = malloc(cut + 1); /* so that the address sanitizer sees its end */
        memcpy(bytes, file.s, cut);
        records all;
        cr_assert_eq(records_parse(bytes, cut, &all), TG_OK);
        cr_expect_eq(all.n, cut == file.length - 1 ? 2 : 1, "cut at %zu", cut);
        cr_expect_eq(all.skipped, cut == whole || all.n == 2 ? 0 : 1, "cut at %zu", cut);
        records_free(&all);
        free(bytes);
    }
    text_free(&line);
    text_free(&file);
}

/* Bytes changed at random: whatever is still a record can be printed and read again. */
Test(records, changed_bytes_never_crash) {
    const record r = some_record();
    text line = {0};
    record_print(&r, &line);
    uint64_t state = 1;
    for (int i = 0; i < 20000; i++) {
        char *bytes = malloc(line.length);
        memcpy(bytes, line.s, line.length);
        for (int j = 0; j < 1 + i % 4; j++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            static const char likely[] = "{}[]\":,\\u0123456789.eE+-tfn \n";
            const uint64_t what = state >> 33;
            bytes[(state >> 40) % line.length] =
                what & 1 ? likely[what % (sizeof likely - 1)] : (char)(what >> 8);
        }
        records all;
        cr_assert_eq(records_parse(bytes, line.length, &all), TG_OK);
        for (int j = 0; j < all.n; j++) {
            text again = {0};
            record_print(&all.item[j], &again);
            records twice = parse(again.s);
            cr_assert(twice.n == 1, "%s", again.s);
            records_free(&twice);
            text_free(&again);
        }
        records_free(&all);
        free(bytes);
    }
    text_free(&line);
}

/* ---- files --------------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/tegula-records-XXXXXX";
static char path[128];

static void make_folder(void) {
    cr_assert(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a/b/tuned.jsonl", folder);
}

static void write_file(const char *bytes) {
    FILE *f = fopen(path, "w");
    cr_assert(f);
    fputs(bytes, f);
    fclose(f);
}

Test(records, adding_makes_the_folder_and_heals_a_torn_line, .init = make_folder) {
    const record r = some_record();
    records_file f;
    cr_assert_eq(records_open(path, &f), TG_OK, "%s", tg_error());
    cr_assert_eq(records_add(&f, &r), TG_OK);
    records_close(&f);
    records_close(&f); /* twice is fine */
    struct stat found;
    cr_assert_eq(stat(path, &found), 0);
    FILE *torn = fopen(path, "a");
    fputs("{\"kernel\":\"to", torn);
    fclose(torn);
    cr_assert_eq(records_open(path, &f), TG_OK);
    cr_assert_eq(records_add(&f, &r), TG_OK);
    records_close(&f);
    records all;
    cr_assert_eq(records_read(path, &all), TG_OK);
    cr_expect(all.n == 2 && all.skipped == 1 && all.first_skipped == 2 && all.is_old[0] && !all.is_old[1]);
    records_free(&all);
}

Test(records, many_processes_may_add_at_once, .init = make_folder) {
    enum { PROCESSES = 8, EACH = 50 };
    for (int i = 0; i < PROCESSES; i++) {
        if (fork() == 0) {
            record r = some_record();
            records_file f;
            if (records_open(path, &f) != TG_OK) {
                _exit(1);
            }
            for (int j = 0; j < EACH; j++) {
                tg_config_set(&r.config, "block_n", i * EACH + j);
                records_add(&f, &r);
            }
            _exit(0);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        wait(NULL);
    }
    records all;
    cr_assert_eq(records_read(path, &all), TG_OK);
    cr_expect(all.n == PROCESSES * EACH && all.skipped == 0, "%d records, %d skipped", all.n, all.skipped);
    records_free(&all);
}

Test(records, a_file_that_is_not_there_has_no_records_and_a_folder_is_an_error, .init = make_folder) {
    records all;
    records_file f;
    cr_expect_eq(records_read(path, &all), TG_OK);
    cr_expect_eq(all.n, 0);
    records_free(&all);
    cr_expect_eq(records_open(folder, &f), TG_EARG);
    cr_expect(strstr(tg_error(), "cannot be written"), "%s", tg_error());
    cr_expect_eq(records_read(folder, &all), TG_EARG);
    cr_expect(strstr(tg_error(), "Is a directory"), "%s", tg_error());
    snprintf(path, sizeof path, "%s/tuned.jsonl", folder);
    write_file("not a record at all");
    cr_expect_eq(records_read(path, &all), TG_OK);
    cr_expect(all.n == 0 && all.skipped == 1);
    records_free(&all);
}

Test(records, the_place_is_the_option_the_variable_or_the_state_folder) {
    setenv("TEGULA_TUNED", "/x/t.jsonl", 1);
    setenv("XDG_STATE_HOME", "/state", 1);
    setenv("HOME", "/home/u", 1);
    const char *const wanted[] = {"given", "/x/t.jsonl", "/state/tegula/tuned.jsonl",
                                  "/home/u/.local/state/tegula/tuned.jsonl"};
    for (int i = 0; i < 4; i++) {
        char *place = records_path(i == 0 ? "given" : NULL);
        cr_expect_str_eq(place, wanted[i]);
        free(place);
        i == 1 ? unsetenv("TEGULA_TUNED") : i == 2 ? setenv("XDG_STATE_HOME", "relative", 1) : 0;
    }
    unsetenv("HOME");
    cr_expect_null(records_path(NULL));
}

static int fill_disk(void) {
    record r = some_record();
    records_file f;
    struct stat is;
    signal(SIGXFSZ, SIG_IGN);
    if (records_open(path, &f) != TG_OK || records_add(&f, &r) != TG_OK || stat(path, &is) != 0) {
        return 10;
    }
    struct rlimit full = {(rlim_t)is.st_size + 100, RLIM_INFINITY};
    const struct rlimit roomy = {RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &full) || records_add(&f, &r) != TG_EARG || records_add(&f, &r) != TG_EARG ||
        !strstr(tg_error(), "could not be written")) {
        return 11;
    }
    const bool is_kept = setrlimit(RLIMIT_FSIZE, &roomy) == 0 && records_add(&f, &r) == TG_OK;
    records_close(&f);
    return is_kept ? 0 : 12;
}

/* A limit on the size of files fails a write in its middle, as a full disk does. */
Test(records, a_line_that_a_full_disk_cut_costs_no_other, .init = make_folder) {
    const pid_t child = fork();
    if (child == 0) {
        _exit(fill_disk());
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%d", status);
    records all;
    cr_assert_eq(records_read(path, &all), TG_OK);
    cr_expect(all.n == 2 && all.skipped == 1 && all.first_skipped == 2, "%d records, %d skipped", all.n,
              all.skipped);
    records_free(&all);
}

Test(records, a_device_without_an_end_is_no_record_file) {
    records all;
    cr_expect_eq(records_read("/dev/zero", &all), TG_EARG);
    cr_expect(strstr(tg_error(), "/dev/zero cannot be read: File too large"), "%s", tg_error());
    cr_expect_eq(records_read("/dev/null", &all), TG_OK);
    records_free(&all);
}

/* ---- the winner ---------------------------------------------------------------------------------------- */

static void add_line(text *file, int64_t n, int64_t dtype, int64_t b, record_mode mode, double us,
                     record_status status) {
    record r = some_record();
    strcpy(r.device, "G");
    r.params = TG_CONFIG(N, n, dtype, dtype);
    r.config = TG_CONFIG(b, b, c, 1);
    r.mode = mode;
    r.median_us = us;
    r.status = status;
    record_print(&r, file);
}

/* The b of the winner; 0: none. */
static int64_t best(const text *file, tg_config given, const char *device, int sms, bool *is_exact) {
    records all = parse(file->s);
    const records_query q = {"k", device, sms, &given};
    const record *found = records_best(&all, &q, is_exact);
    int64_t b = 0;
    if (found) {
        tg_config_get(&found->config, "b", &b);
    }
    records_free(&all);
    return b;
}

Test(records, the_fastest_right_one_wins_and_careful_measurements_first) {
    text f = {0};
    bool exact;
    add_line(&f, 64, TG_F16, 1, RECORD_STREAM, 30, RECORD_OK);
    add_line(&f, 64, TG_F16, 2, RECORD_STREAM, 20, RECORD_OK);
    add_line(&f, 64, TG_F16, 3, RECORD_LOOK, 10, RECORD_OK);
    add_line(&f, 64, TG_F16, 4, RECORD_STREAM, 5, RECORD_WRONG);
    cr_expect_eq(best(&f, TG_CONFIG(N, 64, dtype, TG_F16), "G", 132, &exact), 2);
    cr_expect(exact);
    add_line(&f, 64, TG_F16, 2, RECORD_STREAM, 40, RECORD_OK); /* measured again: the later line counts */
    cr_expect_eq(best(&f, TG_CONFIG(N, 64, dtype, TG_F16), "G", 132, &exact), 1);
    add_line(&f, 64, TG_F16, 1, RECORD_NOT_TIMED, 0, RECORD_CRASHED);
    cr_expect_eq(best(&f, TG_CONFIG(N, 64, dtype, TG_F16), "G", 132, &exact), 2);
    text_free(&f);
}

Test(records, other_devices_kernels_and_types_do_not_count) {
    text f = {0};
    bool exact;
    add_line(&f, 64, TG_F16, 1, RECORD_STREAM, 30, RECORD_OK);
    cr_expect_eq(best(&f, TG_CONFIG(N, 64, dtype, TG_F16), "H", 132, &exact), 0);
    cr_expect_eq(best(&f, TG_CONFIG(N, 64, dtype, TG_F16), "G", 66, &exact), 0); /* half of one: MIG */
    cr_expect_eq(best(&f, TG_CONFIG(N, 64, dtype, TG_BF16), "G", 132, &exact), 0);
    cr_expect_eq(best(&f, TG_CONFIG(N, 64), "G", 132, &exact), 0);
    text_free(&f);
}

Test(records, the_nearest_params_serve_where_none_are_equal) {
    text f = {0};
    bool exact = true;
    add_line(&f, 64, TG_F16, 1, RECORD_STREAM, 1, RECORD_OK);
    add_line(&f, 1024, TG_F16, 2, RECORD_STREAM, 9, RECORD_OK);
    cr_expect_eq(best(&f, TG_CONFIG(N, 2000, dtype, TG_F16), "G", 132, &exact), 2);
    cr_expect_not(exact);
    cr_expect_eq(best(&f, TG_CONFIG(N, 100, dtype, TG_F16), "G", 132, &exact), 1);
    text_free(&f);
}

/* A launch brings them; what is compiled serves all of them, so one of the groups must count. */
Test(records, of_several_extents_those_measured_last_count) {
    text f = {0};
    bool exact = false;
    record r = some_record();
    strcpy(r.device, "G");
    r.params = TG_CONFIG(N, 64);
    for (int line = 0; line < 4; line++) {
        r.config = TG_CONFIG(b, 1 + line % 2);
        r.extents = TG_CONFIG(rows, line < 2 ? 1 : 1000);
        r.median_us = line == 0 ? 1 : line == 1 ? 2 : line == 2 ? 900 : 700;
        record_print(&r, &f);
    }
    records all = parse(f.s);
    cr_expect(all.n == 4 && !all.is_old[0] && !all.is_old[1], "other extents replace nothing");
    int64_t rows = 0;
    cr_expect(tg_config_get(&all.item[3].extents, "rows", &rows) && rows == 1000);
    cr_expect_eq(records_of(&all, &all.item[1]), &all.item[1]);
    records_free(&all);
    cr_expect_eq(best(&f, TG_CONFIG(N, 64), "G", 132, &exact), 2, "1000 rows came last");
    cr_expect(exact);
    cr_expect_eq(best(&f, TG_CONFIG(N, 64, b, 1), "G", 132, &exact), 1);
    r.config = TG_CONFIG(b, 2);
    r.extents = TG_CONFIG(rows, 1);
    r.median_us = 3; /* measured again, and slower: what was measured before still belongs to it */
    record_print(&r, &f);
    cr_expect_eq(best(&f, TG_CONFIG(N, 64), "G", 132, &exact), 1);
    text_free(&f);
}

Test(records, given_tunables_choose_among_records_that_agree) {
    text f = {0};
    bool exact;
    add_line(&f, 64, TG_F16, 1, RECORD_STREAM, 30, RECORD_OK);
    add_line(&f, 64, TG_F16, 2, RECORD_STREAM, 20, RECORD_OK);
    cr_expect_eq(best(&f, TG_CONFIG(N, 64, dtype, TG_F16, b, 1), "G", 132, &exact), 1);
    cr_expect_eq(best(&f, TG_CONFIG(N, 64, dtype, TG_F16, b, 7), "G", 132, &exact), 0);
    cr_expect_eq(best(&f, TG_CONFIG(N, 64, dtype, TG_F16, other, 7), "G", 132, &exact), 2);
    text_free(&f);
}
