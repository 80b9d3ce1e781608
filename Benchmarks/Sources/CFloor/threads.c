#include "cfloor.h"
#include "internal.h"

#include <pthread.h>

enum { most_threads = 64 };

struct worker {
    pthread_t thread;
    cfloor *floor;
    unsigned count;
    int ok;
};

static void *make_tokens(void *argument) {
    struct worker *worker = argument;
    worker->ok = 1;
    for (unsigned i = 0; worker->ok && i < worker->count; i++) worker->ok = cfloor_token(worker->floor) != 0;
    return NULL;
}

static int run(struct worker *workers, unsigned threads, double *seconds) {
    unsigned started = 0;
    int ok = 1;
    double start = cfloor_now();
    while (started < threads && pthread_create(&workers[started].thread, NULL, make_tokens, &workers[started]) == 0) started++;
    for (unsigned i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        ok = ok && workers[i].ok;
    }
    *seconds = (cfloor_now() - start) / 1e6;
    return ok && started == threads;
}

double cfloor_threads(const char *source_cache, const char *service, unsigned threads, unsigned count) {
    struct worker workers[most_threads] = {0};
    double seconds = 0;
    int ok = threads <= most_threads;
    for (unsigned i = 0; ok && i < threads; i++) {
        workers[i].floor = cfloor_open(source_cache, service);
        workers[i].count = count;
        ok = workers[i].floor != NULL;
    }
    ok = ok && run(workers, threads, &seconds);
    for (unsigned i = 0; i < threads && i < most_threads; i++)
        if (workers[i].floor) cfloor_close(workers[i].floor);
    return ok ? threads * count / seconds : -1;
}
