//! Watches folders and git data.
