//! Kinds and outcomes of searches, and reasons of refusals: words that are stored in the database and shown.

/// Makes an enum of words that are stored and shown; to add one is to add a line.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $word:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum $name { $($(#[$word_doc])* $word,)* }

        impl $name {
            /// All there are.
            pub(crate) const ALL: &[$name] = &[$($name::$word,)*];

            /// The word.
            pub(crate) fn word(self) -> &'static str {
                match self { $($name::$word => $text,)* }
            }
        }
    };
}

words! {
    /// What the plan of a search is.
    Kind {
        /// The trigram indexes are asked for lines.
        Indexed = "indexed",
        /// No index can help: texts are read until there are enough results.
        Scan = "scan",
        /// A pattern spans lines: whole texts are read.
        Multiline = "multi_line",
        /// Names only are looked at: paths, repositories, languages.
        Names = "names",
        /// Documents and comments are looked for by their words.
        Docs = "docs",
        /// A file is looked for by what was typed of its path.
        Files = "files",
    }
}

words! {
    /// How a search ended.
    Outcome {
        Complete = "complete",
        Limit = "limit",
        Timeout = "timeout",
        ShardError = "shard_error",
        Failed = "failed",
        /// Its client left.
        Abandoned = "abandoned",
    }
}

words! {
    /// Why a request was turned away.
    Refusal {
        /// Too many searches ran.
        Busy = "busy",
        /// Its client has too many that run.
        AtOnce = "client_at_once",
        PerMinute = "client_per_minute",
        Bytes = "client_bytes",
        ServerPerMinute = "server_per_minute",
        ServerBytes = "server_bytes",
        /// It came with a token that nobody has.
        Token = "token",
    }
}
