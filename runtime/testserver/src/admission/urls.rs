//! URLs of webhooks, split as the server's language splits them.

/// The parts of a URL; what is missing is empty.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Url<'a> {
    pub(super) scheme: &'a str,
    pub(super) user: &'a str,
    /// With its port, if there is one.
    pub(super) host: &'a str,
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    pub(super) fragment: &'a str,
}

impl<'a> Url<'a> {
    /// Splits a URL, or says why it is none.
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let fault = |why: String| Err(format!("parse {text:?}: {why}"));
        if text.chars().any(|c| c.is_ascii_control()) {
            return fault("net/url: invalid control character in URL".into());
        }
        let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
        let (scheme, rest) = split_scheme(rest);
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let Some(rest) = rest.strip_prefix("//") else {
            let first = rest.split('/').next().unwrap_or_default();
            if scheme.is_empty() && first.contains(':') {
                return fault("first path segment in URL cannot contain colon".into());
            }
            // What follows another scheme without slashes is opaque.
            let path = if scheme.is_empty() || rest.starts_with('/') {
                rest
            } else {
                ""
            };
            return Ok(Self {
                scheme,
                path,
                query,
                fragment,
                ..Self::default()
            });
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        if let Some(bad) = host.chars().find(|&c| c.is_ascii() && !is_of_host(c)) {
            return fault(format!("invalid character {:?} in host name", bad.to_string()));
        }
        if let Some(port) = port_of(host).filter(|port| !port.chars().all(|c| c.is_ascii_digit())) {
            return fault(format!("invalid port \":{port}\" after host"));
        }
        if let Some(escape) = bad_escape(path) {
            return fault(format!("invalid URL escape {escape:?}"));
        }
        Ok(Self {
            scheme,
            user,
            host,
            path,
            query,
            fragment,
        })
    }

    /// The host without its port and without brackets, and the port.
    pub(super) fn endpoint(&self) -> (&'a str, u16) {
        let port = port_of(self.host);
        let host = match port {
            Some(port) => &self.host[..self.host.len() - port.len() - 1],
            None => self.host,
        };
        let port = port.and_then(|port| port.parse().ok()).unwrap_or(443);
        (host.trim_start_matches('[').trim_end_matches(']'), port)
    }
}

fn split_scheme(text: &str) -> (&str, &str) {
    let Some((scheme, rest)) = text.split_once(':') else {
        return ("", text);
    };
    let sound = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if sound { (scheme, rest) } else { ("", text) }
}

fn is_of_host(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"%".contains(c)
}

fn port_of(host: &str) -> Option<&str> {
    // The colons of an address are within brackets.
    let after = host.rfind(']').map_or(0, |end| end + 1);
    host[after..].split_once(':').map(|(_, port)| port)
}

fn bad_escape(path: &str) -> Option<&str> {
    let mut found = path.match_indices('%').map(|(start, _)| start);
    let start = found.find(|&start| {
        let digits = path.as_bytes().get(start + 1..start + 3);
        !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })?;
    path[start..]
        .char_indices()
        .nth(3)
        .map_or(Some(&path[start..]), |(end, _)| Some(&path[start..start + end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_split_into_their_parts() {
        let url = Url::parse("https://u:p@host:8443/a/b?q=1#f").unwrap();
        assert_eq!((url.scheme, url.user, url.host), ("https", "u:p", "host:8443"));
        assert_eq!((url.path, url.query, url.fragment), ("/a/b", "q=1", "f"));
        assert_eq!(url.endpoint(), ("host", 8443));
        assert_eq!(Url::parse("https://host").unwrap().endpoint(), ("host", 443));
        assert_eq!(Url::parse("https://[::1]:9443/x").unwrap().endpoint(), ("::1", 9443));
        assert_eq!(Url::parse("host/x").unwrap().path, "host/x");
        assert_eq!(Url::parse("localhost:80/x").unwrap().scheme, "localhost");
    }

    #[test]
    fn faults_are_named() {
        for (text, fault) in [
            ("https://a b/", "invalid character \" \" in host name"),
            ("https://a:x/", "invalid port \":x\" after host"),
            ("https://a/%zz", "invalid URL escape \"%zz\""),
            ("127.0.0.1:80/x", "first path segment in URL cannot contain colon"),
            ("https://a/\n", "net/url: invalid control character in URL"),
        ] {
            assert_eq!(Url::parse(text).unwrap_err(), format!("parse {text:?}: {fault}"));
        }
    }
}
