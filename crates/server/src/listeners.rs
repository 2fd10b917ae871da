//! The listeners of a server, TCP and Unix sockets, as one source of connections.

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::runtime::Handle;

/// A client that has just connected.
pub(super) enum Client {
    Network(TcpStream, SocketAddr),
    Socket(UnixStream, On),
}

/// The Unix socket of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum On {
    /// That of the index's folder, for programs of the user who runs the server.
    Owner,
    /// That of the proxy.
    Proxy,
}

/// The Unix sockets of a server.
#[derive(Debug, Default)]
pub struct Sockets {
    /// In the index's folder, for programs of the user who runs the server.
    pub owner: Option<std::os::unix::net::UnixListener>,
    /// For the proxy in front of the server, which is believed to tell who asks.
    pub proxy: Option<std::os::unix::net::UnixListener>,
}

/// All listeners.
pub(super) struct Listeners {
    network: TcpListener,
    owner: Option<UnixListener>,
    proxy: Option<UnixListener>,
}

impl Listeners {
    pub(super) fn new(network: std::net::TcpListener, sockets: Sockets) -> std::io::Result<Self> {
        Ok(Self {
            network: TcpListener::from_std(network)?,
            owner: sockets.owner.map(UnixListener::from_std).transpose()?,
            proxy: sockets.proxy.map(UnixListener::from_std).transpose()?,
        })
    }

    /// Waits for the next client of any listener.
    pub(super) async fn next_client(&self) -> std::io::Result<Client> {
        tokio::select! {
            accepted = self.network.accept() => accepted.map(|(stream, address)| Client::Network(stream, address)),
            accepted = accepted(self.owner.as_ref()) => accepted.map(|stream| Client::Socket(stream, On::Owner)),
            accepted = accepted(self.proxy.as_ref()) => accepted.map(|stream| Client::Socket(stream, On::Proxy)),
        }
    }
}

/// Waits for the next client of a socket; without one, forever.
async fn accepted(socket: Option<&UnixListener>) -> std::io::Result<UnixStream> {
    match socket {
        Some(socket) => socket.accept().await.map(|(stream, _)| stream),
        None => std::future::pending().await,
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
            Self::Socket(stream, _) => {
                let stream = stream.into_std()?;
                let _within = runtime.enter();
                Ok(Box::pin(UnixStream::from_std(stream)?))
            }
        }
    }
}
