//! The two listeners of a server, TCP and a Unix socket, as one source of connections.

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::runtime::Handle;

/// A client that has just connected.
pub(super) enum Client {
    Network(TcpStream, SocketAddr),
    Socket(UnixStream),
}

/// Waits for the next client of either listener.
pub(super) async fn next_client(
    listener: &TcpListener,
    socket: Option<&UnixListener>,
) -> std::io::Result<Client> {
    let on_socket = async {
        match socket {
            Some(socket) => socket.accept().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        accepted = listener.accept() => accepted.map(|(stream, address)| Client::Network(stream, address)),
        accepted = on_socket => accepted.map(|(stream, _)| Client::Socket(stream)),
    }
}

/// A connection of either kind.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send {}

impl<S: AsyncRead + AsyncWrite + Send> Stream for S {}

impl Client {
    /// Moves the connection to another runtime, which then polls its events.
    pub(super) fn move_to(
        self,
        runtime: &Handle,
    ) -> std::io::Result<std::pin::Pin<Box<dyn Stream>>> {
        match self {
            Self::Network(stream, _) => {
                // Without this, an answer waits until the client has acknowledged the previous one.
                let _ = stream.set_nodelay(true);
                let stream = stream.into_std()?;
                let _within = runtime.enter();
                Ok(Box::pin(TcpStream::from_std(stream)?))
            }
            Self::Socket(stream) => {
                let stream = stream.into_std()?;
                let _within = runtime.enter();
                Ok(Box::pin(UnixStream::from_std(stream)?))
            }
        }
    }
}
