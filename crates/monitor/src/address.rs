//! Decides whether a delivery may go to an address.
//!
//! Whoever may make a monitor must not reach, through this server, what only this server can reach: itself, its network,
//! and the services that clouds offer to their machines. So the name is resolved here, every address of it is checked, and
//! the connection goes to those addresses and no others. Redirects are not followed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use reqwest::Url;
use settings::Allowed;

/// Longest time to resolve a name.
const RESOLVE: Duration = Duration::from_secs(10);

/// Longest address, in bytes.
const MAX_ADDRESS: usize = 2048;

/// Where a delivery goes.
#[derive(Clone, Debug)]
pub struct Target {
    /// The address as given.
    pub url: Url,
    /// The checked addresses of its host.
    pub(crate) sockets: Vec<SocketAddr>,
}

/// Why a delivery does not go to an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is not an address for deliveries, or lies where none may go; a sentence that says what to do.
    #[error("{0}")]
    Address(String),
    /// Its name cannot be resolved now; a sentence.
    #[error("{0}")]
    Unknown(String),
}

impl Target {
    /// Reads and resolves an address. `allowed` lists what may be reached in the server's own network.
    ///
    /// # Errors
    /// No delivery may go there, or its name cannot be resolved.
    pub async fn of(address: &str, allowed: &[Allowed]) -> Result<Self, Refusal> {
        let url = parse(address)?;
        let host = url.host_str().unwrap_or_default();
        let name = host.trim_start_matches('[').trim_end_matches(']');
        let port = url.port_or_known_default().unwrap_or(443);
        let unknown = |why: &dyn std::fmt::Display| {
            Refusal::Unknown(format!("the host {host} cannot be resolved ({why}); check its name"))
        };
        let found: Vec<SocketAddr> = match name.parse::<IpAddr>() {
            Ok(ip) => vec![SocketAddr::new(ip, port)],
            Err(_) => {
                let looked = tokio::net::lookup_host((name, port));
                match tokio::time::timeout(RESOLVE, looked).await {
                    Ok(Ok(found)) => found.collect(),
                    Ok(Err(error)) => return Err(unknown(&error)),
                    Err(_) => return Err(unknown(&format!("no answer within {RESOLVE:?}"))),
                }
            }
        };
        if found.is_empty() {
            return Err(unknown(&"it has no address"));
        }
        if !allowed.iter().any(|of| of.is_host(name)) {
            for socket in &found {
                let ip = socket.ip();
                if is_inside(ip) && !allowed.iter().any(|of| of.has_address(ip)) {
                    return Err(inside(host, ip));
                }
            }
        }
        Ok(Self { url, sockets: found })
    }
}

/// Checks whether a delivery may go to an address.
///
/// # Errors
/// A sentence that says why it may not.
pub async fn check_address(address: &str, allowed: &[Allowed]) -> Result<(), String> {
    Target::of(address, allowed).await.map(drop).map_err(|refusal| refusal.to_string())
}

fn inside(host: &str, ip: IpAddr) -> Refusal {
    let named = host.trim_start_matches('[').trim_end_matches(']') != ip.to_string();
    let named = if named { format!(" ({ip})") } else { String::new() };
    Refusal::Address(format!(
        "{host}{named} is in this server's own network, where nothing is delivered; to allow it, list it in allow of \
         [monitor] in the configuration file"
    ))
}

/// Reads an address.
fn parse(address: &str) -> Result<Url, Refusal> {
    let wrong = |why: &str| Refusal::Address(format!("the address of a delivery {why}"));
    if address.len() > MAX_ADDRESS {
        return Err(wrong(&format!("has at most {MAX_ADDRESS} bytes; use a shorter one")));
    }
    let url =
        Url::parse(address).map_err(|_| wrong("is a URL, as in https://host.example/path"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(wrong("begins with https:// or http://, and a host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("has no user name and no password; the receiver checks the signature"));
    }
    Ok(url)
}

/// Returns whether an address is one of this machine, of a private network, or otherwise not one of the public Internet.
fn is_inside(ip: IpAddr) -> bool {
    let is_special = match ip.to_canonical() {
        IpAddr::V4(ip) => is_special_v4(ip),
        IpAddr::V6(ip) => is_special_v6(ip),
    };
    is_special || is_own(ip)
}

/// The special-purpose blocks (<https://www.iana.org/assignments/iana-ipv4-special-registry>). The services of clouds for
/// their machines lie in them: 169.254.169.254, 100.100.100.200, 192.0.0.192.
fn is_special_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    ip.is_loopback()
        || ip.is_private()
        || ip.is_link_local()
        || ip.is_multicast()
        || ip.is_documentation()
        || a == 0
        || a >= 240
        || a == 100 && b & 0xc0 == 64
        || a == 192 && b == 0 && c == 0
        || a == 198 && b & 0xfe == 18
        || ip == Ipv4Addr::new(168, 63, 129, 16)
}

/// The special-purpose blocks (<https://www.iana.org/assignments/iana-ipv6-special-registry>), and addresses that stand for
/// IPv4 ones.
fn is_special_v6(ip: Ipv6Addr) -> bool {
    let segments = ip.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match segments {
        // NAT64 and 6to4 lead to the IPv4 address in them.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            return is_special_v4(v4(high, low));
        }
        // IPv4-compatible addresses, with :: and ::1.
        [0, 0, 0, 0, 0, 0, ..] => return true,
        _ => {}
    }
    ip.is_multicast()
        || ip.is_unique_local()
        || ip.is_unicast_link_local()
        || segments[0] & 0xffc0 == 0xfec0
        || segments[0] == 0x64
        || segments[0] == 0x100
        || segments[0] == 0x2001 && segments[1] < 0x200
        || segments[0] == 0x2001 && segments[1] == 0xdb8
        || segments[0] == 0x3fff
        || segments[0] == 0x5f00
}

/// Returns whether an address is one of this machine's: what it sends there comes from there. Sends nothing.
fn is_own(ip: IpAddr) -> bool {
    let any: IpAddr = match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let source = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((ip, 9))?;
        socket.local_addr()
    });
    source.is_ok_and(|source| source.ip() == ip)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(address: &str, allowed: &[&str]) -> Result<Target, Refusal> {
        let allowed: Vec<Allowed> =
            allowed.iter().map(|text| Allowed::parse(text).unwrap()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(Target::of(address, &allowed))
    }

    #[test]
    fn addresses_of_the_servers_network_are_refused_however_they_are_written() {
        for address in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f.0.0.1:8080/x",
            "http://0/",
            "http://10.0.0.1/",
            "http://172.16.3.4/",
            "http://192.168.0.1/",
            "http://169.254.169.254/latest/meta-data/",
            "http://100.64.0.1/",
            "http://100.100.100.200/",
            "http://168.63.129.16/",
            "http://192.0.0.192/",
            "http://198.18.0.1/",
            "http://224.0.0.1/",
            "http://255.255.255.255/",
            "http://240.0.0.1/",
            "http://[::1]/",
            "http://[::]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::127.0.0.1]/",
            "http://[64:ff9b::7f00:1]/",
            "http://[64:ff9b:1::1]/",
            "http://[2002:7f00:1::]/",
            "http://[fe80::1]/",
            "http://[fc00::1]/",
            "http://[fd00:ec2::254]/",
            "http://[ff02::1]/",
            "http://[2001:db8::1]/",
            "http://[2001::1]/",
            "http://localhost:1/",
        ] {
            let refused = target(address, &[]).unwrap_err().to_string();
            assert!(refused.contains("is in this server's own network"), "{address}: {refused}");
        }
    }

    #[test]
    fn what_is_listed_is_allowed_and_nothing_else() {
        assert!(target("http://127.0.0.1:9/", &["127.0.0.0/8"]).is_ok());
        assert!(target("http://[::ffff:127.0.0.1]:9/", &["127.0.0.1"]).is_ok());
        assert!(target("http://localhost:9/", &["localhost"]).is_ok());
        assert!(target("http://LOCALHOST:9/", &["LocalHost"]).is_ok());
        assert!(target("http://127.0.0.1:9/", &["localhost"]).is_err());
        assert!(target("http://10.1.2.3/", &["10.1.0.0/16"]).is_ok());
        assert!(target("http://10.2.2.3/", &["10.1.0.0/16"]).is_err());
        assert!(target("http://[fd00::5]/", &["fd00::/8"]).is_ok());
    }

    #[test]
    fn public_addresses_are_taken_as_they_are() {
        let taken = target("https://93.184.215.14/hook?x=1", &[]).unwrap();
        assert_eq!(taken.sockets, ["93.184.215.14:443".parse().unwrap()]);
        assert_eq!(taken.url.as_str(), "https://93.184.215.14/hook?x=1");
        assert!(target("http://[2606:4700::1111]:81/", &[]).is_ok());
    }

    #[test]
    fn what_is_no_address_is_told() {
        let long = format!("http://a/{}", "x".repeat(MAX_ADDRESS));
        for (address, why) in [
            ("", "is a URL"),
            ("host.example/path", "is a URL"),
            ("ftp://host.example/", "begins with https://"),
            ("file:///etc/passwd", "begins with https://"),
            ("unix:/run/x", "begins with https://"),
            ("https://me:secret@host.example/", "no user name and no password"),
            ("https://me@host.example/", "no user name and no password"),
            (&long, "at most 2048 bytes"),
            ("http://a.invalid/", "cannot be resolved"),
        ] {
            let refused = target(address, &[]).unwrap_err().to_string();
            assert!(refused.contains(why) && !refused.contains("secret"), "{address}: {refused}");
        }
    }
}
