/* A layer between programs and one folder of files, loaded before the C library (LD_PRELOAD).

   It keeps a journal of what each change took away, and of what was flushed, so that a test can take back what a loss of
   power could have lost; and it fails the n-th write, flush or change of a name, or all from the n-th on.

   LAYER_ROOT    the folder whose files it looks after
   LAYER_STATE   the folder with `control` (struct control), `journal` (struct record, each followed by its paths and
                 its data), and `kept`, where files stay that lost their last name */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAGIC 0x6c61796572313233ULL

enum { WRITE = 1, RESIZE, CREATE, RENAME, UNLINK, LINK, MKDIR, RMDIR, SYNC };
enum { FAIL_NOTHING, FAIL_WRITES, FAIL_SYNCS, FAIL_NAMES };

struct control {
    int32_t journals;      /* whether the journal is kept */
    int32_t fails;         /* what fails: FAIL_... */
    int32_t error;         /* with which errno */
    int32_t struck;        /* how many did */
    int64_t first, last;   /* which of them fail, counted from 1 */
    int64_t passed;        /* how many there were */
};

struct record {
    uint64_t magic;
    uint32_t what, path, path2, data; /* bytes that follow */
    uint64_t file;                    /* inode; for RENAME of what was moved */
    uint64_t other;                   /* RENAME: inode of what was replaced; SYNC: bytes of the journal when it began */
    uint64_t at, len, size;           /* where, how many bytes, size of the file before */
};

static char root[PATH_MAX], state[PATH_MAX - 64];
static size_t root_len;
static volatile struct control *control;
static int journal = -1;

static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_writev)(int, const struct iovec *, int);
static ssize_t (*real_pwritev)(int, const struct iovec *, int, off_t);
static int (*real_ftruncate)(int, off_t);
static int (*real_truncate)(const char *, off_t);
static int (*real_fallocate)(int, int, off_t, off_t);
static int (*real_posix_fallocate)(int, off_t, off_t);
static int (*real_open)(const char *, int, ...);
static int (*real_openat)(int, const char *, int, ...);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_rename)(const char *, const char *);
static int (*real_unlink)(const char *);
static int (*real_link)(const char *, const char *);
static int (*real_mkdir)(const char *, mode_t);
static int (*real_rmdir)(const char *);

__attribute__((constructor)) static void begin(void)
{
    static int begun;
    if (begun)
        return;
    begun = 1;
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_writev = dlsym(RTLD_NEXT, "writev");
    real_pwritev = dlsym(RTLD_NEXT, "pwritev64");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_truncate = dlsym(RTLD_NEXT, "truncate64");
    real_fallocate = dlsym(RTLD_NEXT, "fallocate64");
    real_posix_fallocate = dlsym(RTLD_NEXT, "posix_fallocate64");
    real_open = dlsym(RTLD_NEXT, "open64");
    real_openat = dlsym(RTLD_NEXT, "openat64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_rename = dlsym(RTLD_NEXT, "rename");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    real_link = dlsym(RTLD_NEXT, "link");
    real_mkdir = dlsym(RTLD_NEXT, "mkdir");
    real_rmdir = dlsym(RTLD_NEXT, "rmdir");

    const char *of = getenv("LAYER_ROOT"), *at = getenv("LAYER_STATE");
    if (!of || !at || strlen(at) >= sizeof state || !realpath(of, root))
        return;
    root_len = strlen(root);
    strcpy(state, at);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/journal", state);
    int opened = real_open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (opened < 0)
        return;
    /* Out of the way of programs that count on small numbers. */
    journal = fcntl(opened, F_DUPFD_CLOEXEC, 500);
    close(opened);
    snprintf(path, sizeof path, "%s/control", state);
    opened = real_open(path, O_RDWR | O_CLOEXEC);
    if (opened < 0)
        return;
    void *mapped = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
    close(opened);
    if (mapped != MAP_FAILED)
        control = mapped;
}

static int journals(void) { return control && journal >= 0 && control->journals; }

/* Whether this call is one of those that fail. */
static int fails(int kind)
{
    if (!control || control->fails != kind)
        return 0;
    int64_t n = __atomic_add_fetch(&control->passed, 1, __ATOMIC_SEQ_CST);
    if (n < control->first || n > control->last)
        return 0;
    __atomic_add_fetch(&control->struck, 1, __ATOMIC_SEQ_CST);
    errno = control->error;
    return 1;
}

/* Whether a path is below the folder; logs are not looked after. */
static int is_ours(const char *path)
{
    size_t len = strlen(path);
    return !strncmp(path, root, root_len) && path[root_len] == '/' && !strstr(path + root_len, ".log")
        && len < PATH_MAX;
}

/* The path of an open file below the folder. */
static int path_of(int fd, char *path)
{
    char link[32];
    if (!control)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, PATH_MAX - 1);
    if (len <= 0)
        return 0;
    path[len] = 0;
    return is_ours(path);
}

/* The whole path of a name, of which the last part may not exist. */
static int whole(const char *name, char *path)
{
    char folder[PATH_MAX], real[PATH_MAX];
    if (!control || !name || !*name || strlen(name) >= PATH_MAX)
        return 0;
    strcpy(folder, name);
    char *slash = strrchr(folder, '/');
    const char *last = slash ? slash + 1 : folder;
    char kept[NAME_MAX + 1];
    if (strlen(last) > NAME_MAX || !*last)
        return 0;
    strcpy(kept, last);
    if (slash)
        *(slash == folder ? slash + 1 : slash) = 0;
    if (!realpath(slash ? folder : ".", real) || strlen(real) + strlen(kept) + 2 >= PATH_MAX)
        return 0;
    /* Cannot be cut: both were measured. */
    strcpy(path, real);
    strcat(path, "/");
    strcat(path, kept);
    return is_ours(path);
}

static void note(struct record *r, const char *path, const char *path2, const void *data, size_t len)
{
    r->magic = MAGIC;
    r->path = path ? strlen(path) : 0;
    r->path2 = path2 ? strlen(path2) : 0;
    r->data = len;
    struct iovec parts[4] = {
        { r, sizeof *r }, { (void *)path, r->path }, { (void *)path2, r->path2 }, { (void *)data, len },
    };
    real_writev(journal, parts, 4);
}

/* Notes what a change of `len` bytes at `at` of a file takes away. */
static void note_change(int fd, int what, uint64_t at, uint64_t len)
{
    int kept = errno;
    char path[PATH_MAX], link[32];
    struct stat found;
    if (journals() && len > 0 && !fstat(fd, &found) && S_ISREG(found.st_mode) && path_of(fd, path)) {
        struct record r = { .what = what, .file = found.st_ino, .at = at, .len = len, .size = found.st_size };
        uint64_t lost = at >= r.size ? 0 : (at + len > r.size ? r.size - at : len);
        char *data = lost ? malloc(lost) : NULL;
        if (data) {
            /* It may be open for writing only. */
            snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
            int reads = real_open(link, O_RDONLY | O_CLOEXEC);
            ssize_t read = reads < 0 ? -1 : pread(reads, data, lost, at);
            if (reads >= 0)
                close(reads);
            lost = read < 0 ? 0 : read;
        }
        note(&r, NULL, NULL, data, lost);
        free(data);
    }
    errno = kept;
}

static int is_file_of_ours(int fd)
{
    char path[PATH_MAX];
    struct stat found;
    return control && !fstat(fd, &found) && S_ISREG(found.st_mode) && path_of(fd, path);
}

static int write_fails(int fd)
{
    return control && control->fails == FAIL_WRITES && is_file_of_ours(fd) && fails(FAIL_WRITES);
}

static size_t bytes_of(const struct iovec *parts, int count)
{
    size_t len = 0;
    for (int n = 0; n < count; n++)
        len += parts[n].iov_len;
    return len;
}

/* Where a plain write goes to. */
static uint64_t place(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return lseek(fd, 0, flags >= 0 && flags & O_APPEND ? SEEK_END : SEEK_CUR);
}

ssize_t write(int fd, const void *data, size_t len)
{
    begin();
    struct stat found;
    if (control && !fstat(fd, &found) && S_ISREG(found.st_mode)) {
        if (write_fails(fd))
            return -1;
        if (journals())
            note_change(fd, WRITE, place(fd), len);
    }
    return real_write(fd, data, len);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    begin();
    struct stat found;
    if (control && !fstat(fd, &found) && S_ISREG(found.st_mode)) {
        if (write_fails(fd))
            return -1;
        if (journals())
            note_change(fd, WRITE, place(fd), bytes_of(parts, count));
    }
    return real_writev(fd, parts, count);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
    begin();
    if (write_fails(fd))
        return -1;
    note_change(fd, WRITE, at, len);
    return real_pwrite(fd, data, len, at);
}
ssize_t pwrite64(int fd, const void *data, size_t len, off_t at) { return pwrite(fd, data, len, at); }

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
    begin();
    if (write_fails(fd))
        return -1;
    note_change(fd, WRITE, at, bytes_of(parts, count));
    return real_pwritev(fd, parts, count, at);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off_t at) { return pwritev(fd, parts, count, at); }

static void note_resize(int fd, off_t to)
{
    struct stat found;
    if (journals() && !fstat(fd, &found) && S_ISREG(found.st_mode) && found.st_size != to) {
        uint64_t low = to < found.st_size ? to : found.st_size, high = to < found.st_size ? found.st_size : to;
        note_change(fd, RESIZE, low, high - low);
    }
}

int ftruncate(int fd, off_t to)
{
    begin();
    if (write_fails(fd))
        return -1;
    note_resize(fd, to);
    return real_ftruncate(fd, to);
}
int ftruncate64(int fd, off_t to) { return ftruncate(fd, to); }

int truncate(const char *name, off_t to)
{
    begin();
    int fd = control ? real_open(name, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return real_truncate(name, to);
    int done = ftruncate(fd, to), kept = errno;
    close(fd);
    errno = kept;
    return done;
}
int truncate64(const char *name, off_t to) { return truncate(name, to); }

static void note_room(int fd, off_t at, off_t len)
{
    struct stat found;
    if (journals() && !fstat(fd, &found) && at + len > found.st_size)
        note_change(fd, RESIZE, found.st_size, at + len - found.st_size);
}

int fallocate(int fd, int mode, off_t at, off_t len)
{
    begin();
    if (write_fails(fd))
        return -1;
    note_room(fd, at, len);
    return real_fallocate(fd, mode, at, len);
}
int fallocate64(int fd, int mode, off_t at, off_t len) { return fallocate(fd, mode, at, len); }

int posix_fallocate(int fd, off_t at, off_t len)
{
    begin();
    int kept = errno;
    if (write_fails(fd)) {
        int error = errno;
        errno = kept;
        return error;
    }
    note_room(fd, at, len);
    return real_posix_fallocate(fd, at, len);
}
int posix_fallocate64(int fd, off_t at, off_t len) { return posix_fallocate(fd, at, len); }

static int opened(int folder, const char *name, int flags, mode_t mode)
{
    begin();
    char path[PATH_MAX];
    int ours = control && flags & (O_CREAT | O_TRUNC) && (flags & O_TMPFILE) != O_TMPFILE
        && (folder == AT_FDCWD || *name == '/') && whole(name, path);
    if (!ours)
        return real_openat(folder, name, flags, mode);
    struct stat found;
    int is_new = lstat(path, &found) != 0;
    if (is_new && flags & O_CREAT && fails(FAIL_NAMES))
        return -1;
    if (!is_new && flags & O_TRUNC && (flags & O_ACCMODE) != O_RDONLY && journals()) {
        int fd = real_open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            note_resize(fd, 0);
            close(fd);
        }
    }
    int fd = real_openat(folder, name, flags, mode);
    if (fd >= 0 && is_new && journals() && !fstat(fd, &found)) {
        struct record r = { .what = CREATE, .file = found.st_ino };
        note(&r, path, NULL, NULL, 0);
    }
    return fd;
}

static mode_t mode_of(int flags, va_list *rest)
{
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(*rest, mode_t) : 0;
}

#define OPENS(name, declared, folder)                        \
    int name declared                                        \
    {                                                        \
        va_list rest;                                        \
        va_start(rest, flags);                               \
        mode_t mode = mode_of(flags, &rest);                 \
        va_end(rest);                                        \
        return opened(folder, path, flags, mode);            \
    }
OPENS(open, (const char *path, int flags, ...), AT_FDCWD)
OPENS(open64, (const char *path, int flags, ...), AT_FDCWD)
OPENS(openat, (int folder, const char *path, int flags, ...), folder)
OPENS(openat64, (int folder, const char *path, int flags, ...), folder)
int creat(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

static int flushed(int fd, int (**flush)(int))
{
    begin();
    char path[PATH_MAX];
    struct stat found, before;
    if (!control || !path_of(fd, path) || fstat(fd, &found))
        return (*flush)(fd);
    if (fails(FAIL_SYNCS))
        return -1;
    int knows = journals() && !fstat(journal, &before);
    int done = (*flush)(fd), kept = errno;
    if (!done && knows) {
        struct record r = { .what = SYNC, .file = found.st_ino, .other = before.st_size };
        note(&r, path, NULL, NULL, 0);
    }
    errno = kept;
    return done;
}
int fsync(int fd) { return flushed(fd, &real_fsync); }
int fdatasync(int fd) { return flushed(fd, &real_fdatasync); }

/* Keeps a file that loses a name, so that it can be given back. */
static uint64_t keep(const char *path)
{
    struct stat found;
    char kept[PATH_MAX + 64];
    if (lstat(path, &found) || !S_ISREG(found.st_mode))
        return 0;
    snprintf(kept, sizeof kept, "%s/kept/%llu", state, (unsigned long long)found.st_ino);
    if (real_link(path, kept) && errno != EEXIST)
        return 0;
    return found.st_ino;
}

int rename(const char *from, const char *to)
{
    begin();
    char a[PATH_MAX], b[PATH_MAX];
    struct stat found;
    if (!control || !whole(from, a) || !whole(to, b))
        return real_rename(from, to);
    if (fails(FAIL_NAMES))
        return -1;
    if (!journals() || lstat(a, &found))
        return real_rename(from, to);
    struct record r = { .what = RENAME, .file = found.st_ino, .other = keep(b) };
    int done = real_rename(from, to), kept = errno;
    if (!done)
        note(&r, a, b, NULL, 0);
    errno = kept;
    return done;
}

int unlink(const char *name)
{
    begin();
    char path[PATH_MAX];
    if (!control || !whole(name, path))
        return real_unlink(name);
    if (fails(FAIL_NAMES))
        return -1;
    struct record r = { .what = UNLINK, .file = journals() ? keep(path) : 0 };
    int done = real_unlink(name), kept = errno;
    if (!done && r.file)
        note(&r, path, NULL, NULL, 0);
    errno = kept;
    return done;
}

static int named(const char *name, int what, int done)
{
    char path[PATH_MAX];
    int kept = errno;
    if (!done && journals() && whole(name, path)) {
        struct record r = { .what = what };
        note(&r, path, NULL, NULL, 0);
    }
    errno = kept;
    return done;
}

int link(const char *from, const char *to)
{
    begin();
    return named(to, LINK, real_link(from, to));
}

int mkdir(const char *name, mode_t mode)
{
    begin();
    char path[PATH_MAX];
    if (control && whole(name, path) && fails(FAIL_NAMES))
        return -1;
    return named(name, MKDIR, real_mkdir(name, mode));
}

int rmdir(const char *name)
{
    begin();
    return named(name, RMDIR, real_rmdir(name));
}
