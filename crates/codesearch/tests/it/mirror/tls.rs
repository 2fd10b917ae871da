//! Ways to a host that companies have: TLS with a certificate authority of their own, and a proxy.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

/// A name that only the proxy resolves.
pub(super) const NAME: &str = "code.example";

/// A server that passes on what it gets by TLS, with a certificate of its own authority.
pub(super) struct Tls {
    pub(super) address: SocketAddr,
    /// The certificate of the authority.
    pub(super) ca_file: PathBuf,
    _runtime: Runtime,
}

/// A proxy that connects to [`NAME`].
pub(super) struct Proxy {
    pub(super) url: String,
    /// The heads of the requests.
    pub(super) asked: Arc<Mutex<Vec<String>>>,
    _runtime: Runtime,
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Makes an authority and a certificate of it in a folder, by openssl.
fn certify(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("names"), format!("subjectAltName=DNS:{NAME},IP:127.0.0.1\n"))
        .unwrap();
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    let script = format!(
        "openssl req -x509 {key} -keyout ca.key -out ca.pem -subj /CN=Authority -days 2 &&
         openssl req {key} -keyout host.key -out host.csr -subj /CN={NAME} &&
         openssl x509 -req -in host.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out host.pem"
    );
    let made = Command::new("sh").args(["-c", &script]).current_dir(folder).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

impl Tls {
    /// Starts one before a server. Its files are in a folder.
    pub(super) fn before(server: SocketAddr, folder: &Path) -> Self {
        certify(folder);
        let chain = CertificateDer::pem_file_iter(folder.join("host.pem")).unwrap();
        let chain = chain.map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_file(folder.join("host.key")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let runtime = runtime();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    // A client that does not trust the certificate leaves.
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    let mut behind = TcpStream::connect(server).await.unwrap();
                    let _ = copy_bidirectional(&mut stream, &mut behind).await;
                });
            }
        });
        Self { address, ca_file: folder.join("ca.pem"), _runtime: runtime }
    }
}

impl Proxy {
    /// Starts a proxy to a server, which it knows by [`NAME`].
    pub(super) fn to(server: SocketAddr) -> Self {
        let runtime = runtime();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&asked);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let told = Arc::clone(&told);
                tokio::spawn(async move {
                    let mut stream = BufReader::new(stream);
                    let mut head = String::new();
                    while !head.ends_with("\r\n\r\n") {
                        if stream.read_line(&mut head).await.unwrap_or(0) == 0 {
                            return;
                        }
                    }
                    told.lock().unwrap().push(head.clone());
                    if !head.starts_with(&format!("CONNECT {NAME}:443 ")) {
                        let refusal = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n";
                        let _ = stream.write_all(refusal).await;
                        return;
                    }
                    let mut behind = TcpStream::connect(server).await.unwrap();
                    stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await.unwrap();
                    let _ = copy_bidirectional(&mut stream, &mut behind).await;
                });
            }
        });
        Self { url, asked, _runtime: runtime }
    }
}
