//! A node of Citus that stops responding: a socket before that of a worker, which passes on nothing while it is closed.

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::{Fixture, socket_folder};

/// The port of the gate, beside the sockets of the nodes.
const PORT: u16 = 5998;

/// A gate between the coordinator and a worker, for one index. It opens when it is dropped.
pub(crate) struct Gate(Arc<State>);

#[derive(Default)]
struct State {
    is_closed: Mutex<bool>,
    changed: Condvar,
}

impl State {
    fn set(&self, is_closed: bool) {
        *self.is_closed.lock().unwrap_or_else(PoisonError::into_inner) = is_closed;
        self.changed.notify_all();
    }

    fn wait(&self) {
        let guard = self.is_closed.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(guard, |is_closed| *is_closed));
    }
}

impl Gate {
    /// Has an index reach the worker at this port through an open gate.
    pub(crate) fn before(fixture: &Fixture, worker: u16) -> Self {
        let socket = |port: u16| socket_folder().join(format!(".s.PGSQL.{port}"));
        let _ = fs::remove_file(socket(PORT));
        let listener = UnixListener::bind(socket(PORT)).unwrap();
        fs::set_permissions(socket(PORT), fs::Permissions::from_mode(0o777)).unwrap();
        let state = Arc::new(State::default());
        let gate = Self(Arc::clone(&state));
        std::thread::spawn(move || {
            for from in listener.incoming() {
                // Until then, whoever connects waits for the first byte.
                state.wait();
                let (Ok(from), Ok(to)) = (from, UnixStream::connect(socket(worker))) else {
                    return;
                };
                pass(&from, &to, &state);
                pass(&to, &from, &state);
            }
        });
        fixture
            .exec(&format!("update pg_dist_node set nodeport = {PORT} where nodeport = {worker}"));
        gate
    }

    /// Passes on nothing from now on, and accepts no connection.
    pub(crate) fn close(&self) {
        self.0.set(true);
    }

    /// Passes on what waits, and all else.
    pub(crate) fn open(&self) {
        self.0.set(false);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

/// Begins to pass on what comes from one end to the other.
fn pass(from: &UnixStream, to: &UnixStream, state: &Arc<State>) {
    let (mut from, mut to, state) =
        (from.try_clone().unwrap(), to.try_clone().unwrap(), Arc::clone(state));
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            state.wait();
            if to.write_all(&buffer[..read]).is_err() {
                break;
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    });
}
