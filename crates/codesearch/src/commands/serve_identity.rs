//! Who may ask a server: what its options and the configuration file say of it.

use anyhow::{Context, Result, anyhow, ensure};
use server::{Identity, Proxy};

use crate::cli::ProxyArgs;

/// Makes the identities of a server; `takes_tokens` if it has a file of tokens.
///
/// # Errors
/// Headers of a proxy are trusted without a proof that it sends them, or something cannot be read.
pub(super) fn identity(
    takes_tokens: bool,
    args: &ProxyArgs,
    file: &settings::Identity,
) -> Result<Identity> {
    Identity::new(takes_tokens, proxy(args)?, file)
}

fn proxy(args: &ProxyArgs) -> Result<Option<Proxy>> {
    let Some(user) = &args.trust_user_header else { return Ok(None) };
    ensure!(
        args.proxy_secret_file.is_some()
            || !args.proxy_network.is_empty()
            || args.proxy_socket.is_some(),
        "anybody can send the header {user}; to trust it, use --proxy-secret-file FILE, --proxy-network NETWORK or \
         --proxy-socket PATH"
    );
    let proxy =
        Proxy::new(user, args.trust_groups_header.as_deref()).map_err(|why| anyhow!(why))?;
    let proxy = proxy.within(args.proxy_network.clone());
    let Some(file) = &args.proxy_secret_file else { return Ok(Some(proxy)) };
    let text = std::fs::read_to_string(file);
    let text =
        text.with_context(|| format!("cannot read the secret of the proxy in {}", file.display()))?;
    let proxy = proxy.with_secrets(&args.proxy_secret_header, text.lines());
    proxy.map(Some).map_err(|why| anyhow!(why))
}
