//! Standing queries.
