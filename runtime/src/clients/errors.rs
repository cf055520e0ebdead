//! What can go wrong with a request, sorted by what to do about it (API-05).

use std::time::Duration;

use kube::core::Status;

use crate::structs::errors::causes;

/// A failed request.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ApiError {
    /// HTTP status; `None` if no answer came.
    pub(crate) code: Option<u16>,
    /// The server's message, or the transport's.
    pub(crate) message: String,
    /// The server's wish.
    pub(crate) retry_after: Option<Duration>,
}

impl ApiError {
    pub(crate) fn transport(error: impl std::fmt::Display) -> Self {
        Self {
            code: None,
            message: error.to_string(),
            retry_after: None,
        }
    }

    pub(crate) fn from_status(code: u16, status: Option<&Status>, header: Option<Duration>) -> Self {
        let message = match status {
            Some(status) if !status.message.is_empty() => status.message.clone(),
            _ => format!("the API server answered {code}"),
        };
        let details = status.and_then(|status| status.details.as_ref());
        let wish = details
            .map(|details| u64::from(details.retry_after_seconds))
            .filter(|seconds| *seconds > 0);
        Self {
            code: Some(code),
            message,
            retry_after: header.or(wish.map(Duration::from_secs)),
        }
    }

    /// How long to wait before the next attempt: the server's wish is a lower bound, or counts as it is if `enforced`
    ///
    pub(crate) fn wait(&self, delay: Duration, enforced: bool) -> Duration {
        match self.retry_after {
            Some(wish) if enforced && !wish.is_zero() => wish,
            Some(wish) => wish.max(delay),
            None => delay,
        }
    }

    pub(crate) fn is_not_found(&self) -> bool {
        self.code == Some(404)
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.code == Some(410)
    }

    /// Somebody else was faster (B-047).
    pub(crate) fn is_conflict(&self) -> bool {
        self.code == Some(409)
    }

    /// The request is to blame: it may pass, as during upgrades of control planes or as a conflict does, or be for good,
    /// for an admission webhook denies with whatever code it likes.
    pub(crate) fn is_denial(&self) -> bool {
        self.code
            .is_some_and(|code| (400..500).contains(&code) && !matches!(code, 401 | 408 | 429))
    }

    /// The request can never succeed as it is: the server understood it and said no.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self.code, Some(400 | 405 | 413 | 415 | 422))
    }
}

impl From<kube::Error> for ApiError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::from_status(status.code, Some(&status), None),
            other => Self::transport(causes(&other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_wish_is_read_from_header_or_details() {
        let status: Status = serde_json::from_value(serde_json::json!({
            "code": 429, "message": "slow down", "details": {"retryAfterSeconds": 3}
        }))
        .unwrap();
        let error = ApiError::from_status(429, Some(&status), None);
        assert_eq!(error.retry_after, Some(Duration::from_secs(3)));
        assert_eq!(error.message, "slow down");
        let error = ApiError::from_status(429, None, Some(Duration::from_secs(7)));
        assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
    }

    //
    #[test]
    fn the_servers_wish_is_a_lower_bound_or_enforced() {
        let secs = Duration::from_secs;
        let wish = ApiError::from_status(429, None, Some(secs(3)));
        assert_eq!(wish.wait(secs(1), false), secs(3));
        assert_eq!(wish.wait(secs(8), false), secs(8));
        assert_eq!(wish.wait(secs(8), true), secs(3));
        assert_eq!(ApiError::transport("reset").wait(secs(8), true), secs(8));
    }

    #[test]
    fn only_answers_that_blame_the_request_are_refusals() {
        for code in [400, 405, 413, 415, 422] {
            assert!(ApiError::from_status(code, None, None).is_refusal(), "{code}");
        }
        for code in [401, 403, 404, 409, 429, 500, 503] {
            assert!(!ApiError::from_status(code, None, None).is_refusal(), "{code}");
        }
        assert!(!ApiError::transport("reset").is_refusal());
    }

    //
    #[test]
    fn an_outage_is_no_denial() {
        for code in [403, 409, 412, 418, 499] {
            assert!(ApiError::from_status(code, None, None).is_denial(), "{code}");
        }
        for code in [401, 408, 429, 500, 503] {
            assert!(!ApiError::from_status(code, None, None).is_denial(), "{code}");
        }
        assert!(!ApiError::transport("reset").is_denial());
    }
}
