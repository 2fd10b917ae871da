//! Space that is used again: it is large, and getting it anew takes longer than filling it.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

/// So much of it is kept.
const KEPT: usize = 4;

/// Space that nobody uses now.
#[derive(Debug, Default)]
pub(super) struct Spare<T>(Mutex<Vec<T>>);

/// Space with anything in it, which comes back when this is dropped.
#[derive(Debug)]
pub(super) struct Spared<'a, T: Default> {
    space: T,
    from: &'a Spare<T>,
}

impl<T: Default> Spare<T> {
    pub(super) fn take(&self) -> Spared<'_, T> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Spared { space: kept.unwrap_or_default(), from: self }
    }
}

impl<T: Default> Deref for Spared<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.space
    }
}

impl<T: Default> DerefMut for Spared<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.space
    }
}

impl<T: Default> Drop for Spared<'_, T> {
    fn drop(&mut self) {
        let mut kept = self.from.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.push(std::mem::take(&mut self.space));
        }
    }
}
