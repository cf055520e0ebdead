//! The tokens by which the next page of a list is asked for.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::status::Status;

const FORMAT: &str = "meta.k8s.io/v1";

/// Where a list goes on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// The version of the first page; nothing for whatever is there now.
    pub(crate) version: Option<u64>,
    /// The last place of the page before, relative to the place that is listed.
    pub(crate) after: String,
}

#[derive(Serialize, Deserialize)]
struct Content {
    #[serde(default)]
    v: String,
    #[serde(default)]
    rv: i64,
    #[serde(default)]
    start: String,
}

impl Token {
    pub(crate) fn encode(&self) -> String {
        let content = Content {
            v: FORMAT.into(),
            rv: self
                .version
                .map_or(-1, |version| i64::try_from(version).unwrap_or(i64::MAX)),
            // The place right after the last one.
            start: format!("{}\0", self.after),
        };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&content).unwrap_or_default())
    }

    pub(crate) fn decode(text: &str) -> Result<Self, Status> {
        let fault =
            |why: &str| Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
        let bytes = URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|error| fault(&error.to_string()))?;
        let content: Content = serde_json::from_slice(&bytes).map_err(|error| fault(&error.to_string()))?;
        if content.v != FORMAT {
            return Err(fault(&format!(
                "server does not recognize this encoded version {:?}",
                content.v
            )));
        }
        if content.rv == 0 {
            return Err(fault(&format!(
                "incorrect encoded start resourceVersion (version {FORMAT})"
            )));
        }
        if content.start.is_empty() {
            return Err(fault(&format!("encoded start key empty (version {FORMAT})")));
        }
        if content.start.split('/').any(|part| matches!(part, "." | ".." | "")) {
            return Err(fault(&content.start));
        }
        let after = content.start.strip_suffix('\0').unwrap_or(&content.start).to_owned();
        let version = u64::try_from(content.rv).ok();
        Ok(Self { version, after })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_as_they_were() {
        for version in [Some(7), None] {
            let after = "here/a".to_owned();
            let token = Token { version, after };
            assert_eq!(Token::decode(&token.encode()).unwrap(), token);
        }
    }

    #[test]
    fn nonsense_is_no_token() {
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        for (text, why) in [
            ("e30".to_owned(), "does not recognize this encoded version \"\""),
            (
                encode(r#"{"v":"meta.k8s.io/v1","start":"a"}"#),
                "incorrect encoded start resourceVersion",
            ),
            (encode(r#"{"v":"meta.k8s.io/v1","rv":5}"#), "encoded start key empty"),
            (
                encode(r#"{"v":"meta.k8s.io/v1","rv":5,"start":"../a"}"#),
                "not valid: ../a",
            ),
            ("!".to_owned(), "continue key is not valid"),
            (encode("[]"), "continue key is not valid"),
        ] {
            let status = Token::decode(&text).unwrap_err();
            assert!(status.code == 400 && status.message.contains(why), "{text}: {status}");
        }
    }
}
