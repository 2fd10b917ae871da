//! Keeps clones of hosts' repositories in step.
