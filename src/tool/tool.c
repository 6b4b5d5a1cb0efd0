/* tool.c -- messages of the command. */
#include "tool/tool.h"

#include <stdarg.h>
#include <stdio.h>

#include <tegula/tegula.h>

#include "dsl/diag.h"

static char last[512];

const char *tool_failure(void) {
    return last;
}

int tool_fail(int status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(last, sizeof last, format, args);
    va_end(args);
    fflush(stdout);
    fputs("tegula: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return status;
}

int tool_status(int code) {
    switch ((tg_status)code) {
    case TG_OK:
        return STATUS_GOOD;
    case TG_EKERNEL:
    case TG_EARG:
        return STATUS_FAULTY;
    case TG_ENODEVICE:
    case TG_ENOCOMPILER:
    case TG_ENOMEM:
        return STATUS_LACKING;
    case TG_EDRIVER:
    case TG_EINTERNAL:
        return STATUS_WRONG;
    }
    return STATUS_WRONG;
}

/* For a code that came without words. */
static const char *code_text(int code) {
    switch ((tg_status)code) {
    case TG_OK:
        return "no error";
    case TG_EKERNEL:
        return "the kernel is faulty";
    case TG_EARG:
        return "an argument is faulty";
    case TG_ENODEVICE:
        return "no device";
    case TG_ENOCOMPILER:
        return "no NVRTC";
    case TG_EDRIVER:
        return "the driver refused";
    case TG_ENOMEM:
        return "out of memory";
    case TG_EINTERNAL:
        return "an internal fault";
    }
    return "an unknown fault";
}

int tool_fail_code(int code, const char *doing) {
    const char *bug = code == TG_EINTERNAL ? diag_take_bug() : NULL;
    const char *said = bug ? bug : tg_error();
    return tool_fail(tool_status(code), "%s: %s", doing, *said ? said : code_text(code));
}
