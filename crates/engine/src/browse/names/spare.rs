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
pub(super) struct Spared<'a, T> {
    space: Option<T>,
    from: &'a Spare<T>,
}

impl<T: Default> Spare<T> {
    pub(super) fn take(&self) -> Spared<'_, T> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Spared { space: Some(kept.unwrap_or_default()), from: self }
    }
}

impl<T> Deref for Spared<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.space.as_ref().expect("it is there until it is dropped")
    }
}

impl<T> DerefMut for Spared<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.space.as_mut().expect("it is there until it is dropped")
    }
}

impl<T> Drop for Spared<'_, T> {
    fn drop(&mut self) {
        let mut kept = self.from.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.extend(self.space.take());
        }
    }
}
