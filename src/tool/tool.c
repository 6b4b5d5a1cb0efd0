/* tool.c -- messages of the command. */
#include "tool/tool.h"

#include <stdarg.h>
#include <stdio.h>

#include <tegula/tegula.h>

int tool_fail(int status, const char *format, ...) {
    va_list args;
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

int tool_fail_code(int code, const char *doing) {
    return tool_fail(tool_status(code), "%s: %s", doing, tg_error());
}

int verb_not_yet(const options *o) {
    return tool_fail(STATUS_FAULTY, "%s is not available yet in this version", o->verb);
}
