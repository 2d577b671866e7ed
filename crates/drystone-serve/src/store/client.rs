//! Client of an object store: its configuration and its error messages.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, AwsCredential, S3ConditionalPut};
use object_store::{BackoffConfig, ClientConfigKey, Error, ObjectStore, RetryConfig, StaticCredentialProvider};

use super::ledger::LedgerOwner;
use crate::config::S3;
use crate::unix_seconds;

/// Timeout for connecting.
const CONNECT: Duration = Duration::from_secs(5);
/// Timeout for an object: a large checkpoint takes a while.
pub const LARGE: Duration = Duration::from_mins(2);

/// Returns the identity of this process.
pub fn owner() -> LedgerOwner {
    let id = RandomState::new().hash_one(SystemTime::now());
    let host = sysinfo::System::host_name().unwrap_or_else(|_| "a host without a name".to_owned());
    let since = unix_seconds();
    LedgerOwner { id, name: format!("process {} on {host}, started at {since} s (Unix time)", std::process::id()) }
}

/// Creates a client of a bucket with a number of retries.
pub fn client(bucket: &str, s3: &S3, retries: usize, patience: Duration) -> Result<Arc<dyn ObjectStore>, Error> {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(50),
        max_backoff: Duration::from_secs(1),
        ..BackoffConfig::default()
    };
    let retry = RetryConfig { backoff, max_retries: retries, retry_timeout: patience };
    // The usual variables first: AWS_ACCESS_KEY_ID, AWS_REGION and so on, or the machine's own credentials.
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(bucket)
        .with_retry(retry)
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        // Not every S3 store can delete several objects at once.
        .with_disable_bulk_delete(true)
        .with_config(AmazonS3ConfigKey::Client(ClientConfigKey::Timeout), format!("{}s", LARGE.as_secs()))
        .with_config(AmazonS3ConfigKey::Client(ClientConfigKey::ConnectTimeout), format!("{}s", CONNECT.as_secs()));
    for (key, value) in [(AmazonS3ConfigKey::Endpoint, &s3.endpoint), (AmazonS3ConfigKey::Region, &s3.region)] {
        if !value.is_empty() {
            builder = builder.with_config(key, value);
        }
    }
    // All or nothing: a session token of the environment belongs to the keys there.
    if !s3.access_key_id.is_empty() {
        let own = AwsCredential {
            key_id: s3.access_key_id.clone(),
            secret_key: s3.secret_access_key.0.clone(),
            token: Some(s3.session_token.0.clone()).filter(|token| !token.is_empty()),
        };
        builder = builder.with_credentials(Arc::new(StaticCredentialProvider::new(own)));
    }
    // An http address is deliberate, here or in AWS_ENDPOINT_URL.
    let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
    if endpoint.is_some_and(|endpoint| endpoint.starts_with("http://")) {
        builder = builder.with_allow_http(true);
    }
    if s3.virtual_host {
        builder = builder.with_virtual_hosted_style_request(true);
    }
    Ok(Arc::new(builder.build()?))
}

/// Returns true for an error that retries cannot fix and after which nothing was written.
pub fn is_refusal(error: &Error) -> bool {
    matches!(
        error,
        Error::PermissionDenied { .. }
            | Error::Unauthenticated { .. }
            | Error::NotFound { .. }
            | Error::NotImplemented { .. }
            | Error::NotSupported { .. }
            | Error::InvalidPath { .. }
    )
}

/// Returns the message of an error, without the unsigned request that some stores repeat in it.
pub fn error_message(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        let line = inner.to_string();
        if !text.contains(&line) {
            text = format!("{text}: {line}");
        }
        source = inner.source();
    }
    let Some(start) = text.find('<') else { return text };
    let inside = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        rest.split_once(&format!("</{tag}>")).map(|(inside, _)| inside)
    };
    let said = [inside("Code"), inside("Message")].into_iter().flatten().collect::<Vec<_>>().join(": ");
    format!("{}{said}", &text[..start])
}
