#define _GNU_SOURCE
#include "cfloor_commands.h"
#include "internal.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

static double microseconds(struct timeval time) { return (double)time.tv_sec * 1e6 + (double)time.tv_usec; }

double cfloor_command(char *const *arguments, char *const *variables, double *processor) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int descriptor = 0; descriptor < 3; descriptor++)
        posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0);
    pid_t child;
    double start = cfloor_now();
    int failure = posix_spawn(&child, arguments[0], &actions, NULL, arguments, variables);
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0) return -1;
    int status;
    struct rusage usage;
    if (wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return -1;
    double wall = cfloor_now() - start;
    *processor = microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
    return wall;
}
