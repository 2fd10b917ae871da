//! A proxy between the program and Postgres that injects one fault, at the n-th piece that passes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The fault at the n-th piece. A piece is up to 8 KiB that arrive at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fault {
    /// No fault; pieces are only counted.
    None,
    /// This piece and all later ones of its connection are held back.
    Hold,
    /// Its connection is closed instead.
    Reset,
    /// Half of it arrives, then its connection is closed.
    Cut,
    /// It is delayed by this long.
    Delay(Duration),
}

/// The direction whose pieces are counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Way {
    ToPostgres,
    ToProgram,
}

pub(super) struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    socket: PathBuf,
    fault: Fault,
    way: Way,
    at: i64,
    passed: AtomicI64,
    is_over: AtomicBool,
    open: Mutex<Vec<(TcpStream, UnixStream)>>,
}

impl Proxy {
    /// Forwards connections to the server whose socket is in a folder.
    pub(super) fn new(folder: &Path, way: Way, fault: Fault, at: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            socket: folder.join(".s.PGSQL.5432"),
            fault,
            way,
            at: at as i64,
            passed: AtomicI64::new(0),
            is_over: AtomicBool::new(false),
            open: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if serving.is_over.load(Ordering::SeqCst) {
                    break;
                }
                connect(&serving, &client);
            }
        });
        Self { port, shared }
    }

    /// Returns the URL of a database through the proxy.
    pub(super) fn url(&self, database: &str) -> String {
        format!("postgres://codesearch@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    /// Returns how many pieces have arrived.
    pub(super) fn passed(&self) -> usize {
        self.shared.passed.load(Ordering::SeqCst) as usize
    }

    /// Returns whether the fault has been injected.
    pub(super) fn has_struck(&self) -> bool {
        self.shared.passed.load(Ordering::SeqCst) >= self.shared.at
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        for (client, server) in self.shared.open.lock().unwrap().drain(..) {
            let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
        }
        // Wakes the thread that accepts connections.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn connect(shared: &Arc<Shared>, client: &TcpStream) {
    let Ok(server) = UnixStream::connect(&shared.socket) else { return };
    let _ = client.set_nodelay(true);
    let both = || (client.try_clone().unwrap(), server.try_clone().unwrap());
    shared.open.lock().unwrap().push(both());
    for way in [Way::ToPostgres, Way::ToProgram] {
        let (shared, (client, server)) = (Arc::clone(shared), both());
        std::thread::spawn(move || {
            let _ = match way {
                Way::ToPostgres => pump(&shared, way, &client, &server),
                Way::ToProgram => pump(&shared, way, &server, &client),
            };
            let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
        });
    }
}

fn pump(shared: &Shared, way: Way, mut from: impl Read, mut to: impl Write) -> std::io::Result<()> {
    let mut buffer = [0; 8192];
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        let mut piece = &buffer[..read];
        if way == shared.way && shared.passed.fetch_add(1, Ordering::SeqCst) + 1 == shared.at {
            match shared.fault {
                Fault::None => {}
                Fault::Hold => {
                    while !shared.is_over.load(Ordering::SeqCst) {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    return Ok(());
                }
                Fault::Reset => return Ok(()),
                Fault::Cut => piece = &piece[..read / 2],
                Fault::Delay(time) => std::thread::sleep(time),
            }
            to.write_all(piece)?;
            if shared.fault == Fault::Cut {
                return Ok(());
            }
            continue;
        }
        to.write_all(piece)?;
    }
}
