/* Record what is done to the files of a folder, in order: to be loaded by LD_PRELOAD.
 *
 * Each operation that changes files in one folder, at any depth, or syncs them, is done and then
 * written to a log; so are marks of the program, and what it tells the outside (standard output and
 * error, sockets of the internet), before it is told. The processes of one program take turns, so
 * that the log has the order in which the operations took place. Nothing is recorded before
 * record_to() is called; its forks go on with the same log. Memory that is mapped is not seen.
 *
 * A record of the log: kind (1 byte), inode, place, size (8 bytes each, native), bytes of what
 * follows (4), and these: paths, relative to the folder and separated by NUL, or data.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    CREATE = 'c', RESIZE = 't', WRITE = 'w', ALLOCATE = 'a', SYNC = 's', SYNC_FOLDER = 'd',
    RENAME = 'r', LINK = 'l', UNLINK = 'u', MAKE_FOLDER = 'm', REMOVE_FOLDER = 'x', MARK = '!',
    TOLD = '>', UNKNOWN = '?'
};

static char folder[PATH_MAX];
static size_t folder_length;
static int log_file = -1;
static pthread_mutex_t *turn; /* shared with forks */

/* Begin. Arguments: the folder, without links; the log, which lies elsewhere. Return 0, or an error
 * number. */
int record_to(const char *path, const char *log_path)
{
    folder_length = strlen(path);
    memcpy(folder, path, folder_length + 1);
    turn = mmap(NULL, sizeof *turn, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (turn == MAP_FAILED) return errno;
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(turn, &how);
    int opened = (int)syscall(SYS_openat, AT_FDCWD, log_path,
                              O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (opened < 0) return errno;
    /* Where programs that close or count their descriptors do not look. */
    log_file = (int)syscall(SYS_fcntl, opened, F_DUPFD_CLOEXEC, 900);
    int error = log_file < 0 ? errno : 0;
    syscall(SYS_close, opened);
    return error;
}

static void begin(void)
{
    /* A process that was killed in its turn has ended it. */
    if (pthread_mutex_lock(turn) == EOWNERDEAD) pthread_mutex_consistent(turn);
}

static void end(void)
{
    pthread_mutex_unlock(turn);
}

/* Write a record. A log that is not whole is worth nothing: the program ends. */
static void tell(char kind, uint64_t inode, int64_t place, int64_t size,
                 const struct iovec *parts, int count, size_t most)
{
    int before = errno;
    uint32_t bytes = (uint32_t)most;
    unsigned char head[29];
    head[0] = (unsigned char)kind;
    memcpy(head + 1, &inode, 8);
    memcpy(head + 9, &place, 8);
    memcpy(head + 17, &size, 8);
    memcpy(head + 25, &bytes, 4);
    struct iovec all[1 + IOV_MAX];
    all[0].iov_base = head;
    all[0].iov_len = sizeof head;
    int used = 1;
    for (int at = 0; at < count && most && used < IOV_MAX; at++) {
        all[used] = parts[at];
        if (all[used].iov_len > most) all[used].iov_len = most;
        most -= all[used++].iov_len;
    }
    if (most || syscall(SYS_writev, log_file, all, used) != (long)(sizeof head + bytes)) abort();
    errno = before;
}

static void tell_data(char kind, uint64_t inode, int64_t place, const void *data, size_t size)
{
    struct iovec part = {(void *)data, size};
    tell(kind, inode, place, (int64_t)size, &part, 1, size);
}

/* Say something in the log. */
void mark(const char *text)
{
    begin();
    tell_data(MARK, 0, 0, text, strlen(text));
    end();
}

/* Return the part of a path that follows the folder; NULL where it is not in it. */
static const char *within(const char *path)
{
    if (strncmp(path, folder, folder_length)) return NULL;
    if (path[folder_length] == '/') return path + folder_length + 1;
    return path[folder_length] ? NULL : path + folder_length;
}

/* Put the absolute path of what is opened by a descriptor into place; return its length, or -1. */
static ssize_t path_of(int file, char *place)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, place, PATH_MAX - 1);
    if (length >= 0) place[length] = '\0';
    return length;
}

/* Return a path relative to the folder; NULL where it is not in it. Paths with ".." or links are
 * not resolved. */
static const char *path_within(int directory, const char *path, char *place)
{
    if (log_file < 0 || !path) return NULL;
    if (path[0] == '/') return within(path);
    ssize_t length;
    if (directory == AT_FDCWD) {
        if (!getcwd(place, PATH_MAX)) return NULL;
        length = (ssize_t)strlen(place);
    } else if ((length = path_of(directory, place)) < 0) {
        return NULL;
    }
    snprintf(place + length, PATH_MAX, "/%s", path);
    return within(place);
}

static int file_within(int file)
{
    char place[PATH_MAX];
    return log_file >= 0 && path_of(file, place) >= 0 && within(place) != NULL;
}

static uint64_t inode_of(int file)
{
    struct stat found;
    return fstat(file, &found) ? 0 : found.st_ino;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void tell_path(char kind, uint64_t inode, const char *path)
{
    tell_data(kind, inode, 0, path, strlen(path));
}

static void tell_paths(char kind, const char *from, const char *path)
{
    struct iovec parts[3] = {{(void *)from, strlen(from)}, {"", 1}, {(void *)path, strlen(path)}};
    tell(kind, 0, 0, 0, parts, 3, parts[0].iov_len + 1 + parts[2].iov_len);
}

static int opened(int at, const char *path, int flags, mode_t mode,
                  int (*real)(int, const char *, int, mode_t))
{
    char place[2 * PATH_MAX];
    const char *name = flags & (O_CREAT | O_TRUNC) ? path_within(at, path, place) : NULL;
    if (!name) return real(at, path, flags, mode);
    begin();
    struct stat before;
    int was = !fstatat(at, path, &before, 0);
    int file = real(at, path, flags, mode);
    if (file >= 0) {
        if ((flags & O_TMPFILE) == O_TMPFILE)
            tell_path(UNKNOWN, 0, name);
        else if (!was)
            tell_path(CREATE, inode_of(file), name);
        else if (flags & O_TRUNC)
            tell(RESIZE, before.st_ino, 0, 0, NULL, 0, 0);
    }
    end();
    return file;
}

static int real_open(int at, const char *path, int flags, mode_t mode)
{
    (void)at;
    return REAL(open64)(path, flags, mode);
}

static int real_openat(int at, const char *path, int flags, mode_t mode)
{
    return REAL(openat64)(at, path, flags, mode);
}

#define MODE(flags, mode)                                                                          \
    va_list rest;                                                                                  \
    va_start(rest, flags);                                                                         \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                        \
    va_end(rest)

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        MODE(flags, mode);                                                                         \
        return opened(AT_FDCWD, path, flags, mode, real_open);                                     \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                               \
    int name(int at, const char *path, int flags, ...)                                             \
    {                                                                                              \
        MODE(flags, mode);                                                                         \
        return opened(at, path, flags, mode, real_openat);                                         \
    }
OPENAT(openat)
OPENAT(openat64)

int creat(const char *path, mode_t mode)
{
    return opened(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode, real_open);
}

/* Whether what is written there is heard outside. */
static int is_heard(int file)
{
    if (log_file < 0) return 0;
    if (file == 1 || file == 2) return 1;
    int domain;
    socklen_t size = sizeof domain;
    return !getsockopt(file, SOL_SOCKET, SO_DOMAIN, &domain, &size) &&
           (domain == AF_INET || domain == AF_INET6);
}

static void tell_told(const struct iovec *parts, int count)
{
    size_t size = 0;
    for (int at = 0; at < count; at++) size += parts[at].iov_len;
    begin();
    tell(TOLD, 0, 0, (int64_t)size, parts, count, size);
    end();
}

static void tell_written(int file, const struct iovec *parts, int count, off_t place, ssize_t done)
{
    if (done > 0) tell(WRITE, inode_of(file), place, done, parts, count, (size_t)done);
}

ssize_t write(int file, const void *data, size_t size)
{
    struct iovec part = {(void *)data, size};
    if (is_heard(file)) tell_told(&part, 1);
    if (!file_within(file)) return REAL(write)(file, data, size);
    begin();
    ssize_t done = REAL(write)(file, data, size);
    tell_written(file, &part, 1, done > 0 ? lseek(file, 0, SEEK_CUR) - done : 0, done);
    end();
    return done;
}

ssize_t writev(int file, const struct iovec *parts, int count)
{
    if (is_heard(file)) tell_told(parts, count);
    if (!file_within(file)) return REAL(writev)(file, parts, count);
    begin();
    ssize_t done = REAL(writev)(file, parts, count);
    tell_written(file, parts, count, done > 0 ? lseek(file, 0, SEEK_CUR) - done : 0, done);
    end();
    return done;
}

#define PWRITE(name)                                                                               \
    ssize_t name(int file, const void *data, size_t size, off_t place)                             \
    {                                                                                              \
        struct iovec part = {(void *)data, size};                                                  \
        if (!file_within(file)) return REAL(name)(file, data, size, place);                        \
        begin();                                                                                   \
        ssize_t done = REAL(name)(file, data, size, place);                                        \
        tell_written(file, &part, 1, place, done);                                                 \
        end();                                                                                     \
        return done;                                                                               \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define PWRITEV(name)                                                                              \
    ssize_t name(int file, const struct iovec *parts, int count, off_t place)                      \
    {                                                                                              \
        if (!file_within(file)) return REAL(name)(file, parts, count, place);                      \
        begin();                                                                                   \
        ssize_t done = REAL(name)(file, parts, count, place);                                      \
        tell_written(file, parts, count, place, done);                                             \
        end();                                                                                     \
        return done;                                                                               \
    }
PWRITEV(pwritev)
PWRITEV(pwritev64)

ssize_t send(int file, const void *data, size_t size, int flags)
{
    struct iovec part = {(void *)data, size};
    if (is_heard(file)) tell_told(&part, 1);
    return REAL(send)(file, data, size, flags);
}

ssize_t sendmsg(int file, const struct msghdr *message, int flags)
{
    if (is_heard(file)) tell_told(message->msg_iov, (int)message->msg_iovlen);
    return REAL(sendmsg)(file, message, flags);
}

/* What is not recorded, and would write a file of the folder, is said to have been done. */
static void tell_unknown(int file, const char *name)
{
    if (!file_within(file)) return;
    begin();
    tell_path(UNKNOWN, 0, name);
    end();
}

#define COPIED(name, parameters, ...)                                                              \
    ssize_t name parameters                                                                        \
    {                                                                                              \
        tell_unknown(file, #name);                                                                 \
        return REAL(name)(__VA_ARGS__);                                                            \
    }
COPIED(sendfile, (int file, int from, off_t *place, size_t size), file, from, place, size)
COPIED(sendfile64, (int file, int from, off64_t *place, size_t size), file, from, place, size)
COPIED(copy_file_range, (int from, off64_t *at, int file, off64_t *place, size_t size, unsigned how),
       from, at, file, place, size, how)

#define SYNC_OF(name)                                                                              \
    int name(int file)                                                                             \
    {                                                                                              \
        char place[PATH_MAX];                                                                      \
        const char *path = log_file >= 0 && path_of(file, place) >= 0 ? within(place) : NULL;      \
        if (!path) return REAL(name)(file);                                                        \
        begin();                                                                                   \
        int result = REAL(name)(file);                                                             \
        struct stat found;                                                                         \
        if (!result && !fstat(file, &found))                                                       \
            tell_path(S_ISDIR(found.st_mode) ? SYNC_FOLDER : SYNC, found.st_ino, path);            \
        end();                                                                                     \
        return result;                                                                             \
    }
SYNC_OF(fsync)
SYNC_OF(fdatasync)

#define OF_FILE(name, kind, size, parameters, ...)                                                 \
    int name parameters                                                                            \
    {                                                                                              \
        if (!file_within(file)) return REAL(name)(__VA_ARGS__);                                    \
        begin();                                                                                   \
        int result = REAL(name)(__VA_ARGS__);                                                      \
        if (!result) tell(kind, inode_of(file), 0, size, NULL, 0, 0);                              \
        end();                                                                                     \
        return result;                                                                             \
    }
OF_FILE(ftruncate, RESIZE, size, (int file, off_t size), file, size)
OF_FILE(ftruncate64, RESIZE, size, (int file, off64_t size), file, size)
OF_FILE(posix_fallocate, ALLOCATE, from + size, (int file, off_t from, off_t size), file, from, size)
OF_FILE(posix_fallocate64, ALLOCATE, from + size, (int file, off64_t from, off64_t size), file, from,
        size)

static void tell_allocated(int file, int mode, int64_t size)
{
    if (mode)
        tell_path(UNKNOWN, 0, "fallocate with a mode");
    else
        tell(ALLOCATE, inode_of(file), 0, size, NULL, 0, 0);
}

#define FALLOCATE(name, kind)                                                                      \
    int name(int file, int mode, kind from, kind size)                                             \
    {                                                                                              \
        if (!file_within(file)) return REAL(name)(file, mode, from, size);                         \
        begin();                                                                                   \
        int result = REAL(name)(file, mode, from, size);                                           \
        if (!result) tell_allocated(file, mode, from + size);                                      \
        end();                                                                                     \
        return result;                                                                             \
    }
FALLOCATE(fallocate, off_t)
FALLOCATE(fallocate64, off64_t)

int truncate(const char *path, off_t size)
{
    char place[2 * PATH_MAX];
    if (!path_within(AT_FDCWD, path, place)) return REAL(truncate)(path, size);
    begin();
    struct stat found;
    int result = REAL(truncate)(path, size);
    if (!result && !stat(path, &found)) tell(RESIZE, found.st_ino, 0, size, NULL, 0, 0);
    end();
    return result;
}

#define OF_PATH(name, at, kind, parameters, ...)                                                   \
    int name parameters                                                                            \
    {                                                                                              \
        char place[2 * PATH_MAX];                                                                  \
        const char *known = path_within(at, path, place);                                          \
        if (!known) return REAL(name)(__VA_ARGS__);                                                \
        begin();                                                                                   \
        int result = REAL(name)(__VA_ARGS__);                                                      \
        if (!result) tell_path(kind, 0, known);                                                    \
        end();                                                                                     \
        return result;                                                                             \
    }
OF_PATH(unlink, AT_FDCWD, UNLINK, (const char *path), path)
OF_PATH(unlinkat, at, flags & AT_REMOVEDIR ? REMOVE_FOLDER : UNLINK,
        (int at, const char *path, int flags), at, path, flags)
OF_PATH(rmdir, AT_FDCWD, REMOVE_FOLDER, (const char *path), path)
OF_PATH(mkdir, AT_FDCWD, MAKE_FOLDER, (const char *path, mode_t mode), path, mode)
OF_PATH(mkdirat, at, MAKE_FOLDER, (int at, const char *path, mode_t mode), at, path, mode)

#define OF_PATHS(name, from_at, at, kind, parameters, ...)                                         \
    int name parameters                                                                            \
    {                                                                                              \
        char place[2 * PATH_MAX], from_place[2 * PATH_MAX];                                        \
        const char *known = path_within(at, path, place);                                          \
        const char *from_known = path_within(from_at, from, from_place);                           \
        if (!known && !from_known) return REAL(name)(__VA_ARGS__);                                 \
        begin();                                                                                   \
        int result = REAL(name)(__VA_ARGS__);                                                      \
        if (!result && known && from_known) tell_paths(kind, from_known, known);                   \
        if (!result && !(known && from_known)) tell_path(UNKNOWN, 0, #name " across folders");     \
        end();                                                                                     \
        return result;                                                                             \
    }
OF_PATHS(rename, AT_FDCWD, AT_FDCWD, RENAME, (const char *from, const char *path), from, path)
OF_PATHS(renameat, from_at, at, RENAME, (int from_at, const char *from, int at, const char *path),
         from_at, from, at, path)
OF_PATHS(renameat2, from_at, at, flags ? UNKNOWN : RENAME,
         (int from_at, const char *from, int at, const char *path, unsigned flags), from_at, from,
         at, path, flags)
OF_PATHS(link, AT_FDCWD, AT_FDCWD, LINK, (const char *from, const char *path), from, path)
OF_PATHS(linkat, from_at, at, LINK,
         (int from_at, const char *from, int at, const char *path, int flags), from_at, from, at,
         path, flags)
