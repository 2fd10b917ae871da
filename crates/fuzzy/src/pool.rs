//! A pool of buffers. They are large, and the kernel takes longer to hand out new pages than a query takes to
//! fill them.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

/// Maximum number of buffers kept.
const KEPT: usize = 4;

/// Buffers that are free to be used again.
#[derive(Debug, Default)]
pub(super) struct Pool<T>(Mutex<Vec<T>>);

/// A buffer that returns to its pool when dropped. Holds old data at first.
#[derive(Debug)]
pub(super) struct Pooled<'a, T: Default> {
    buffer: T,
    pool: &'a Pool<T>,
}

impl<T: Default> Pool<T> {
    pub(super) fn take(&self) -> Pooled<'_, T> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Pooled { buffer: kept.unwrap_or_default(), pool: self }
    }
}

impl<T: Default> Deref for Pooled<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.buffer
    }
}

impl<T: Default> DerefMut for Pooled<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.buffer
    }
}

impl<T: Default> Drop for Pooled<'_, T> {
    fn drop(&mut self) {
        let mut kept = self.pool.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.push(std::mem::take(&mut self.buffer));
        }
    }
}
