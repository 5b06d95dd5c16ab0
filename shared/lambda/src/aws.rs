//! The SDK's configuration: one for all services, with its retries off.

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use std::time::Duration;

/// Connecting takes milliseconds inside a region; what takes longer is better tried again.
const CONNECT: Duration = Duration::from_secs(2);
/// A table that has not answered by then is treated as not answering.
const ATTEMPT: Duration = Duration::from_secs(5);

/// Region, credentials and endpoint from the environment. Retries are off: a write whose answer was lost may have been
/// applied, and only the stores can judge that (DESIGN section 3).
pub async fn config() -> SdkConfig {
    let timeouts =
        TimeoutConfig::builder().connect_timeout(CONNECT).operation_attempt_timeout(ATTEMPT).build();
    aws_config::defaults(BehaviorVersion::latest())
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts)
        .load()
        .await
}
