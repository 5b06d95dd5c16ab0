//! The gateway as a Lambda function: HTTP events of a Function URL to the same router that one machine serves.

use pudu_gateway::{cloud, router};
use pudu_lambda::env::Process;
use pudu_lambda::settings::Settings;
use pudu_lambda::telemetry::{self, Format};

#[tokio::main]
async fn main() -> Result<(), lambda_http::Error> {
    let settings = Settings::read(&Process)?;
    telemetry::init(settings.log, Format::Json);
    lambda_http::run(router(cloud::compose(&settings).await?)).await
}
