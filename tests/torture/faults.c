/* Faults of a disk, at a chosen operation: to be loaded by LD_PRELOAD.
 *
 * Operations on files in one folder, at any depth, are counted: open, write, sync, truncate, rename,
 * unlink, link, mkdir and their variants. At the chosen one the process is killed, or the operation
 * fails with an error number, once. Nothing is counted before arm() is called.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[PATH_MAX];
static size_t folder_length;
static long chosen;
static int error_number; /* 0: kill; TORN: a write writes a part and says so */
#define TORN (-1)
static int report = -1;
static long counted;

/* Begin to count. Arguments: the folder, without links; the operation that fails, from 1, or -1 for
 * none; its error number, 0 to be killed, TORN for a short write; a descriptor that the operation is named to when it fails,
 * or each one where none does. */
void arm(const char *path, long number, int error, int descriptor)
{
    folder_length = strlen(path);
    memcpy(folder, path, folder_length + 1);
    error_number = error;
    report = descriptor;
    counted = 0;
    chosen = number;
}

static int inside(const char *path)
{
    return !strncmp(path, folder, folder_length) &&
           (path[folder_length] == '/' || path[folder_length] == '\0' ||
            path[folder_length] == ' ');
}

static int path_inside(int directory, const char *path)
{
    char whole[2 * PATH_MAX], link[64];
    if (!chosen || !path) return 0;
    if (path[0] == '/') return inside(path);
    ssize_t length;
    if (directory == AT_FDCWD) {
        if (!getcwd(whole, PATH_MAX)) return 0;
        length = strlen(whole);
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
        length = readlink(link, whole, PATH_MAX - 1);
        if (length < 0) return 0;
    }
    snprintf(whole + length, PATH_MAX, "/%s", path);
    return inside(whole);
}

static int file_inside(int descriptor)
{
    char link[64], path[PATH_MAX];
    if (!chosen) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = '\0';
    return inside(path);
}

/* Count an operation; return 1 where it is the chosen one and fails, with errno set. */
static int fails(const char *name, const char *what)
{
    pthread_mutex_lock(&lock);
    long number = ++counted;
    pthread_mutex_unlock(&lock);
    if (chosen > 0 && number != chosen) return 0;
    if (error_number == TORN && !strstr(name, "write")) return 0;
    char line[PATH_MAX + 64];
    int size = snprintf(line, sizeof line, "%ld %s %s\n", number, name, what);
    syscall(SYS_write, report, line, (size_t)size);
    return chosen > 0;
}

static int ends(void)
{
    if (!error_number) {
        syscall(SYS_kill, getpid(), SIGKILL);
        for (;;) pause();
    }
    errno = error_number;
    return -1;
}

static int file_fails(const char *name, int descriptor)
{
    char link[64], path[PATH_MAX] = "";
    if (!file_inside(descriptor)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = '\0';
    return fails(name, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                    \
        va_end(rest);                                                                              \
        if (path_inside(AT_FDCWD, path) && fails(#name, path)) return ends();                      \
        return REAL(name)(path, flags, mode);                                                      \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                               \
    int name(int at, const char *path, int flags, ...)                                             \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                    \
        va_end(rest);                                                                              \
        if (path_inside(at, path) && fails(#name, path)) return ends();                            \
        return REAL(name)(at, path, flags, mode);                                                  \
    }
OPENAT(openat)
OPENAT(openat64)

/* A process that is killed while it writes has written a part. */
ssize_t write(int file, const void *data, size_t size)
{
    if (file_fails("write", file)) {
        ssize_t done = error_number > 0 ? 0 : REAL(write)(file, data, (size + 1) / 2);
        return error_number == TORN ? done : ends();
    }
    return REAL(write)(file, data, size);
}

#define PWRITE(name)                                                                               \
    ssize_t name(int file, const void *data, size_t size, off_t place)                             \
    {                                                                                              \
        if (file_fails(#name, file)) {                                                             \
            ssize_t done =                                                                         \
                error_number > 0 ? 0 : REAL(name)(file, data, (size + 1) / 2, place);              \
            return error_number == TORN ? done : ends();                                           \
        }                                                                                          \
        return REAL(name)(file, data, size, place);                                                \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

ssize_t writev(int file, const struct iovec *parts, int count)
{
    if (file_fails("writev", file))
        return error_number == TORN ? REAL(writev)(file, parts, (count + 1) / 2) : ends();
    return REAL(writev)(file, parts, count);
}

#define OF_FILE(name, parameters, ...)                                                             \
    int name parameters                                                                            \
    {                                                                                              \
        return file_fails(#name, file) ? ends() : REAL(name)(__VA_ARGS__);                         \
    }
OF_FILE(fsync, (int file), file)
OF_FILE(fdatasync, (int file), file)
OF_FILE(ftruncate, (int file, off_t size), file, size)
OF_FILE(ftruncate64, (int file, off64_t size), file, size)
OF_FILE(fallocate, (int file, int mode, off_t from, off_t size), file, mode, from, size)

/* It returns its error. */
int posix_fallocate(int file, off_t from, off_t size)
{
    if (file_fails("posix_fallocate", file)) {
        ends();
        return error_number;
    }
    return REAL(posix_fallocate)(file, from, size);
}

#define OF_PATH(name, at, parameters, ...)                                                         \
    int name parameters                                                                            \
    {                                                                                              \
        if (path_inside(at, path) && fails(#name, path)) return ends();                            \
        return REAL(name)(__VA_ARGS__);                                                            \
    }
OF_PATH(creat, AT_FDCWD, (const char *path, mode_t mode), path, mode)
OF_PATH(truncate, AT_FDCWD, (const char *path, off_t size), path, size)
OF_PATH(unlink, AT_FDCWD, (const char *path), path)
OF_PATH(unlinkat, at, (int at, const char *path, int flags), at, path, flags)
OF_PATH(rmdir, AT_FDCWD, (const char *path), path)
OF_PATH(mkdir, AT_FDCWD, (const char *path, mode_t mode), path, mode)
OF_PATH(mkdirat, at, (int at, const char *path, mode_t mode), at, path, mode)
OF_PATH(rename, AT_FDCWD, (const char *from, const char *path), from, path)
OF_PATH(renameat, at, (int from_at, const char *from, int at, const char *path), from_at, from, at,
        path)
OF_PATH(renameat2, at, (int from_at, const char *from, int at, const char *path, unsigned flags),
        from_at, from, at, path, flags)
OF_PATH(link, AT_FDCWD, (const char *from, const char *path), from, path)
OF_PATH(linkat, at, (int from_at, const char *from, int at, const char *path, int flags), from_at,
        from, at, path, flags)
