//! The agent as a Lambda function.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use pudu_agent_function::cloud;
use pudu_lambda::env::Process;
use pudu_lambda::settings::Settings;
use pudu_lambda::telemetry::{self, Format};
use serde_json::Value;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let settings = Settings::read(&Process)?;
    telemetry::init(settings.log, Format::Json);
    let agent = cloud::compose(&settings).await?;
    let handler = |event: LambdaEvent<Value>| async { Ok::<_, Error>(agent.handle(event).await.clean()?) };
    lambda_runtime::run(service_fn(handler)).await
}
