//! Queries of several classes. People type such queries, and each class stresses an index in a different way.

use super::queries::{Kind, Query};

const fn of(class: &'static str, regex: &'static str, more: &'static str) -> Query {
    Query { regex, more, kind: Kind::Words, class }
}

const ABROAD: &str = "words outside ASCII";
const ANY_CASE: &str = "words in any case";
const FILTERED: &str = "rare words with lang:, file: and repo:";
const MEETING: &str = "three and four words that meet in few files";
const BETWEEN: &str = "rare words with whitespace or anything between";
const ABSENT: &str = "long literals that are not there, whose words are";
const NAMES: &str = "identifiers";
const PATHS: &str = "paths";

/// Every query, class by class.
pub const CLASSES: &[Query] = &[
    of(ABROAD, "größe", ""),
    of(ABROAD, "für", ""),
    of(ABROAD, "möglich", ""),
    of(ABROAD, "número", ""),
    of(ABROAD, "déjà", ""),
    of(ABROAD, "файл", ""),
    of(ABROAD, "配置", ""),
    of(ABROAD, "(größe|länge|breite)", ""),
    of(ABROAD, "(año|día|número)", ""),
    of(ABROAD, "(ошибка|файл)", ""),
    of(ANY_CASE, "(?i)zqxjkvbw", ""),
    of(ANY_CASE, "(?i)kswapd", ""),
    of(ANY_CASE, "(?i)skiplist", ""),
    of(ANY_CASE, "(?i)websocket", ""),
    of(ANY_CASE, "(?i)task_struct", ""),
    of(ANY_CASE, "(?i)stack overflow", ""),
    of(ANY_CASE, r"(?i)risk.*assessment", ""),
    of(ANY_CASE, "(?i)résumé", ""),
    of(ANY_CASE, "(?i)größe", ""),
    of(ANY_CASE, "(?i)файл", ""),
    of(FILTERED, "deadlock", "lang:go"),
    of(FILTERED, "deadlock", "lang:c"),
    of(FILTERED, "tombstone", "lang:java"),
    of(FILTERED, "memoize", "lang:python"),
    of(FILTERED, "backpressure", "lang:rust"),
    of(FILTERED, "quiesce", r"file:\.c$"),
    of(FILTERED, "idempotent", "file:test"),
    of(FILTERED, "throttle", r"file:\.go$"),
    of(FILTERED, "livelock", "repo:linux"),
    of(FILTERED, "eviction", "repo:kubernetes"),
    of(MEETING, "throttle", "backoff jitter"),
    of(MEETING, "quorum", "leader snapshot"),
    of(MEETING, "checksum", "corrupt retry"),
    of(MEETING, "bitmap", "allocator fragment"),
    of(MEETING, "parser", "grammar precedence"),
    of(MEETING, "certificate", "expired renew"),
    of(MEETING, "scheduler", "preempt priority latency"),
    of(MEETING, "compress", "dictionary window literal"),
    of(MEETING, "shard", "replica balance migrate"),
    of(MEETING, "cursor", "scroll viewport resize"),
    of(BETWEEN, r"tombstone\s+marker", ""),
    of(BETWEEN, r"spurious\s+wakeup", ""),
    of(BETWEEN, r"exponential\s+backoff", ""),
    of(BETWEEN, r"deadlock.*detected", ""),
    of(BETWEEN, r"quorum.*lost", ""),
    of(BETWEEN, r"checksum.*mismatch", ""),
    of(BETWEEN, r"panic.*recover", ""),
    of(BETWEEN, r"struct\s+rwlock\s+", ""),
    of(BETWEEN, r"unexpected\s+token", ""),
    of(BETWEEN, r"memory.*barrier.*acquire", ""),
    of(ABSENT, "return the parser of the deadlock error", ""),
    of(ABSENT, "this function is called when the quorum sleeps", ""),
    of(ABSENT, "static inline struct nowhere_to_be_found", ""),
    of(ABSENT, "import numpy as kubernetes", ""),
    of(ABSENT, "the mutex must be held by the browser", ""),
    of(ABSENT, "instance_variable_get_default_value_or_null", ""),
    of(ABSENT, "public static final String KERNEL_PANIC_HTML", ""),
    of(ABSENT, "func TestParseSchedulerBitmapViewport", ""),
    of(ABSENT, "select count from scheduler where panic", ""),
    of(ABSENT, "Licensed under the Mutex License, Version 7", ""),
    of(NAMES, "get_user_pages", ""),
    of(NAMES, "spin_lock_irqsave", ""),
    of(NAMES, "instance_variable_get", ""),
    of(NAMES, "SmallVector", ""),
    of(NAMES, "ResponseWriter", ""),
    of(NAMES, "ConcurrentHashMap", ""),
    of(NAMES, "addEventListener", ""),
    of(NAMES, "useEffect", ""),
    of(NAMES, "std::make_shared", ""),
    of(NAMES, "__init__", ""),
    of(PATHS, "", "file:Makefile$"),
    of(PATHS, "", r"file:cmd/.*main\.go$"),
    of(PATHS, "", "file:scheduler"),
    of(PATHS, "", r"file:src/.*parser.*\.rs$"),
    of(PATHS, "", r"file:_test\.go$"),
    of(PATHS, "", "file:docs/ file:install"),
    of(PATHS, "mutex", "file:kernel/locking"),
    of(PATHS, "parse", r"file:json.*\.py$"),
];
