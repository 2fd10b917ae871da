//! Kinds and outcomes of searches, and reasons of refusals: words that are stored in the database
//! and shown.

/// Defines an enum with a word for each variant; a new word takes one line.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $word:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$word_doc])* $word,)* }

        impl $name {
            /// All variants.
            pub const ALL: &[$name] = &[$($name::$word,)*];

            /// Returns the word that is stored and shown.
            pub fn word(self) -> &'static str {
                match self { $($name::$word => $text,)* }
            }
        }
    };
}

words! {
    /// Kinds of searches, by their plans.
    Kind {
        /// The trigram indexes name candidates.
        Indexed = "indexed",
        /// No index can help: texts are read until the limit is reached.
        Scan = "scan",
        /// A pattern spans lines: whole texts are read.
        Multiline = "multi_line",
        /// Only names are matched: paths, repositories, languages.
        Names = "names",
        /// Ranked search in documents and comments.
        Docs = "docs",
        /// Questions in words.
        Ask = "ask",
        /// Fuzzy search for paths.
        Files = "files",
    }
}

words! {
    /// The outcome of a search.
    Outcome {
        /// It has all results.
        Complete = "complete",
        /// It reached its limit of results.
        Limit = "limit",
        /// It reached its timeout.
        Timeout = "timeout",
        /// A shard could not be searched.
        ShardError = "shard_error",
        /// It failed.
        Failed = "failed",
        /// The client disconnected.
        Abandoned = "abandoned",
    }
}

words! {
    /// Why a request was refused.
    Refusal {
        /// Too many searches were running.
        Busy = "busy",
        /// The client has too many searches running.
        AtOnce = "client_at_once",
        /// The client has made too many searches in a minute.
        PerMinute = "client_per_minute",
        /// The client was sent too many bytes in a minute.
        Bytes = "client_bytes",
        /// All clients together have made too many searches in a minute.
        ServerPerMinute = "server_per_minute",
        /// All clients together were sent too many bytes in a minute.
        ServerBytes = "server_bytes",
        /// The token is unknown, or there is none.
        Token = "token",
        /// The token has expired.
        Expired = "expired_token",
        /// The JWT does not count.
        Jwt = "jwt",
        /// The headers that tell who asks are not the proxy's.
        Header = "untrusted_header",
        /// The address has sent too many tokens and JWTs that do not count.
        Attempts = "attempts",
        /// JWTs cannot be checked now.
        Identity = "identity_unavailable",
        /// The client lacks a right.
        Right = "right",
        /// A statement would do more than read what its client sees, or take more than its share.
        Statement = "statement",
    }
}
