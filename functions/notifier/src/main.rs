//! The notifier as a Lambda function.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use pudu_lambda::env::Process;
use pudu_lambda::settings::Settings;
use pudu_lambda::telemetry::{self, Format};
use pudu_notifier::cloud;
use serde_json::Value;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let settings = Settings::read(&Process)?;
    telemetry::init(settings.log, Format::Json);
    let notifier = cloud::compose(&settings).await;
    let handler = |event: LambdaEvent<Value>| async { Ok::<_, Error>(notifier.handle(event).await.clean()?) };
    lambda_runtime::run(service_fn(handler)).await
}
